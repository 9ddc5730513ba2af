/* Starts of persistent requests by the host that are messages: all that do not go over a
 * channel. */
#include "mpi/core/progress.h"
#include "mpi/message/message.h"
#include "mpi/persistent/persistent.h"

/* The message of a contiguous buffer needs no datatype: it is a copy of the request. */
static struct gpubind_operation *copy(const struct channel *channel, enum call_kind call,
                                      struct gpubind_error *err)
{
    const struct gpubind_operation *request = channel->request;
    struct gpubind_operation *message = request_make(request->kind);

    if (!message) {
        error_set(err, "out of memory");
        return NULL;
    }
    request_attach(message, channel->internal ? request->comm->companion : request->comm);
    message->rank = request->rank;
    message->tag = request->tag;
    message->peer = request->peer;
    message->memory = request->memory;
    message->buffer = request->buffer;
    message->nbytes = request->nbytes;
    message->type = request->type;
    message->on_stream = call == CALL_ON_STREAM;
    message->order = call == CALL_ON_STREAM ? ORDER_DEFERRED : ORDER_DONE;
    request_record(message);
    return message;
}

/* A halo has the same tag for all arrays in a direction, and their starts are not ordered: its
 * messages have the receiver's channel id as their tag. */
struct gpubind_operation *persistent_message(const struct channel *channel, enum call_kind call,
                                             int *result, struct gpubind_error *err)
{
    const struct gpubind_operation *request = channel->request;
    const struct arguments arguments = {request->buffer,
                                        channel->count,
                                        channel->type,
                                        request->rank,
                                        channel->internal ? 0 : request->tag,
                                        MPI_COMM_NULL};
    struct comm *comm = channel->internal ? request->comm->companion : request->comm;
    struct gpubind_operation *message;

    *result = MPI_ERR_OTHER;
    message = channel->dense ? copy(channel, call, err)
                             : message_prepare(&arguments, comm, request->kind, call, result, err);
    if (message && channel->internal)
        message->tag = (int)(channel_sends(channel) ? channel->peer_id : channel->id);
    return message;
}

static void end_message(struct channel *channel)
{
    struct gpubind_operation *request = channel->request, *message = channel->message;
    struct gpubind_error err;

    request->source = message->source;
    request->got_tag = channel->internal ? request->tag : message->got_tag;
    request->got_bytes = message->got_bytes;
    channel->message = NULL;
    request->result = request_finish(message, MPI_STATUS_IGNORE, &err);
    request->error = err;
    request->done = true;
    channel_settle(channel);
}

void persistent_start_message(struct channel *channel)
{
    struct gpubind_operation *request = channel->request;
    struct gpubind_error err;
    int result;

    channel->starting++;
    channel->message = persistent_message(channel, CALL_NONBLOCKING, &result, &err);
    if (channel->message)
        message_start(channel->message, false);
    else
        request_complete(request, result, "%s", err.text);
    channel->starting--;
    channel_answer(channel);
    if (channel->message && channel->message->done && !channel->message->packing)
        end_message(channel);
}

struct gpubind_operation *persistent_nudge(struct gpubind_operation *request)
{
    struct channel *channel = request->channel;

    if (channel->message && channel->message->done && !channel->message->packing)
        end_message(channel);
    return channel->message;
}
