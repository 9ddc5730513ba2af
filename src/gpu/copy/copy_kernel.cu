/* The copy kernel: many copies in one launch. Each warp takes chunks of COPY_KERNEL_CHUNK bytes, so
 * that a few blocks keep the link busy whatever the sizes. */
#include "gpu/copy/copy_kernel.h"

/* So many loads of a thread go out before its first store: over NVLink a load takes
 * longer than a microsecond. Eight need more registers than 1024 threads have. */
#define AT_ONCE 4

template <typename word, bool whole>
static __device__ __forceinline__ void copy_some(word *to, const word *from, unsigned n,
                                                 unsigned lane)
{
    word loaded[AT_ONCE];

#pragma unroll
    for (unsigned k = 0; k < AT_ONCE; k++)
        if (whole || lane + 32 * k < n)
            loaded[k] = from[lane + 32 * k];
#pragma unroll
    for (unsigned k = 0; k < AT_ONCE; k++)
        if (whole || lane + 32 * k < n)
            to[lane + 32 * k] = loaded[k];
}

template <typename word>
static __device__ __forceinline__ void copy_words(word *to, const word *from, unsigned n,
                                                  unsigned lane)
{
    unsigned at = 0;

    for (; at + 32 * AT_ONCE <= n; at += 32 * AT_ONCE)
        copy_some<word, true>(to + at, from + at, n, lane);
    if (at < n)
        copy_some<word, false>(to + at, from + at, n - at, lane);
}

template <typename word>
static __device__ void copy_as(unsigned long long to, unsigned long long from, unsigned nbytes,
                               unsigned lane)
{
    copy_words(reinterpret_cast<word *>(to), reinterpret_cast<const word *>(from),
               nbytes / (unsigned)sizeof(word), lane);
}

static __device__ void copy_chunk(unsigned long long to, unsigned long long from, unsigned nbytes,
                                  unsigned lane)
{
    const unsigned long long all = to | from | nbytes;

    if (all % 16 == 0)
        copy_as<int4>(to, from, nbytes, lane);
    else if (all % 8 == 0)
        copy_as<int2>(to, from, nbytes, lane);
    else if (all % 4 == 0)
        copy_as<int>(to, from, nbytes, lane);
    else
        copy_as<char>(to, from, nbytes, lane);
}

static __device__ void copy_job(const struct copy_kernel_job &job)
{
    const unsigned lane = threadIdx.x % 32;
    const unsigned warps = gridDim.x * (blockDim.x / 32);
    const unsigned chunks = job.chunks_before[job.n];
    unsigned at = 0;

    /* Neighbouring chunks go to different blocks. */
    for (unsigned chunk = threadIdx.x / 32 * gridDim.x + blockIdx.x; chunk < chunks;
         chunk += warps) {
        while (job.chunks_before[at + 1] <= chunk)
            at++;
        const unsigned long long skip =
            (unsigned long long)(chunk - job.chunks_before[at]) * COPY_KERNEL_CHUNK;
        const unsigned long long left = job.nbytes[at] - skip;

        copy_chunk(job.to[at] + skip, job.from[at] + skip,
                   left < COPY_KERNEL_CHUNK ? (unsigned)left : COPY_KERNEL_CHUNK, lane);
    }
}

extern "C" __global__ void __launch_bounds__(COPY_KERNEL_THREADS, 1)
gpubind_copy(const __grid_constant__ struct copy_kernel_job job)
{
    copy_job(job);
}
