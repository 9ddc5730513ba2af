#include "gpu/core/deferred_free.h"

#include <stdlib.h>
#include <time.h>

#include "gpu/core/events.h"
#include "gpu/core/vmm.h"

#define MOMENT_MS 500

struct free_guard {
    struct free_guard *next;
    struct gpu *gpu;
    gpu_stream stream; /* the latest; it may be no more */
    gpu_event event;
    bool busy;     /* between free_guard_begin and free_guard_end */
    bool recorded; /* well, the last time */
    bool pending;  /* the event was not seen yet */
};

static int held; /* streams, or how often */
static bool ending;
static struct free_guard *holds;

static struct later {
    struct later *next;
    struct gpu *gpu;
    gpu_address memory;
} * laters;

static bool is_over(struct free_guard *hold)
{
    bool entered;

    hold->pending = false;
    if (gpu_is_dead(hold->gpu))
        return true;
    entered = gpu_enter(hold->gpu);
    hold->pending = gpu_driver()->cuEventQuery(hold->event) == GPU_NOT_READY;
    gpu_leave(entered);
    return !hold->pending;
}

bool gpu_is_guarded(void)
{
    if (held > 0)
        return true;
    for (struct free_guard *hold = holds; hold; hold = hold->next)
        if (hold->pending && !is_over(hold))
            return true;
    return false;
}

bool gpu_may_wait(void)
{
    return !gpu_is_guarded() && (ending || gpus_are_idle()) && gpu_agents_quiesce(ending);
}

void gpu_wait_from_now_on(void)
{
    ending = true;
}

void gpu_guard(int more)
{
    held += more;
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

    if (gpu_is_dead(gpu))
        return;
    entered = gpu_enter(gpu);
    if (!vmm_close(memory))
        gpu_driver()->cuMemFree_v2(memory);
    gpu_leave(entered);
}

/* GPU_PACK's later work comes after the work that is in the legacy stream now. */
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

/* false: it is to be freed otherwise. */
static bool free_in_stream(struct gpu *gpu, gpu_address memory)
{
    const struct cuda_driver *cuda = gpu_driver();
    bool entered;
    int status;

    if (!cuda->cuMemFreeAsync || vmm_gpu(memory) || gpu_is_capturing(gpu))
        return false;
    entered = gpu_enter(gpu);
    status = follow_legacy(gpu);
    if (status == GPU_OK)
        status = cuda->cuMemFreeAsync(memory, gpu->streams[GPU_PACK]);
    gpu_leave(entered);
    return status == GPU_OK;
}

void gpu_free_deferred(struct gpu *gpu, gpu_address memory)
{
    struct later *later;

    if (gpu_is_dead(gpu)) /* and the memory is no more */
        return;
    /* Held by us, a thread of the application may sit in a call of the driver that keeps
     * ours from being made. */
    if (!gpu_is_guarded() && free_in_stream(gpu, memory))
        return;
    later = malloc(sizeof *later);
    if (!later) /* it is lost */
        return;
    *later = (struct later){laters, gpu, memory};
    laters = later;
    gpu_free_retry();
}

void gpu_free_retry(void)
{
    while (laters && !gpu_is_guarded()) {
        struct later *later = laters;

        if (!gpu_is_dead(later->gpu) && !free_in_stream(later->gpu, later->memory)) {
            if (!gpu_may_wait())
                return;
            gpu_free_now(later->gpu, later->memory);
        }
        laters = later->next;
        free(later);
    }
}

bool gpu_frees_are_done(void)
{
    bool done = true;

    gpu_free_retry();
    for (const struct gpu *gpu = gpu_any(); gpu && done; gpu = gpu->next) {
        bool entered = gpu_enter(gpu);

        done = gpu_driver()->cuStreamQuery(gpu->streams[GPU_PACK]) != GPU_NOT_READY;
        gpu_leave(entered);
    }
    return done && !laters;
}

void gpu_await_frees(void)
{
    for (int i = 0; i < MOMENT_MS && !gpu_frees_are_done(); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* ---- streams */

static struct free_guard *make(struct gpu *gpu)
{
    struct free_guard *hold = calloc(1, sizeof *hold);
    bool entered = gpu_enter(gpu);
    int status = hold ? gpu_driver()->cuEventCreate(&hold->event, GPU_EVENT_NO_TIMING)
                      : GPU_OUT_OF_MEMORY;

    gpu_leave(entered);
    if (status != GPU_OK) {
        free(hold);
        return NULL;
    }
    hold->gpu = gpu;
    hold->next = holds;
    holds = hold;
    return hold;
}

/* The stream's own, whose event then says more; else one whose event has come. */
static struct free_guard *find(const struct gpu *gpu, gpu_stream stream)
{
    struct free_guard *other = NULL;

    for (struct free_guard *hold = holds; hold; hold = hold->next) {
        if (hold->gpu != gpu || hold->busy)
            continue;
        if (hold->stream == stream)
            return hold;
        if (!hold->pending)
            other = hold;
    }
    return other;
}

struct free_guard *free_guard_begin(struct gpu *gpu, gpu_stream stream)
{
    struct free_guard *hold = find(gpu, stream);

    if (!hold)
        hold = make(gpu);
    if (!hold)
        return NULL;
    hold->stream = stream;
    hold->busy = true;
    gpu_guard(1);
    return hold;
}

void free_guard_record(struct free_guard *hold)
{
    bool entered = gpu_enter(hold->gpu);

    hold->recorded = gpu_driver()->cuEventRecord(hold->event, hold->stream) == GPU_OK;
    gpu_leave(entered);
}

void free_guard_end(struct free_guard *hold)
{
    hold->busy = false;
    hold->pending |= hold->recorded;
    gpu_guard(-1);
}

void free_guards_stop(void)
{
    while (holds) {
        struct free_guard *hold = holds;

        if (!gpu_is_dead(hold->gpu)) {
            bool entered = gpu_enter(hold->gpu);

            gpu_driver()->cuEventDestroy_v2(hold->event);
            gpu_leave(entered);
        }
        holds = hold->next;
        free(hold);
    }
    gpu_free_retry();
}
