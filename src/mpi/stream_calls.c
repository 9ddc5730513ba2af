/* The calls that send and receive in the order of a stream. They match when they are
 * called; data move when the stream has got there. */
#include <stdlib.h>

#include "mpi/engine.h"
#include "mpi/gated_sends.h"
#include "mpi/gpubind.h"
#include "mpi/lanes.h"
#include "mpi/library.h"
#include "mpi/local_send.h"
#include "mpi/match.h"
#include "mpi/on_stream.h"
#include "mpi/pack.h"
#include "mpi/message.h"
#include "mpi/receive.h"
#include "mpi/remote.h"
#include "mpi/stream_calls.h"
#include "mpi/stream_thread.h"

/* ---- what a stream does to a message */

static void start_send(struct gpubind_operation *send)
{
    struct gpubind_error err;
    bool good;

    if (send->done) /* the receiver had no room for it */
        return;
    good = !send->pack || gated_send_pack(send, &err) == 0;
    if (!good)
        operation_end(send, MPI_ERR_OTHER, "%s", err.text);
    if (!send->packing)
        gated_send_open(send, good);
}

void stream_message_start(void *what)
{
    struct gpubind_operation *operation = what;

    operation->order = ORDER_DONE;
    operation->started = operation_clock();
    if (operation->kind == OPERATION_SEND)
        start_send(operation);
    else
        receive_again(operation);
}

/* Its message was announced, or another was matched with it already. */
void stream_message_fail(void *what)
{
    struct gpubind_operation *operation = what;

    operation->order = ORDER_DONE;
    if (operation->kind == OPERATION_SEND && !operation->done) {
        operation_end(operation, MPI_ERR_OTHER, "the stream cannot be used");
        gated_send_open(operation, false);
    } else if (operation->kind == OPERATION_RECEIVE && match_withdraw(operation)) {
        operation_end(operation, MPI_ERR_OTHER, "the stream cannot be used");
    } else if (operation->kind == OPERATION_RECEIVE) {
        receive_again(operation);
    }
}

bool stream_message_is_over(void *what, int *result, struct gpubind_error *err)
{
    struct gpubind_operation *operation = what;

    if (!operation->done && operation->kind == OPERATION_SEND)
        local_send_nudge(operation);
    if (!operation->done || operation->packing) /* its buffer is being read */
        return false;
    *result = operation->result;
    *err = operation->error;
    if (pack_finish(operation, err) < 0)
        *result = MPI_ERR_OTHER;
    operation_forget(operation);
    return true;
}

static void look_after(void *what)
{
    struct gpubind_operation *operation = what;

    if (!operation->done && operation->order != ORDER_GATED)
        operation->ops->look_after(operation);
}

/* Nobody will send what was not announced by now. */
void stream_message_give_up(struct gpubind_operation *operation, int tag)
{
    if (operation->kind != OPERATION_RECEIVE || operation->done || operation->early ||
        operation->held || !match_withdraw(operation))
        return;
    operation_end(operation, MPI_ERR_OTHER, "nobody sent a message for a receive from rank %d "
                  "with tag %d before the end of the library", operation->rank, tag);
}

static void give_up(void *what)
{
    struct gpubind_operation *operation = what;

    stream_message_give_up(operation, operation->tag);
}

static const struct on_stream_verbs message = {stream_message_start, stream_message_fail,
                                               stream_message_is_over, look_after, give_up};

/* ---- the calls */

static bool has_remote_ranks(const struct comm *comm)
{
    for (int i = 0; i < comm->size; i++)
        if (comm->domain->peers[comm->domain_ranks[i]].local < 0)
            return true;
    return false;
}

/* What needs MPI is moved by a thread of ours, or not at all. */
int stream_message_check(const struct gpubind_operation *operation, struct gpubind_error *err)
{
    static const char needs[] = "messages on streams need MPI_THREAD_MULTIPLE there, and MPI was "
                                "initialised with less";

    if (stream_thread_has_mpi() || operation->rank == MPI_PROC_NULL)
        return 0;
    if (operation->peer && operation->peer->local < 0)
        return error_set(err, "rank %d is reached by MPI: %s", operation->rank, needs);
    if (!operation->peer && has_remote_ranks(operation->comm))
        return error_set(err, "a message from any source may come by MPI: %s", needs);
    return 0;
}

static void prepare_peer(const struct gpubind_operation *operation, const struct peer *peer)
{
    const enum path path = library_settings()->path;
    const bool ipc = path == PATH_ANY || path == PATH_IPC;
    struct domain *domain = operation->domain;

    if (peer->local < 0) {
        lanes_prepare(NULL, NULL);
        return;
    }
    domain_pin(domain, domain->segment.me, SEGMENT_SLOTS);
    domain_pin(domain, peer->local, SEGMENT_SLOTS);
    if (!ipc || !peer->ipc_works || peer->no_ipc || !operation->memory.shareable) {
        lanes_prepare(domain, NULL);
        domain_pin(domain, peer->local, SEGMENT_LANES);
    }
    if (ipc && !operation->memory.shareable)
        lanes_prepare(NULL, operation->memory.gpu);
}

void stream_message_prepare(const struct gpubind_operation *operation)
{
    if (!operation->memory.gpu || operation->rank == MPI_PROC_NULL)
        return;
    pack_prepare(operation);
    for (int i = 0; i < operation->domain->size && !operation->peer; i++)
        prepare_peer(operation, &operation->domain->peers[i]);
    if (operation->peer)
        prepare_peer(operation, operation->peer);
}

static int put_in(struct on_stream *stream, struct gpubind_operation *operation, bool waits,
                  struct gpubind_error *err)
{
    void *what = operation;

    if (stream_message_check(operation, err) < 0) {
        operation_forget(operation);
        return MPI_ERR_OTHER;
    }
    operation->waited = waits;
    stream_message_prepare(operation);
    message_start(operation, false);
    if (operation->rank == MPI_PROC_NULL) {
        operation_forget(operation);
        return MPI_SUCCESS;
    }
    return on_stream_queue(stream, &message, &what, 1, waits ? ON_STREAM_AT_ONCE : ON_STREAM_NEVER,
                           err);
}

static int on_stream(const struct arguments *arguments, enum operation_kind kind,
                     gpubind_stream handle, bool waits, const char *call)
{
    struct gpubind_operation *operation;
    struct on_stream *stream = NULL;
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter();
    comm = library_comm(arguments->comm, &result, &err);
    if (comm)
        stream = on_stream_open(handle, &result, &err);
    if (stream) {
        operation = message_prepare(arguments, comm, kind, CALL_ON_STREAM, &result, &err);
        if (operation)
            result = put_in(stream, operation, waits, &err);
        on_stream_close(stream);
    }
    return library_leave(arguments->comm, result, call, &err);
}

int gpubind_send_on_stream(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                           MPI_Comm comm, gpubind_stream stream)
{
    return on_stream(&(struct arguments){buf, count, type, dest, tag, comm}, OPERATION_SEND,
                     stream, true, "gpubind_send_on_stream");
}

int gpubind_recv_on_stream(void *buf, int count, MPI_Datatype type, int source, int tag,
                           MPI_Comm comm, gpubind_stream stream)
{
    return on_stream(&(struct arguments){buf, count, type, source, tag, comm}, OPERATION_RECEIVE,
                     stream, true, "gpubind_recv_on_stream");
}

int gpubind_isend_on_stream(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                            MPI_Comm comm, gpubind_stream stream)
{
    return on_stream(&(struct arguments){buf, count, type, dest, tag, comm}, OPERATION_SEND,
                     stream, false, "gpubind_isend_on_stream");
}

int gpubind_irecv_on_stream(void *buf, int count, MPI_Datatype type, int source, int tag,
                            MPI_Comm comm, gpubind_stream stream)
{
    return on_stream(&(struct arguments){buf, count, type, source, tag, comm}, OPERATION_RECEIVE,
                     stream, false, "gpubind_irecv_on_stream");
}

int gpubind_quiet_on_stream(gpubind_stream handle)
{
    struct gpubind_error err;
    struct on_stream *stream = NULL;
    int result = MPI_ERR_OTHER;

    library_enter();
    if (library_started())
        stream = on_stream_open(handle, &result, &err);
    else
        error_set(&err, "the library has not started, or has ended");
    if (stream) {
        result = on_stream_quiet(stream, &err);
        on_stream_close(stream);
    }
    return library_leave(MPI_COMM_WORLD, result, "gpubind_quiet_on_stream", &err);
}
