#include "gpu/core/deferred_free.h"

#include <stdlib.h>
#include <time.h>

#include "gpu/core/events.h"
#include "gpu/core/gpu_stream.h"
#include "gpu/core/vmm.h"

#define FREES_WAIT_MS 500

struct free_guard {
    struct free_guard *next;
    struct gpu *gpu;
    gpu_stream stream; /* the latest; it may have been destroyed */
    const void *key;   /* its stream_key */
    unsigned blocks;   /* the most of what is in it */
    gpu_event event;
    bool busy;     /* between free_guard_begin and free_guard_end */
    bool recorded; /* successfully, the last time */
    bool pending;  /* the event was not seen to have completed */
};

static int nguards;        /* calls of gpu_guard that are in force */
static bool frees_pending; /* of some GPU */
static bool ending;
static struct free_guard *guards;

static struct deferred_free {
    struct deferred_free *next;
    struct gpu *gpu;
    gpu_address memory;
} * deferred_frees;

static bool guard_is_over(struct free_guard *guard)
{
    bool entered;

    guard->pending = false;
    if (gpu_is_dead(guard->gpu))
        return true;
    entered = gpu_enter(guard->gpu);
    guard->pending = gpu_driver()->cuEventQuery(guard->event) == GPU_NOT_READY;
    gpu_leave(entered);
    return !guard->pending;
}

bool gpu_is_guarded(void)
{
    if (nguards > 0)
        return true;
    for (struct free_guard *guard = guards; guard; guard = guard->next)
        if (guard->pending && !guard_is_over(guard))
            return true;
    return false;
}

bool gpu_may_wait(void)
{
    return !gpu_is_guarded() && (ending || gpus_are_idle()) && gpu_agents_quiesce(ending);
}

void gpu_allow_waiting(void)
{
    ending = true;
}

void gpu_guard(int more)
{
    nguards += more;
    gpu_free_retry();
}

/* ---- memory */

gpu_address gpu_allocate(const struct gpu *gpu, size_t nbytes)
{
    const struct cuda_driver *cuda = gpu_driver();
    gpu_address memory = 0;

    if (cuda->cuMemAllocAsync && cuda->cuMemFreeAsync &&
        cuda->cuMemAllocAsync(&memory, nbytes, gpu->streams[GPU_OUT]) == GPU_OK)
        return memory;
    return cuda->cuMemAlloc_v2(&memory, nbytes) == GPU_OK ? memory : 0;
}

void gpu_free_now(const struct gpu *gpu, gpu_address memory)
{
    bool entered;

    if (gpu_is_dead(gpu) || gpu_is_lost(gpu)) /* a lost one's work does not end */
        return;
    entered = gpu_enter(gpu);
    if (!vmm_close(memory))
        gpu_driver()->cuMemFree_v2(memory);
    gpu_leave(entered);
}

/* Orders later work in GPU_PACK after the work that is in the legacy stream now. */
static int follow_legacy(struct gpu *gpu)
{
    gpu_event event;
    int status = event_of_legacy(gpu, &event);

    if (status != GPU_OK || !event)
        return status;
    status = gpu_driver()->cuStreamWaitEvent(gpu->streams[GPU_PACK], event, 0);
    event_give(gpu, event);
    return status;
}

/* Frees it in GPU_PACK, in stream order. false: not possible now. */
static bool free_in_stream(struct gpu *gpu, gpu_address memory)
{
    const struct cuda_driver *cuda = gpu_driver();
    bool entered;
    int status;

    if (!cuda->cuMemFreeAsync || vmm_gpu(memory) || gpu_is_capturing(gpu))
        return false;
    gpu_agents_leave();
    entered = gpu_enter(gpu);
    status = follow_legacy(gpu);
    if (status == GPU_OK)
        status = cuda->cuMemFreeAsync(memory, gpu->streams[GPU_PACK]);
    gpu->frees_pending |= status == GPU_OK;
    frees_pending |= status == GPU_OK;
    gpu_leave(entered);
    return status == GPU_OK;
}

/* What was freed in a stream is in use until somebody waits for the stream (H200, driver 580): once
 * the frees are done, which that does not wait for. */
static void return_memory(void)
{
    if (!frees_pending || gpu_is_guarded())
        return;
    frees_pending = false;
    for (struct gpu *gpu = gpu_first(); gpu; gpu = gpu->next) {
        bool entered;

        if (!gpu->frees_pending || gpu_is_dead(gpu))
            continue;
        entered = gpu_enter(gpu);
        if (gpu_driver()->cuStreamQuery(gpu->streams[GPU_PACK]) != GPU_NOT_READY) {
            gpu_driver()->cuStreamSynchronize(gpu->streams[GPU_PACK]);
            gpu->frees_pending = false;
        }
        frees_pending |= gpu->frees_pending;
        gpu_leave(entered);
    }
}

void gpu_free_deferred(struct gpu *gpu, gpu_address memory)
{
    struct deferred_free *deferred;

    if (gpu_is_dead(gpu)) /* which freed the memory, too */
        return;
    /* While a stream waits for the library, a thread of the application may be in a driver call
     * that blocks ours. */
    if (!gpu_is_guarded() && free_in_stream(gpu, memory))
        return;
    deferred = malloc(sizeof *deferred);
    if (!deferred) /* the memory leaks */
        return;
    *deferred = (struct deferred_free){deferred_frees, gpu, memory};
    deferred_frees = deferred;
    gpu_free_retry();
}

void gpu_free_retry(void)
{
    while (deferred_frees && !gpu_is_guarded()) {
        struct deferred_free *deferred = deferred_frees;

        if (!gpu_is_dead(deferred->gpu) && !free_in_stream(deferred->gpu, deferred->memory)) {
            if (!gpu_may_wait())
                break;
            gpu_free_now(deferred->gpu, deferred->memory);
        }
        deferred_frees = deferred->next;
        free(deferred);
    }
    return_memory();
}

bool gpu_frees_are_done(void)
{
    bool done = true;

    gpu_free_retry();
    for (const struct gpu *gpu = gpu_first(); gpu && done; gpu = gpu->next)
        done = !gpu->frees_pending || gpu_is_dead(gpu);
    return done && !deferred_frees;
}

void gpu_await_frees(void)
{
    for (int i = 0; i < FREES_WAIT_MS && !gpu_frees_are_done(); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* ---- streams */

static struct free_guard *guard_make(struct gpu *gpu)
{
    struct free_guard *guard = calloc(1, sizeof *guard);
    bool entered = gpu_enter(gpu);
    int status = guard ? gpu_driver()->cuEventCreate(&guard->event, GPU_EVENT_NO_TIMING)
                       : GPU_OUT_OF_MEMORY;

    gpu_leave(entered);
    if (status != GPU_OK) {
        free(guard);
        return NULL;
    }
    guard->gpu = gpu;
    guard->next = guards;
    guards = guard;
    return guard;
}

/* The stream's own guard, else one of the GPU whose event has completed. */
static struct free_guard *find_guard(const struct gpu *gpu, const void *key)
{
    struct free_guard *other = NULL;

    for (struct free_guard *guard = guards; guard; guard = guard->next) {
        if (guard->gpu != gpu || guard->busy)
            continue;
        if (guard->key == key)
            return guard;
        if (!guard->pending)
            other = guard;
    }
    return other;
}

struct free_guard *free_guard_begin(struct gpu *gpu, gpu_stream stream, unsigned blocks)
{
    struct free_guard *guard = find_guard(gpu, stream_key(stream));

    if (!guard)
        guard = guard_make(gpu);
    if (!guard)
        return NULL;
    guard->stream = stream;
    guard->key = stream_key(stream);
    guard->blocks = guard->pending && guard->blocks > blocks ? guard->blocks : blocks;
    guard->busy = true;
    gpu_guard(1);
    return guard;
}

void free_guard_record(struct free_guard *guard)
{
    bool entered = gpu_enter(guard->gpu);

    guard->recorded = gpu_driver()->cuEventRecord(guard->event, guard->stream) == GPU_OK;
    gpu_leave(entered);
}

void free_guard_end(struct free_guard *guard)
{
    guard->busy = false;
    guard->pending |= guard->recorded;
    gpu_guard(-1);
}

static unsigned sum_blocks(const struct gpu *gpu, const void *but)
{
    unsigned blocks = 0;

    for (const struct free_guard *guard = guards; guard; guard = guard->next)
        if (guard->gpu == gpu && guard->key != but && (guard->busy || guard->pending))
            blocks += guard->blocks;
    return blocks;
}

unsigned free_guards_blocks(const struct gpu *gpu, const void *but, unsigned most)
{
    const unsigned blocks = sum_blocks(gpu, but);

    if (blocks <= most)
        return blocks;
    for (struct free_guard *guard = guards; guard; guard = guard->next)
        if (guard->gpu == gpu && guard->key != but && guard->pending && !guard->busy)
            guard_is_over(guard);
    return sum_blocks(gpu, but);
}

void free_guards_stop(void)
{
    while (guards) {
        struct free_guard *guard = guards;

        if (!gpu_is_dead(guard->gpu)) {
            bool entered = gpu_enter(guard->gpu);

            gpu_driver()->cuEventDestroy_v2(guard->event);
            gpu_leave(entered);
        }
        guards = guard->next;
        free(guard);
    }
    gpu_free_retry();
}
