/* Finds and opens the queue of an application's stream. */
#include <mpi.h>
#include <stdlib.h>

#include "core/base/list.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_stream.h"
#include "gpu/core/kernels.h"
#include "gpu/exchange/gpu_slots.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/gpu_users.h"
#include "mpi/core/progress.h"
#include "mpi/core/progress_thread.h"
#include "mpi/stream/stream_queue_internal.h"

/* A driver call for a stream with much unfinished work blocks until there is room, and may hold
 * locks meanwhile. The library therefore waits itself when a stream has so many waits. */
#define WAITS_MAX 256
#define STREAMS_KEPT 64

struct stream_queue *stream_queues;
static int nstreams;

/* ---- which stream */

/* That has to be current for calls with it. */
static gpu_context context_of(gpu_stream handle, struct gpubind_error *err)
{
    gpu_context context = NULL;
    int status = stream_is_default(handle) ? gpu_context_current(&context)
                                           : stream_home(handle, &context);

    if (status != GPU_OK)
        gpu_error(status, "the stream cannot be used", err);
    else if (!context)
        error_set(err, "a default stream was given, and no context is current");
    return context;
}

static int ordinal_of(gpu_context context)
{
    const struct gpu place = {.context = context};
    bool entered = gpu_enter(&place);
    int ordinal = 0;

    gpu_context_device(&ordinal);
    gpu_leave(entered);
    return ordinal;
}

static bool is_idle(const struct stream_queue *stream)
{
    return !stream->open && !stream->wanted && !stream->queued.first && !stream->awaited.first &&
           !stream->unawaited.first && QUEUE_EMPTY(&stream->quiets) &&
           QUEUE_EMPTY(&stream->laters) && !stream_queue_is_held(stream) &&
           stream->result == MPI_SUCCESS &&
           stream_flag_has(stream->reached, stream->reached->value);
}

void stream_queue_free(struct stream_queue *stream)
{
    stream_flag_give(stream->reached);
    gpu_flags_give(&stream->flags);
    free(stream);
}

/* Drops an idle queue, whose stream the application may have destroyed since. */
static void forget_one(void)
{
    for (struct stream_queue **link = &stream_queues; *link; link = &(*link)->next)
        if (is_idle(*link)) {
            struct stream_queue *stream = *link;

            *link = stream->next;
            stream_queue_free(stream);
            nstreams--;
            return;
        }
}

void stream_queues_forget(void)
{
    for (struct stream_queue **link = &stream_queues; *link;) {
        struct stream_queue *stream = *link;

        if (!is_idle(stream)) {
            link = &stream->next;
            continue;
        }
        *link = stream->next; /* its flag is gone with the page-locked memory */
        gpu_flags_give(&stream->flags);
        free(stream);
        nstreams--;
    }
}

/* Beside those of other ranks on that GPU. */
static bool may_spin(const struct stream_queue *stream)
{
    return !stream->green && (gpu_users(stream->gpu) == 1 || stream->gpu->mps);
}

/* Without it, launches have one block. Slots are of use where kernels wait, and are allocated while no stream does. */
static void make_space(struct stream_queue *stream)
{
    const unsigned n = (SIGNAL_SPACE_BYTES + EXCHANGE_FLAG - 1) / EXCHANGE_FLAG;
    struct gpubind_error unheard;

    if (stream->gpu && kernels_are_allowed() &&
        gpu_flags_take(stream->gpu, n, &stream->flags, &unheard) == 0) {
        stream->space.at = stream->flags.at;
        if (kernel_of(stream->gpu, GPU_SIGNAL_KERNEL) && may_spin(stream) && !gpu_is_guarded())
            gpu_slots_prepare(stream->gpu);
    }
}

static struct stream_queue *make(gpu_stream handle, gpu_context context, struct gpubind_error *err)
{
    struct stream_queue *stream;
    struct gpubind_error unheard;
    gpu_context home;

    if (nstreams >= STREAMS_KEPT)
        forget_one();
    stream = calloc(1, sizeof *stream);
    if (!stream) {
        error_set(err, "out of memory");
        return NULL;
    }
    stream->reached = stream_flag_take(err);
    if (!stream->reached) {
        free(stream);
        return NULL;
    }
    stream->handle = handle;
    stream->key = stream_key(handle);
    stream->place.context = context;
    stream->green = stream_is_green(handle);
    if (stream_home(handle, &home) == GPU_OK)
        stream->whole = gpu_of(home, ordinal_of(context), &unheard);
    stream->gpu = stream_is_green_default(handle) ? NULL : stream->whole;
    if (stream->gpu)
        gpu_users_add(stream->gpu);
    make_space(stream);
    stream->next = stream_queues;
    stream_queues = stream;
    nstreams++;
    return stream;
}

static struct stream_queue *find_made(gpu_stream handle, gpu_context context)
{
    for (struct stream_queue *stream = stream_queues; stream; stream = stream->next)
        if (stream->key == stream_key(handle) && stream->place.context == context)
            return stream;
    return NULL;
}

static struct stream_queue *find(gpu_stream handle, struct gpubind_error *err)
{
    gpu_context context = context_of(handle, err);
    struct stream_queue *stream;

    if (!context)
        return NULL;
    gpus_find_dead();
    stream = find_made(handle, context);
    return stream ? stream : make(handle ? handle : GPU_LEGACY_STREAM, context, err);
}

/* The query does not invalidate a capture. */
static int check_capture(const struct stream_queue *stream, struct gpubind_error *err)
{
    bool entered = gpu_enter(&stream->place);
    int capturing = 0, status = gpu_stream_is_capturing(stream->handle, &capturing);

    gpu_leave(entered);
    if (status == GPU_CAPTURE_IMPLICIT || (status == GPU_OK && capturing))
        return error_set(err,
                         "the stream, or one that waits for it, is being captured into a graph, "
                         "which cannot have this");
    return status == GPU_OK ? 0 : gpu_error(status, "the stream cannot be used", err);
}

static bool has_room(const void *argument)
{
    const struct stream_queue *stream = argument;

    return !stream->open && stream->waits < WAITS_MAX && stream->nqueued < WAITS_MAX;
}

static int check_driver(struct gpubind_error *err)
{
    if (!gpu_driver())
        return error_set(err, "this process has not initialised CUDA, and has no stream");
    if (!gpu_has_wait32())
        return error_set(err, "the CUDA driver is too old: streams cannot wait for words");
    return 0;
}

/* A kernel that waits goes on some microseconds sooner than a stream that does. The few multiprocessors of a green
 * context are left to the application. */
static void choose_waits(struct stream_queue *stream)
{
    const bool spins = stream->space.at && may_spin(stream);

    if (spins != stream->spins)
        trace(TRACE_STREAM, "stream %p: %s", (void *)stream->handle,
              spins ? "its waits are kernels"
                    : "its GPU is another rank's, too: no kernel waits in it");
    stream->spins = spins;
}

struct stream_queue *stream_queue_open(gpu_stream handle, int *result, struct gpubind_error *err)
{
    struct stream_queue *stream;

    *result = MPI_ERR_OTHER;
    if (check_driver(err) < 0 || progress_thread_start(err) < 0)
        return NULL;
    stream = find(handle, err);
    if (!stream || check_capture(stream, err) < 0)
        return NULL;
    stream->wanted++;
    while (!has_room(stream))
        progress_wait_for(has_room, stream, 3600);
    stream->wanted--;
    stream_settle(stream);
    if (stream->result != MPI_SUCCESS) {
        *result = stream->result;
        error_set(err, "an earlier message of the stream: %.450s", stream->error.text);
        stream->result = MPI_SUCCESS;
        return NULL;
    }
    *result = MPI_SUCCESS;
    stream->open = true;
    choose_waits(stream);
    return stream;
}

static bool is_closed(const void *stream)
{
    return !((const struct stream_queue *)stream)->open;
}

static bool has_held(void)
{
    for (const struct stream_queue *stream = stream_queues; stream; stream = stream->next)
        if (stream_queue_is_held(stream))
            return true;
    return false;
}

void stream_queue_release_of(gpu_stream handle)
{
    struct gpubind_error unheard;
    gpu_context context = has_held() ? context_of(handle, &unheard) : NULL;
    struct stream_queue *stream = context ? find_made(handle, context) : NULL;

    if (!stream || !stream_queue_is_held(stream) || check_capture(stream, &unheard) < 0)
        return;
    stream->wanted++;
    while (!is_closed(stream))
        progress_wait_for(is_closed, stream, 3600);
    stream->wanted--;
    stream->open = true;
    stream_queue_release(stream);
    stream->open = false;
}

void stream_queue_close(struct stream_queue *stream)
{
    stream->open = false;
}
