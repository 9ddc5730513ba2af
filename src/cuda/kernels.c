#include "cuda/kernels.h"

#include "cuda/copy_kernel.h"
#include "cuda/exchange_kernel.h"
#include "cuda/gather_kernel.h"
#include "cuda/kernel_image.h"

static const char *const names[GPU_KERNELS] = {
    [GPU_COPY_KERNEL] = COPY_KERNEL_NAME,
    [GPU_EXCHANGE_KERNEL] = EXCHANGE_KERNEL_NAME,
    [GPU_LAYOUT_KERNEL] = LAYOUT_KERNEL_NAME,
    [GPU_GATHER_KERNEL] = GATHER_KERNEL_NAME,
};
static bool allowed = true;

void kernels_allow(bool allow)
{
    allowed = allow;
}

/* All at once: where the driver loads lazily, a kernel may not have to be loaded while
 * another one waits for a peer. */
static void load(struct gpu *gpu)
{
    const struct cuda_driver *cuda = gpu_driver();
    const int mode = gpu_suspend_capture();

    if (cuda->cuModuleLoadData(&gpu->module, kernel_image) == CUDA_OK)
        for (int i = 0; i < GPU_KERNELS; i++)
            if (cuda->cuModuleGetFunction(&gpu->kernels[i], gpu->module, names[i]) != CUDA_OK)
                gpu->kernels[i] = NULL;
    gpu_resume_capture(mode);
}

struct CUfunc_st *kernel_of(struct gpu *gpu, enum gpu_kernel kernel)
{
    if (!allowed || !kernel_image)
        return NULL;
    if (!gpu->kernels_tried)
        load(gpu);
    gpu->kernels_tried = true;
    return gpu->kernels[kernel];
}
