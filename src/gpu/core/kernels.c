#include "gpu/core/kernels.h"

#include "gpu/copy/copy_agent_kernel.h"
#include "gpu/copy/copy_kernel.h"
#include "gpu/copy/iov_copy_kernel.h"
#include "gpu/exchange/exchange_kernel.h"
#include "gpu/kernel_image.h"

static const char *const names[GPU_KERNELS] = {
    [GPU_COPY_KERNEL] = COPY_KERNEL_NAME,
    [GPU_EXCHANGE_KERNEL] = EXCHANGE_KERNEL_NAME,
    [GPU_LAYOUT_KERNEL] = LAYOUT_KERNEL_NAME,
    [GPU_GATHER_KERNEL] = GATHER_KERNEL_NAME,
    [GPU_AGENT_KERNEL] = AGENT_KERNEL_NAME,
};
static bool allowed = true;

void kernels_allow(bool allow)
{
    allowed = allow;
}

/* A job that copies nothing, for each kernel. */
static const union {
    struct copy_kernel_job copy;
    struct exchange_kernel_job exchange;
    struct layout_kernel_job layout;
    struct gather_kernel_job gather;
    struct agent_kernel_job agent;
} nothing[GPU_KERNELS] = {
    [GPU_LAYOUT_KERNEL].layout.copy = {.parts = 1, .to_shape = KERNEL_CONTIGUOUS,
                                       .from_shape = KERNEL_CONTIGUOUS},
    [GPU_GATHER_KERNEL].gather.word = 1,
};

/* The driver loads lazily, with the first launch at the latest. */
static struct CUfunc_st *load(const struct gpu *gpu, enum gpu_kernel which)
{
    const struct cuda_driver *cuda = gpu_driver();
    void *parameters[] = {(void *)(uintptr_t)&nothing[which]}; /* read by the call */
    struct CUfunc_st *kernel;

    if (cuda->cuModuleGetFunction(&kernel, gpu->module, names[which]) != CUDA_OK ||
        cuda->cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, gpu->streams[GPU_OUT], parameters,
                             NULL) != CUDA_OK)
        return NULL;
    return kernel;
}

void kernels_load(struct gpu *gpu)
{
    bool entered;

    gpu->kernels_tried = true;
    if (!allowed || !kernel_image)
        return;
    entered = gpu_enter(gpu);
    if (gpu_driver()->cuModuleLoadData(&gpu->module, kernel_image) == CUDA_OK)
        for (int i = 0; i < GPU_KERNELS; i++)
            gpu->kernels[i] = load(gpu, (enum gpu_kernel)i);
    gpu_leave(entered);
}

void kernels_unload(struct gpu *gpu)
{
    if (gpu->module)
        gpu_driver()->cuModuleUnload(gpu->module);
}

struct CUfunc_st *kernel_of(const struct gpu *gpu, enum gpu_kernel kernel)
{
    return allowed ? gpu->kernels[kernel] : NULL;
}
