#include "gpu/core/sync_memops.h"

#include <time.h>

#include "gpu/core/pointer_query.h"

/* A copy of 64 KiB, the most that a call leaves behind, takes microseconds. */
#define SETTLED_WITHIN 0.1 /* seconds */
#define SETTLED_WHILE_GUARDED 1e-3

/* Of cuMemAlloc. */
static bool enable_for_allocation(gpu_address start)
{
    unsigned on = 1;

    return gpu_driver()->cuPointerSetAttribute &&
           gpu_driver()->cuPointerSetAttribute(&on, CUDA_POINTER_SYNC_MEMOPS, start) == GPU_OK;
}

/* The current one. The call waits for all its streams, so that it may have to be made later. */
static bool enable_for_context(bool may_wait)
{
    const struct cuda_driver *cuda = gpu_driver();
    unsigned flags = 0;

    return may_wait && cuda->cuCtxSetFlags && cuda->cuCtxGetFlags &&
           cuda->cuCtxGetFlags(&flags) == GPU_OK &&
           cuda->cuCtxSetFlags(flags | CUDA_CONTEXT_SYNC_MEMOPS) == GPU_OK;
}

static void enable_for_gpu(struct gpu *gpu)
{
    bool entered;

    if (gpu->synchronous || !gpu_may_wait())
        return;
    entered = gpu_enter(gpu);
    gpu->synchronous = enable_for_context(true);
    gpu_leave(entered);
}

bool sync_memops_enable(const struct memory *memory)
{
    if (!memory->gpu || memory->synchronous)
        return false;
    if (!memory->ipc_capable || !enable_for_allocation(memory->start))
        enable_for_gpu(memory->gpu);
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

/* ---- without a struct gpu */

static bool context_is_enabled(void)
{
    unsigned flags = 0;

    return gpu_driver()->cuCtxGetFlags && gpu_driver()->cuCtxGetFlags(&flags) == GPU_OK &&
           flags & CUDA_CONTEXT_SYNC_MEMOPS;
}

/* In the context of the pointer. */
static void ensure(const void *pointer)
{
    int attributes[] = {CUDA_POINTER_IPC_CAPABLE, CUDA_POINTER_START};
    unsigned ipc_capable = 0;
    gpu_address start = 0;
    void *values[] = {&ipc_capable, &start};
    const double until = clock_now() + SETTLED_WITHIN;

    if (context_is_enabled()) /* memory of a pool, which does not tell */
        return;
    gpu_driver()->cuPointerGetAttributes(2, attributes, values, (gpu_address)(uintptr_t)pointer);
    if (!(ipc_capable & 0xff) || !enable_for_allocation(start))
        enable_for_context(gpu_legacy_work() == GPU_NO_WORK);
    while (gpu_legacy_work() == GPU_WORK && clock_now() < until)
        ;
}

void sync_memops_ensure(const void *pointer)
{
    const gpu_context context = pointer_context(pointer);
    gpu_context ours;
    int capture;

    if (!context || gpu_driver()->cuCtxPushCurrent_v2(context) != GPU_OK)
        return;
    capture = gpu_suspend_capture();
    ensure(pointer);
    gpu_resume_capture(capture);
    gpu_driver()->cuCtxPopCurrent_v2(&ours);
}
