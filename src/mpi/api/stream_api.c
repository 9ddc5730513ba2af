/* The calls that send and receive in the order of a stream. They match when they are
 * called; data move when the stream has got there. */
#include <stdlib.h>

#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/gpubind.h"
#include "mpi/message/message.h"
#include "mpi/message/stream_direct.h"
#include "mpi/message/stream_message.h"
#include "mpi/persistent/captured.h"

/* It has been checked. */
static int put_in(struct stream_queue *stream, struct gpubind_operation *operation, bool waits,
                  struct gpubind_error *err)
{
    operation->waited = waits;
    stream_message_prepare(operation);
    if (operation->rank == MPI_PROC_NULL) {
        request_free(operation);
        return MPI_SUCCESS;
    }
    return stream_direct_start(operation, stream, waits, err);
}

/* NULL with *result and a sentence. */
static struct gpubind_operation *prepare(const struct arguments *arguments, struct comm *comm,
                                         enum request_kind kind, int *result,
                                         struct gpubind_error *err)
{
    struct gpubind_operation *operation = message_prepare(arguments, comm, kind, CALL_ON_STREAM,
                                                          result, err);

    if (!operation || stream_message_check(operation, err) == 0)
        return operation;
    request_free(operation);
    *result = MPI_ERR_OTHER;
    return NULL;
}

static int on_stream(const struct arguments *arguments, enum request_kind kind,
                     gpubind_stream handle, bool waits, const char *call)
{
    struct gpubind_operation *operation;
    struct stream_queue *stream = NULL;
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter_for(call, arguments->rank);
    comm = library_comm(arguments->comm, &result, &err);
    if (comm && captured_stream(handle))
        result = captured_message(arguments, comm, kind, handle, waits, &err);
    else if (comm)
        stream = stream_queue_open(handle, &result, &err);
    if (stream) {
        operation = prepare(arguments, comm, kind, &result, &err);
        if (operation)
            result = put_in(stream, operation, waits, &err);
        stream_queue_close(stream);
    }
    return library_leave(arguments->comm, result, call, &err);
}

static int put_both(struct stream_queue *stream, struct gpubind_operation *send,
                    struct gpubind_operation *receive, struct gpubind_error *err)
{
    struct gpubind_error unheard;
    int result, ended;

    stream_queue_begin_pair(stream);
    result = put_in(stream, receive, false, err);
    if (result == MPI_SUCCESS)
        result = put_in(stream, send, false, err);
    else
        request_free(send);
    ended = stream_queue_end_pair(stream, result == MPI_SUCCESS ? err : &unheard);
    return result != MPI_SUCCESS ? result : ended;
}

/* Nothing is put in unless the arguments of both are good. */
static int sendrecv(struct stream_queue *stream, const struct arguments *sends,
                    const struct arguments *receives, struct comm *comm, struct gpubind_error *err)
{
    int result;
    struct gpubind_operation *receive, *send = prepare(sends, comm, REQUEST_SEND, &result, err);

    if (!send)
        return result;
    receive = prepare(receives, comm, REQUEST_RECEIVE, &result, err);
    if (receive)
        return put_both(stream, send, receive, err);
    request_free(send);
    return result;
}

int gpubind_sendrecv_on_stream(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                               int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                               int source, int recvtag, MPI_Comm in, gpubind_stream handle)
{
    static const char call[] = "gpubind_sendrecv_on_stream";
    const struct arguments sends = {sendbuf, sendcount, sendtype, dest, sendtag, in};
    const struct arguments receives = {recvbuf, recvcount, recvtype, source, recvtag, in};
    struct stream_queue *stream = NULL;
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter_for(call, dest);
    comm = library_comm(in, &result, &err);
    if (comm && captured_stream(handle))
        result = captured_sendrecv(&sends, &receives, comm, handle, &err);
    else if (comm)
        stream = stream_queue_open(handle, &result, &err);
    if (stream) {
        result = sendrecv(stream, &sends, &receives, comm, &err);
        stream_queue_close(stream);
    }
    return library_leave(in, result, call, &err);
}

int gpubind_send_on_stream(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                           MPI_Comm comm, gpubind_stream stream)
{
    return on_stream(&(struct arguments){buf, count, type, dest, tag, comm}, REQUEST_SEND, stream,
                     true, "gpubind_send_on_stream");
}

int gpubind_recv_on_stream(void *buf, int count, MPI_Datatype type, int source, int tag,
                           MPI_Comm comm, gpubind_stream stream)
{
    return on_stream(&(struct arguments){buf, count, type, source, tag, comm}, REQUEST_RECEIVE,
                     stream, true, "gpubind_recv_on_stream");
}

int gpubind_isend_on_stream(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                            MPI_Comm comm, gpubind_stream stream)
{
    return on_stream(&(struct arguments){buf, count, type, dest, tag, comm}, REQUEST_SEND, stream,
                     false, "gpubind_isend_on_stream");
}

int gpubind_irecv_on_stream(void *buf, int count, MPI_Datatype type, int source, int tag,
                            MPI_Comm comm, gpubind_stream stream)
{
    return on_stream(&(struct arguments){buf, count, type, source, tag, comm}, REQUEST_RECEIVE,
                     stream, false, "gpubind_irecv_on_stream");
}

static int group(struct stream_queue *stream, struct gpubind_error *err)
{
    (void)err;
    stream_queue_group(stream, GPU_SLOT_LARGEST);
    return MPI_SUCCESS;
}

/* Until a capture's quiet nothing is put in anyway. */
static int group_captured(gpu_stream stream, struct gpubind_error *err)
{
    (void)stream, (void)err;
    return MPI_SUCCESS;
}

static int with_stream(gpubind_stream handle, const char *call,
                       int (*what)(struct stream_queue *stream, struct gpubind_error *err),
                       int (*captured)(gpu_stream stream, struct gpubind_error *err))
{
    struct gpubind_error err;
    struct stream_queue *stream = NULL;
    int result = MPI_ERR_OTHER;

    library_enter(call);
    if (library_started() && captured_stream(handle))
        result = captured(handle, &err);
    else if (library_started())
        stream = stream_queue_open(handle, &result, &err);
    else
        error_set(&err, "the library has not started, or has ended");
    if (stream) {
        result = what(stream, &err);
        stream_queue_close(stream);
    }
    return library_leave(MPI_COMM_WORLD, result, call, &err);
}

int gpubind_group_on_stream(gpubind_stream stream)
{
    return with_stream(stream, "gpubind_group_on_stream", group, group_captured);
}

int gpubind_quiet_on_stream(gpubind_stream stream)
{
    return with_stream(stream, "gpubind_quiet_on_stream", stream_queue_quiet, captured_quiet);
}
