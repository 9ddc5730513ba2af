#include "gpu/core/kernels.h"

static const void *image;
static const struct kernel_entry *entries;
static bool allowed = true;

void kernels_register(const void *compiled, const struct kernel_entry named[GPU_KERNELS])
{
    image = compiled;
    entries = named;
}

void kernels_allow(bool allow)
{
    allowed = allow;
}

/* The driver loads lazily, with the first launch at the latest. */
static gpu_function load(const struct gpu *gpu, enum gpu_kernel which)
{
    const struct cuda_driver *cuda = gpu_driver();
    void *parameters[] = {(void *)(uintptr_t)entries[which].no_work}; /* read by the call */
    gpu_function kernel;

    if (cuda->cuModuleGetFunction(&kernel, gpu->module, entries[which].name) != GPU_OK ||
        cuda->cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, gpu->streams[GPU_OUT], parameters,
                             NULL) != GPU_OK)
        return NULL;
    return kernel;
}

void kernels_load(struct gpu *gpu)
{
    bool entered;

    gpu->kernels_tried = true;
    if (!allowed || !image)
        return;
    entered = gpu_enter(gpu);
    if (gpu_driver()->cuModuleLoadData(&gpu->module, image) == GPU_OK)
        for (int i = 0; i < GPU_KERNELS; i++)
            gpu->kernels[i] = load(gpu, (enum gpu_kernel)i);
    gpu_leave(entered);
}

void kernels_unload(struct gpu *gpu)
{
    if (gpu->module)
        gpu_driver()->cuModuleUnload(gpu->module);
}

gpu_function kernel_of(const struct gpu *gpu, enum gpu_kernel kernel)
{
    return allowed ? gpu->kernels[kernel] : NULL;
}
