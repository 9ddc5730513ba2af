/* Copies a small message, and then writes flags that streams of other processes wait for, in their order. */
#include "gpu/exchange/signal_kernel.h"

extern "C" __global__ void __launch_bounds__(SIGNAL_KERNEL_THREADS, 1)
gpubind_signal(const __grid_constant__ struct signal_kernel_job job)
{
    const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;

    for (unsigned long long at = threadIdx.x / 32 * COPY_KERNEL_CHUNK; at < job.nbytes;
         at += (unsigned long long)warps * COPY_KERNEL_CHUNK) {
        const unsigned long long left = job.nbytes - at;

        copy_chunk(job.to + at, job.from + at,
                   left < COPY_KERNEL_CHUNK ? (unsigned)left : COPY_KERNEL_CHUNK, lane);
    }
    __syncthreads(); /* orders thread 0's flags behind what the whole block copies */
    if (threadIdx.x == 0)
        for (unsigned i = 0; i < SIGNAL_KERNEL_FLAGS; i++)
            if (job.flags[i])
                store_release(job.flags[i], job.values[i]);
}
