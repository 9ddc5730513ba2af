/* The reduction kernel: there = there op from, element by element. */
#include "gpu/reduce/reduce_share.h"

extern "C" __global__ void __launch_bounds__(REDUCE_KERNEL_THREADS, 2)
gpubind_reduce(const __grid_constant__ struct reduce_kernel_job job)
{
    reduce_share(&job, reinterpret_cast<void *>(job.there),
                 reinterpret_cast<void *>(job.from),
                 (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x,
                 (unsigned long long)gridDim.x * blockDim.x);
}
