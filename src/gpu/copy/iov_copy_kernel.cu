/* The iov kernel: copies between irregular blocks, or between these and dense data. Each warp takes
 * parts of the message, so that all warps have the same work whatever the blocks are, and looks up
 * where each word of its part lies at either end. */
#include "gpu/copy/iov_copy_kernel.h"

/* Words of a thread that are under way at once. */
#define IOV_AT_ONCE 4

/* Where a part begins at an end: in that element, so many bytes from its first. */
struct iov_start {
    unsigned long long element, in;
};

static __device__ __forceinline__ struct iov_start
iov_start_of(const struct iov_kernel_end &end, unsigned long long begin)
{
    struct iov_start start = {0, begin};

    if (end.table) {
        start.element = begin / end.nbytes;
        start.in = begin - start.element * end.nbytes;
    }
    return start;
}

/* Where the words lie, which are skip[k] bytes behind the part's first. Every search of a
 * warp takes the same steps, and those of a thread's words go side by side. */
static __device__ __forceinline__ void
iov_find(const struct iov_kernel_end &end, const struct iov_start &start,
            const unsigned *skip, unsigned long long *addresses)
{
    const unsigned long long *position = reinterpret_cast<const unsigned long long *>(end.table);
    const unsigned long long *at = position + end.n + 1, *first = at + end.n;
    unsigned long long in[IOV_AT_ONCE];
    unsigned low[IOV_AT_ONCE], high[IOV_AT_ONCE];

#pragma unroll
    for (unsigned k = 0; k < IOV_AT_ONCE; k++) {
        in[k] = start.in + skip[k];
        addresses[k] = end.address + start.element * (unsigned long long)end.extent;
        if (end.table && in[k] >= end.nbytes) { /* an element is larger than a part */
            in[k] -= end.nbytes;
            addresses[k] += (unsigned long long)end.extent;
        }
    }
    if (!end.table) {
#pragma unroll
        for (unsigned k = 0; k < IOV_AT_ONCE; k++)
            addresses[k] += in[k];
        return;
    }
#pragma unroll
    for (unsigned k = 0; k < IOV_AT_ONCE; k++) {
        low[k] = (unsigned)first[in[k] / IOV_KERNEL_TILE];
        high[k] = (unsigned)first[in[k] / IOV_KERNEL_TILE + 1];
    }
    for (unsigned step = (unsigned)end.steps; step-- > 0;)
#pragma unroll
        for (unsigned k = 0; k < IOV_AT_ONCE; k++) {
            const unsigned middle = low[k] + (1u << step);

            if (middle <= high[k] && position[middle] <= in[k])
                low[k] = middle;
        }
#pragma unroll
    for (unsigned k = 0; k < IOV_AT_ONCE; k++)
        addresses[k] += at[low[k]] + (in[k] - position[low[k]]);
}

template <typename word>
static __device__ void iov_part(const struct iov_kernel_job &job, unsigned long long begin,
                                   unsigned nbytes, unsigned lane)
{
    const struct iov_start to = iov_start_of(job.to, begin);
    const struct iov_start from = iov_start_of(job.from, begin);
    const unsigned n = nbytes / (unsigned)sizeof(word);

    for (unsigned at = lane; at < n; at += 32 * IOV_AT_ONCE) {
        unsigned skip[IOV_AT_ONCE];
        unsigned long long addresses[IOV_AT_ONCE];
        word loaded[IOV_AT_ONCE];

#pragma unroll
        for (unsigned k = 0; k < IOV_AT_ONCE; k++) /* beyond the end: the first once more */
            skip[k] = (at + 32 * k < n ? at + 32 * k : at) * (unsigned)sizeof(word);
        iov_find(job.from, from, skip, addresses);
#pragma unroll
        for (unsigned k = 0; k < IOV_AT_ONCE; k++)
            loaded[k] = *reinterpret_cast<const word *>(addresses[k]);
        iov_find(job.to, to, skip, addresses);
#pragma unroll
        for (unsigned k = 0; k < IOV_AT_ONCE; k++)
            if (at + 32 * k < n)
                *reinterpret_cast<word *>(addresses[k]) = loaded[k];
    }
}

static __device__ void iov_job(const struct iov_kernel_job &job)
{
    const unsigned lane = threadIdx.x % 32;
    const unsigned long long warps = (unsigned long long)gridDim.x * (blockDim.x / 32);
    const unsigned long long parts = (job.nbytes + IOV_KERNEL_PART - 1) / IOV_KERNEL_PART;

    for (unsigned long long part = (unsigned long long)(threadIdx.x / 32) * gridDim.x + blockIdx.x;
         part < parts; part += warps) {
        const unsigned long long begin = part * IOV_KERNEL_PART, left = job.nbytes - begin;
        const unsigned nbytes = left < IOV_KERNEL_PART ? (unsigned)left : IOV_KERNEL_PART;

        if (job.word == 16)
            iov_part<int4>(job, begin, nbytes, lane);
        else if (job.word == 8)
            iov_part<int2>(job, begin, nbytes, lane);
        else if (job.word == 4)
            iov_part<int>(job, begin, nbytes, lane);
        else if (job.word == 2)
            iov_part<short>(job, begin, nbytes, lane);
        else
            iov_part<char>(job, begin, nbytes, lane);
    }
}

extern "C" __global__ void __launch_bounds__(IOV_KERNEL_THREADS, 1)
gpubind_iov(const __grid_constant__ struct iov_kernel_job job)
{
    iov_job(job);
}
