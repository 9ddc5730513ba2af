/* RMA calls in the order of a stream: the copy engine copies, and stream memory operations
 * write signals and wait for them. The host and the target take no part, unless the target's
 * part of the window is not mapped here (window_am.h). */
#include "mpi/base/trace_part.h"
#include "mpi/core/context.h"
#include "mpi/core/domain.h"
#include "mpi/rma/window_am.h"
#include "mpi/stream/stream_queue.h"

#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_stream.h"

/* The arguments of a call. */
struct request {
    const char *call;
    gpubind_win win;
    int target;
    gpubind_stream stream;
    uint64_t offset, nbytes; /* of data */
    const void *buffer;
    bool signals;
    int signal;
};

static int check_buffer(const struct request *request, struct gpubind_error *err)
{
    const struct window_part *part = &request->win->parts[request->target];

    if (request->offset > part->nbytes || request->nbytes > part->nbytes - request->offset) {
        error_set(err, "%llu bytes at offset %llu leave the window of rank %d, which has %llu",
                  (unsigned long long)request->nbytes, (unsigned long long)request->offset,
                  request->target, (unsigned long long)part->nbytes);
        return MPI_ERR_RMA_RANGE;
    }
    if (request->nbytes > 0 && !request->buffer) {
        error_set(err, "the buffer is NULL");
        return MPI_ERR_BUFFER;
    }
    return MPI_SUCCESS;
}

static int check_signal(const struct request *request, struct gpubind_error *err)
{
    const struct window_part *part = &request->win->parts[request->target];

    if (request->signal < 0 || (uint64_t)request->signal >= part->nsignals) {
        error_set(err, "signal %d is none of the %llu of rank %d", request->signal,
                  (unsigned long long)part->nsignals, request->target);
        return MPI_ERR_ARG;
    }
    if (!gpu_has_wait64()) {
        error_set(err, "the CUDA driver is too old: its streams cannot write signals");
        return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
}

static int check(const struct request *request, struct gpubind_error *err)
{
    int result = window_check_rank(request->win, request->target, err);

    if (result == MPI_SUCCESS && !request->win->gpu) {
        error_set(err, "this rank has no GPU");
        result = MPI_ERR_OTHER;
    }
    if (result == MPI_SUCCESS)
        result = check_buffer(request, err);
    if (result == MPI_SUCCESS && request->signals)
        result = check_signal(request, err);
    return result;
}

/* ---- work for the stream; 0 or the driver's error */

static gpu_address signal_address(const struct request *request)
{
    return request->win->parts[request->target].signals + 8 * (gpu_address)request->signal;
}

static int queue_copy(const struct request *request, bool put)
{
    const gpu_address there = request->win->parts[request->target].data + request->offset;
    const gpu_address here = (gpu_address)(uintptr_t)request->buffer;

    if (request->nbytes == 0)
        return GPU_OK;
    return gpu_copy_async(put ? there : here, put ? here : there, request->nbytes, request->stream);
}

static int queue_get(const struct request *request, unsigned long long unused)
{
    (void)unused;
    return queue_copy(request, false);
}

static int queue_put(const struct request *request, unsigned long long unused)
{
    (void)unused;
    return queue_copy(request, true);
}

/* The write is ordered after the stream's earlier work. */
static int queue_signal(const struct request *request, unsigned long long value)
{
    return gpu_stream_write64(request->stream, signal_address(request), value, 0);
}

static int queue_put_signal(const struct request *request, unsigned long long value)
{
    int status = queue_copy(request, true);

    return status == GPU_OK ? queue_signal(request, value) : status;
}

/* ---- calls */

/* The same as a command, for a part that is not mapped here. */
static int queue_command(const struct request *request, bool get, unsigned long long value,
                         struct gpubind_error *err)
{
    const struct window_command command = {.op_flags = (request->nbytes == 0 ? 0
                                                        : get                ? WINDOW_OP_GET
                                                                             : WINDOW_OP_PUT) |
                                                       (request->signals ? WINDOW_OP_SIGNAL : 0),
                                           .offset = request->offset,
                                           .nbytes = request->nbytes,
                                           .signal = (uint64_t)request->signal,
                                           .value = value};

    if (!command.op_flags)
        return MPI_SUCCESS;
    return window_queue_command(request->win, request->target, &command, request->buffer,
                                request->stream, err);
}

/* Without a duration: the stream gets there later. */
static void record(const struct request *request, bool get, enum trace_path path)
{
    const struct comm *comm = request->win->comm;
    const uint64_t now = trace_part_now();
    const struct trace_event event = {
        .start = now,
        .end = now,
        .bytes = request->nbytes,
        .peer = domain_world_rank(comm->domain, comm->domain_ranks[request->target]),
        .kind = get ? TRACE_GET : TRACE_PUT,
        .path = (uint8_t)path};

    trace_part_record(&event);
}

static int try(const struct request *request,
               int (*what)(const struct request *, unsigned long long), unsigned long long value,
               struct gpubind_error *err)
{
    int status, result = check(request, err);
    bool entered;

    if (result != MPI_SUCCESS)
        return result;
    stream_queue_release_of(request->stream);
    if (!what)
        return window_queue_wait(request->win, signal_address(request), value, request->stream,
                                 err);
    if (window_is_out_of_reach(request->win, request->target)) {
        result = queue_command(request, what == queue_get, value, err);
        if (trace_part_is_on && result == MPI_SUCCESS && request->nbytes > 0)
            record(request, what == queue_get, TRACE_BUFFERED);
        return result;
    }
    entered = gpu_enter_for(request->win->gpu, request->stream);
    /* The driver may wait for the stream, which may wait for a message. */
    library_unlock();
    status = what(request, value);
    library_lock();
    gpu_leave(entered);
    if (trace_part_is_on && status == GPU_OK && request->nbytes > 0)
        record(request, what == queue_get, TRACE_DIRECT);
    if (status == GPU_OK)
        return MPI_SUCCESS;
    gpu_error(status, "the work cannot be queued in the stream", err);
    return MPI_ERR_OTHER;
}

/* what: NULL is a wait for a signal of this rank. */
static int queue(struct request request, int (*what)(const struct request *, unsigned long long),
                 unsigned long long value)
{
    struct gpubind_error err;
    MPI_Comm user = MPI_COMM_WORLD;
    int result;

    library_enter_for(request.call, what ? request.target : NVTX_NOBODY);
    result = window_check(request.win, &err);
    if (result == MPI_SUCCESS) {
        user = request.win->comm->user;
        if (!what)
            request.target = request.win->rank;
        if (request.target != MPI_PROC_NULL)
            result = try(&request, what, value, &err);
    }
    return library_leave(user, result, request.call, &err);
}

int gpubind_put_on_stream(const void *buf, size_t nbytes, int target, size_t offset,
                          gpubind_win win, gpubind_stream stream)
{
    const struct request request = {.call = "gpubind_put_on_stream",
                                    .win = win,
                                    .target = target,
                                    .stream = stream,
                                    .offset = offset,
                                    .nbytes = nbytes,
                                    .buffer = buf};

    return queue(request, queue_put, 0);
}

int gpubind_get_on_stream(void *buf, size_t nbytes, int target, size_t offset, gpubind_win win,
                          gpubind_stream stream)
{
    const struct request request = {.call = "gpubind_get_on_stream",
                                    .win = win,
                                    .target = target,
                                    .stream = stream,
                                    .offset = offset,
                                    .nbytes = nbytes,
                                    .buffer = buf};

    return queue(request, queue_get, 0);
}

int gpubind_signal_on_stream(int signal, unsigned long long value, int target, gpubind_win win,
                             gpubind_stream stream)
{
    const struct request request = {.call = "gpubind_signal_on_stream",
                                    .win = win,
                                    .target = target,
                                    .stream = stream,
                                    .signals = true,
                                    .signal = signal};

    return queue(request, queue_signal, value);
}

int gpubind_put_signal_on_stream(const void *buf, size_t nbytes, int signal,
                                 unsigned long long value, int target, size_t offset,
                                 gpubind_win win, gpubind_stream stream)
{
    const struct request request = {.call = "gpubind_put_signal_on_stream",
                                    .win = win,
                                    .target = target,
                                    .stream = stream,
                                    .offset = offset,
                                    .nbytes = nbytes,
                                    .buffer = buf,
                                    .signals = true,
                                    .signal = signal};

    return queue(request, queue_put_signal, value);
}

int gpubind_wait_signal_on_stream(int signal, unsigned long long value, gpubind_win win,
                                  gpubind_stream stream)
{
    const struct request request = {.call = "gpubind_wait_signal_on_stream",
                                    .win = win,
                                    .stream = stream,
                                    .signals = true,
                                    .signal = signal};

    return queue(request, NULL, value);
}
