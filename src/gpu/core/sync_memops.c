#include "gpu/core/sync_memops.h"

#include <time.h>

/* A copy of 64 KiB, the most that a call leaves behind, takes microseconds. */
#define SETTLED_WITHIN 0.1 /* seconds */
#define SETTLED_WHILE_GUARDED 1e-3

static bool enable_for_allocation(const struct memory *memory)
{
    unsigned on = 1;

    return memory->ipc_capable && gpu_driver()->cuPointerSetAttribute &&
           gpu_driver()->cuPointerSetAttribute(&on, CUDA_POINTER_SYNC_MEMOPS, memory->start) ==
               GPU_OK;
}

/* The call waits for all streams of the context, so that it may have to be made later. */
static void enable_for_context(struct gpu *gpu)
{
    const struct cuda_driver *cuda = gpu_driver();
    unsigned flags = 0;
    bool entered;

    if (gpu->synchronous || !cuda->cuCtxSetFlags || !cuda->cuCtxGetFlags || !gpu_may_wait())
        return;
    entered = gpu_enter(gpu);
    gpu->synchronous = cuda->cuCtxGetFlags(&flags) == GPU_OK &&
                       cuda->cuCtxSetFlags(flags | CUDA_CONTEXT_SYNC_MEMOPS) == GPU_OK;
    gpu_leave(entered);
}

bool sync_memops_enable(const struct memory *memory)
{
    if (!memory->gpu || memory->synchronous)
        return false;
    if (!enable_for_allocation(memory))
        enable_for_context(memory->gpu);
    return true;
}

static double clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void sync_memops_settle(const struct memory *memory)
{
    const double until = clock_now() + (gpu_is_guarded() ? SETTLED_WHILE_GUARDED : SETTLED_WITHIN);

    while (!gpu_is_idle(memory->gpu) && !gpu_is_capturing(memory->gpu) && clock_now() < until)
        ;
}
