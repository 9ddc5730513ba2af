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

bool kernels_are_allowed(void)
{
    return allowed;
}

/* The driver loads lazily, with the first launch at the latest. */
static gpu_function load(gpu_module module, const struct kernel_entry *entry, gpu_stream stream)
{
    const struct cuda_driver *cuda = gpu_driver();
    void *parameters[] = {(void *)(uintptr_t)entry->no_work}; /* read by the call */
    gpu_function kernel;

    if (cuda->cuModuleGetFunction(&kernel, module, entry->name) != GPU_OK ||
        cuda->cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL) != GPU_OK)
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
            gpu->kernels[i] = load(gpu->module, &entries[i], gpu->streams[GPU_OUT]);
    gpu_leave(entered);
}

gpu_function kernels_load_one(const char *name, const void *no_work, gpu_stream stream)
{
    const struct kernel_entry entry = {name, no_work};
    gpu_module module;

    if (!image || gpu_driver()->cuModuleLoadData(&module, image) != GPU_OK)
        return NULL;
    return load(module, &entry, stream);
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
