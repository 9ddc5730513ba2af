#include "gpu/exchange/signal_copy.h"

#include "gpu/core/gpu_calls.h"
#include "gpu/core/kernels.h"
#include "gpu/exchange/signal_kernel.h"

#define MOST (64u << 10) /* for one block */

bool signal_copy_is_good(const struct gpu *gpu, uint64_t nbytes)
{
    return nbytes <= MOST && gpu && kernel_of(gpu, GPU_SIGNAL_KERNEL);
}

int signal_copy(const struct gpu *gpu, gpu_stream stream, const struct signal_copy *copy)
{
    struct signal_kernel_job job = {.to = copy->to, .from = copy->from, .nbytes = copy->nbytes};
    void *parameters[] = {&job};

    for (int i = 0; i < 2; i++) {
        job.flags[i] = (uintptr_t)copy->flags[i];
        job.values[i] = copy->values[i];
    }
    return gpu_kernel_launch(kernel_of(gpu, GPU_SIGNAL_KERNEL), 1, 1, 1, SIGNAL_KERNEL_THREADS, 1,
                             1, 0, stream, parameters, NULL);
}
