#include "mpi/persistent/captured.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "gpu/core/gpu_capture.h"
#include "gpu/core/gpu_stream.h"
#include "mpi/base/log.h"
#include "mpi/core/context.h"
#include "mpi/core/progress_thread.h"
#include "mpi/datatype/flat_type.h"
#include "mpi/persistent/captured_launch.h"
#include "mpi/persistent/persistent.h"

/* Messages of a stream's capture that no launch has yet. */
struct pending {
    struct pending *next;
    gpu_stream stream;
    const void *key; /* its stream_key */
    unsigned long long capture;
    struct captured_messages messages;
};

static QUEUE_OF(struct pending) pendings;

static void drop(struct pending *pending)
{
    QUEUE_REMOVE(&pendings, pending, next);
    captured_release(&pending->messages);
    free(pending);
}

/* Of this capture; those of one before that no quiet has put in are in no graph. */
static struct pending *find_pending(gpu_stream stream, const struct gpu_capture *capture)
{
    struct pending *pending = pendings.first;
    int n;

    while (pending && pending->key != stream_key(stream))
        pending = pending->next;
    if (!pending || pending->capture == capture->id)
        return pending;
    n = pending->messages.nsends + pending->messages.nreceives;
    if (n > 0) /* all else was refused */
        warn_once(WARN_CAPTURED,
                  "%d messages of a capture are in no graph: gpubind_quiet_on_stream has to follow "
                  "there",
                  n);
    drop(pending);
    return NULL;
}

/* In no list yet. */
static struct pending *make_pending(gpu_stream stream, const struct gpu_capture *capture,
                                    struct gpubind_error *err)
{
    struct pending *pending = calloc(1, sizeof *pending);

    if (!pending) {
        error_set(err, "out of memory");
        return NULL;
    }
    pending->stream = stream;
    pending->key = stream_key(stream);
    pending->capture = capture->id;
    return pending;
}

static struct pending *need_pending(gpu_stream stream, const struct gpu_capture *capture,
                                    struct gpubind_error *err)
{
    struct pending *pending = find_pending(stream, capture);

    if (pending)
        return pending;
    pending = make_pending(stream, capture, err);
    if (pending)
        QUEUE_PUSH(&pendings, pending, next);
    return pending;
}

/* Nobody else finds them while the lock is released. */
static int flush(struct pending *pending, const struct gpu_capture *capture,
                 struct gpubind_error *err)
{
    int status;

    QUEUE_REMOVE(&pendings, pending, next);
    status = captured_launch_put(&pending->messages, pending->stream, capture, err);
    captured_release(&pending->messages);
    free(pending);
    return status == 0 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* ---- the calls */

static int refuse(struct gpubind_error *err, const struct arguments *arguments,
                  enum request_kind kind, const char *why)
{
    error_set(err, "the message %s rank %d with tag %d cannot be captured: %s",
              kind == REQUEST_SEND ? "to" : "from", arguments->rank, arguments->tag, why);
    return MPI_ERR_OTHER;
}

static bool is_exact(const struct arguments *arguments)
{
    return arguments->rank != MPI_PROC_NULL && arguments->rank != MPI_ANY_SOURCE &&
           arguments->tag != MPI_ANY_TAG;
}

/* can: its memory can be another rank's, and a kernel copies it. */
static int check_request(const struct arguments *arguments, const struct gpubind_operation *request,
                         bool can, gpu_stream stream, struct gpubind_error *err)
{
    gpu_context context = NULL;

    if (!is_exact(arguments))
        return refuse(err, arguments, request->kind, "its other side is not known by rank and tag");
    if (request->peer->local < 0)
        return refuse(err, arguments, request->kind, "it is on another node");
    if (!can)
        return refuse(err, arguments, request->kind,
                      "it needs the library's kernels, and GPU memory that other ranks can "
                      "map, of a regular layout, not of 0 bytes");
    if (stream_home(stream, &context) != GPU_OK || context != request->memory.gpu->context)
        return refuse(err, arguments, request->kind,
                      "its buffer is in another context, or on another GPU, than the stream");
    return MPI_SUCCESS;
}

/* Of one that has no other side, or none that is known. That to or from MPI_PROC_NULL is good, and none. */
static int check_inexact(const struct arguments *arguments, struct comm *comm,
                         enum request_kind kind, gpu_stream stream, struct gpubind_error *err)
{
    struct type_shape shape;
    int result = MPI_SUCCESS;
    struct gpubind_operation *request = message_describe(arguments, comm, kind, &shape, &result,
                                                         err);

    if (!request)
        return result;
    if (arguments->rank != MPI_PROC_NULL)
        result = check_request(arguments, request, false, stream, err);
    request_free(request);
    return result;
}

/* Calls that are refused: launches of the other side, which may have connected, do not wait for them. */
static void withdraw(struct captured_messages *messages)
{
    for (int i = 0; i < messages->nsends; i++)
        channel_fail(messages->sends[i]->channel, "its call was refused");
    for (int i = 0; i < messages->nreceives; i++)
        channel_fail(messages->receives[i]->channel, "its call was refused");
    captured_release(messages);
}

static struct gpubind_operation *make_request(const struct arguments *arguments, struct comm *comm,
                                              enum request_kind kind, gpu_stream stream,
                                              int *result, struct gpubind_error *err)
{
    struct gpubind_operation *request = persistent_make(arguments, comm, kind, PERSISTENT_CAPTURE,
                                                        false, result, err);
    struct channel *channel = request ? request->channel : NULL;

    if (!request)
        return NULL;
    captured_await(channel);
    *result = check_request(arguments, request, channel->local.connectable, stream, err);
    if (*result == MPI_SUCCESS) {
        channel_enter_stream(channel);
        return request;
    }
    withdraw(&(struct captured_messages){.sends = {request}, .nsends = 1});
    return NULL;
}

static bool is_full(const struct pending *pending, enum request_kind kind)
{
    return (kind == REQUEST_SEND ? pending->messages.nsends : pending->messages.nreceives) ==
           DEFERRED_MESSAGES;
}

static int add(struct pending *pending, const struct arguments *arguments, struct comm *comm,
               enum request_kind kind, struct gpubind_error *err)
{
    struct gpubind_operation *request;
    int result;

    if (is_full(pending, kind))
        return refuse(err, arguments, kind,
                      "too many nonblocking ones are before it without a quiet");
    request = make_request(arguments, comm, kind, pending->stream, &result, err);
    if (request && kind == REQUEST_SEND)
        pending->messages.sends[pending->messages.nsends++] = request;
    else if (request)
        pending->messages.receives[pending->messages.nreceives++] = request;
    return result;
}

bool captured_stream(gpu_stream stream)
{
    struct gpu_capture capture;

    return gpu_driver() && gpu_capture_of(stream, &capture) == GPU_OK && capture.active;
}

int captured_message(const struct arguments *arguments, struct comm *comm, enum request_kind kind,
                     gpu_stream stream, bool waits, struct gpubind_error *err)
{
    struct gpu_capture capture;
    struct pending *pending;
    int result;

    if (!is_exact(arguments))
        return check_inexact(arguments, comm, kind, stream, err);
    if (progress_thread_start(err) < 0)
        return MPI_ERR_OTHER;
    gpu_capture_of(stream, &capture);
    pending = need_pending(stream, &capture, err);
    if (!pending)
        return MPI_ERR_OTHER;
    result = add(pending, arguments, comm, kind, err);
    progress_thread_wake();
    return result == MPI_SUCCESS && waits ? flush(pending, &capture, err) : result;
}

/* Where one is refused, the other sides of both are told. */
static int add_both(struct pending *pending, const struct arguments *sends,
                    const struct arguments *receives, struct comm *comm, struct gpubind_error *err)
{
    struct gpubind_error unheard;
    int sent = MPI_SUCCESS, received = MPI_SUCCESS;

    if (is_exact(sends))
        sent = add(pending, sends, comm, REQUEST_SEND, err);
    if (is_exact(receives))
        received = add(pending, receives, comm, REQUEST_RECEIVE,
                       sent == MPI_SUCCESS ? err : &unheard);
    return sent == MPI_SUCCESS ? received : sent;
}

int captured_sendrecv(const struct arguments *sends, const struct arguments *receives,
                      struct comm *comm, gpu_stream stream, struct gpubind_error *err)
{
    struct gpu_capture capture;
    struct pending *pending;
    int result = MPI_SUCCESS;

    if (!is_exact(sends))
        result = check_inexact(sends, comm, REQUEST_SEND, stream, err);
    if (result == MPI_SUCCESS && !is_exact(receives))
        result = check_inexact(receives, comm, REQUEST_RECEIVE, stream, err);
    if (result != MPI_SUCCESS)
        return result;
    if (progress_thread_start(err) < 0)
        return MPI_ERR_OTHER;
    gpu_capture_of(stream, &capture);
    find_pending(stream, &capture); /* drops what a capture before has left */
    pending = make_pending(stream, &capture, err);
    if (!pending)
        return MPI_ERR_OTHER;
    result = add_both(pending, sends, receives, comm, err);
    progress_thread_wake();
    if (result == MPI_SUCCESS && pending->messages.nsends + pending->messages.nreceives > 0)
        return flush(pending, &capture, err);
    withdraw(&pending->messages);
    free(pending);
    return result;
}

int captured_quiet(gpu_stream stream, struct gpubind_error *err)
{
    struct gpu_capture capture;
    struct pending *pending;

    gpu_capture_of(stream, &capture);
    pending = find_pending(stream, &capture);
    return pending && pending->messages.nsends + pending->messages.nreceives > 0
               ? flush(pending, &capture, err)
               : MPI_SUCCESS;
}
