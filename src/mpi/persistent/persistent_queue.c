/* Starts on streams that are messages: what the stream does to them, and how a call queues them. */
#include "mpi/persistent/persistent_queue.h"

#include <stdlib.h>

#include "mpi/core/progress.h"
#include "mpi/message/stream_message.h"
#include "mpi/persistent/persistent.h"

/* One start. A request may be started again on a stream before the message of its last start
 * is complete: each start has its own message, and they keep their order. */
struct start {
    struct channel *channel;
    struct gpubind_operation *message;
};

/* ---- what the stream does */

static void begin(void *what)
{
    stream_message_start(((struct start *)what)->message);
}

static void fail(void *what)
{
    stream_message_fail(((struct start *)what)->message);
}

static bool is_over(void *what, int *result, struct gpubind_error *err)
{
    struct start *start = what;
    struct channel *channel = start->channel;

    if (!stream_message_is_over(start->message, result, err))
        return false;
    free(start);
    channel->stream_messages--;
    channel_settle(channel);
    return true;
}

static void look_after(void *what)
{
    struct gpubind_operation *message = ((struct start *)what)->message;

    if (!message->done && message->order != ORDER_DEFERRED)
        message->ops->look_after(message);
}

static void give_up(void *what)
{
    const struct start *start = what;

    stream_message_give_up(start->message, start->channel->request->tag);
}

static const struct stream_work_ops ops = {begin, fail, is_over, look_after, give_up};

/* ---- a call */

int persistent_queue_make(struct persistent_queue *queue, int n, struct gpubind_error *err)
{
    *queue = (struct persistent_queue){NULL, 0};
    if (n == 0)
        return 0;
    queue->starts = calloc((size_t)n, sizeof *queue->starts);
    return queue->starts ? 0 : error_set(err, "out of memory");
}

int persistent_queue_add(struct persistent_queue *queue, struct channel *channel,
                         struct gpubind_error *err)
{
    struct start *start;
    int result = MPI_ERR_OTHER;

    if (stream_message_check(channel->request, err) < 0)
        return MPI_ERR_OTHER;
    start = malloc(sizeof *start);
    if (!start) {
        error_set(err, "out of memory");
        return MPI_ERR_OTHER;
    }
    start->channel = channel;
    start->message = persistent_message(channel, CALL_ON_STREAM, &result, err);
    if (!start->message) {
        free(start);
        return result;
    }
    stream_message_prepare(start->message);
    queue->starts[queue->n++] = start;
    return MPI_SUCCESS;
}

static void drop(struct start *start)
{
    request_free(start->message);
    free(start);
}

static bool is_answered(const void *channel)
{
    return !channel_awaits_peer(channel);
}

/* Another thread has received the unexpected message for which the receive did not wait for the
 * peer's answer. */
static void wait_for_answer(struct channel *channel)
{
    channel->starting--;
    channel_answer(channel);
    while (channel_awaits_peer(channel) && !progress_wait_for(is_answered, channel, 0.1) &&
           !request_peer_is_gone(channel->request))
        ;
    channel->starting++;
}

void persistent_queue_announce(struct persistent_queue *queue)
{
    int n = 0;

    for (int i = 0; i < queue->n; i++) {
        struct start *start = queue->starts[i];
        struct channel *channel = start->channel;

        if (channel_awaits_peer(channel) && !channel_sends(channel))
            wait_for_answer(channel);
        channel->starting++;
        channel->by_message = !persistent_has_channel(channel);
        if (channel->by_message) {
            start->message->waited = true;
            channel->stream_messages++;
            message_start(start->message, false);
            queue->starts[n++] = start;
        } else {
            drop(start);
        }
        channel->starting--;
        channel_answer(channel);
    }
    queue->n = n;
}

int persistent_queue_go(struct persistent_queue *queue, struct stream_queue *stream,
                        enum stream_wait_mode wait, struct gpubind_error *err)
{
    const int n = queue->n;

    queue->n = 0;
    return n > 0 && stream ? stream_queue_add(stream, &ops, queue->starts, n, wait, err)
                           : MPI_SUCCESS;
}

void persistent_queue_clear(struct persistent_queue *queue)
{
    for (int i = 0; i < queue->n; i++)
        drop(queue->starts[i]);
    free(queue->starts);
}
