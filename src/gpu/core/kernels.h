/* The library's kernels: one image, which the folder above registers, loaded into each context. */
#ifndef GPUBIND_GPU_CORE_KERNELS_H
#define GPUBIND_GPU_CORE_KERNELS_H

#include "gpu/core/gpu_context.h"

struct kernel_entry {
    const char *name;
    const void *no_work; /* arguments of a launch that does nothing */
};

/* The compiled kernels, and what each of them is called; kept. Before a GPU is first seen. image
 * NULL: a build without kernels. */
void kernels_register(const void *image, const struct kernel_entry entries[GPU_KERNELS]);
/* false: no kernel is used, which leaves all SMs to the application. */
void kernels_allow(bool allowed);
bool kernels_are_allowed(void);
/* Loads all of them into the GPU's context, which waits for all its streams, as does the first
 * launch of each kernel. */
void kernels_load(struct gpu *gpu);
/* The image for one kernel in the current context, which needs no struct gpu; for good. It waits as kernels_load
 * does. NULL: there is none for this GPU. */
gpu_function kernels_load_one(const char *name, const void *no_work, gpu_stream stream);
/* The context is current. */
void kernels_unload(struct gpu *gpu);
/* NULL: not in this build, not for this GPU, not allowed, or not loaded yet. Of any thread,
 * without the lock. */
gpu_function kernel_of(const struct gpu *gpu, enum gpu_kernel kernel);

#endif
