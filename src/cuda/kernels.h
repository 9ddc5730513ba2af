/* The library's kernels, loaded into a context the first time that one is wanted. */
#ifndef GPUBIND_CUDA_KERNELS_H
#define GPUBIND_CUDA_KERNELS_H

#include "cuda/gpu.h"

/* false: none is to be used, and the SMs are the application's alone. */
void kernels_allow(bool allowed);
/* NULL: not in this build, not for this GPU, or not allowed. The GPU's context is current. */
struct CUfunc_st *kernel_of(struct gpu *gpu, enum gpu_kernel kernel);

#endif
