/* Strided copies; the kernels of exchanges and of the copy agent copy by it, too. */
#include "gpu/copy/strided_kernel.h"

/* n words by the block; at_once loads of a thread are out before its first store. */
template <typename word, unsigned at_once>
static __device__ __forceinline__ void copy_words(word *to, const word *from, unsigned long long n)
{
    const unsigned long long step = at_once * blockDim.x;
    word held[at_once];

    for (unsigned long long at = threadIdx.x; at < n; at += step) {
#pragma unroll
        for (unsigned k = 0; k < at_once; k++)
            if (at + k * blockDim.x < n)
                held[k] = from[at + k * blockDim.x];
#pragma unroll
        for (unsigned k = 0; k < at_once; k++)
            if (at + k * blockDim.x < n)
                to[at + k * blockDim.x] = held[k];
    }
}

/* The last bytes, which no word holds, as bytes. */
template <typename word, unsigned at_once>
static __device__ void copy_as(unsigned long long to, unsigned long long from,
                               unsigned long long nbytes)
{
    const unsigned long long whole = nbytes / sizeof(word);
    const unsigned long long at = whole * sizeof(word) + threadIdx.x;

    copy_words<word, at_once>(reinterpret_cast<word *>(to), reinterpret_cast<const word *>(from),
                              whole);
    if (at < nbytes)
        *reinterpret_cast<char *>(to + at) = *reinterpret_cast<const char *>(from + at);
}

template <unsigned at_once>
static __device__ __forceinline__ void copy_bytes(unsigned long long to, unsigned long long from,
                                                  unsigned long long nbytes)
{
    const unsigned long long all = to | from;

    if (all % 16 == 0)
        copy_as<int4, at_once>(to, from, nbytes);
    else if (all % 8 == 0)
        copy_as<int2, at_once>(to, from, nbytes);
    else if (all % 4 == 0)
        copy_as<int, at_once>(to, from, nbytes);
    else
        copy_as<char, at_once>(to, from, nbytes);
}

/* Units from begin to end. */
template <typename word, unsigned at_once>
static __device__ __forceinline__ void
copy_units(const struct kernel_copy &copy, const struct kernel_levels &to,
           const struct kernel_levels &from, unsigned begin, unsigned end)
{
    word held[at_once];

    for (unsigned at = begin + threadIdx.x; at < end; at += at_once * blockDim.x) {
#pragma unroll
        for (unsigned k = 0; k < at_once; k++)
            if (at + k * blockDim.x < end)
                held[k] = *reinterpret_cast<const word *>(
                    copy.from + kernel_offset(&from, at + k * blockDim.x));
#pragma unroll
        for (unsigned k = 0; k < at_once; k++)
            if (at + k * blockDim.x < end)
                *reinterpret_cast<word *>(
                    copy.to + kernel_offset(&to, at + k * blockDim.x)) = held[k];
    }
}

template <unsigned at_once>
static __device__ __forceinline__ void copy_part(const struct kernel_copy &copy,
                                                 const struct kernel_levels *shapes, unsigned part)
{
    unsigned long long begin;
    const unsigned long long end = kernel_part(&copy, part, &begin);

    if (copy.to_levels == KERNEL_CONTIGUOUS) {
        copy_bytes<at_once>(copy.to + begin, copy.from + begin, end - begin);
        return;
    }
    const struct kernel_levels &to = shapes[copy.to_levels], &from = shapes[copy.from_levels];
    const unsigned first = (unsigned)(begin / copy.unit), last = (unsigned)(end / copy.unit);
    switch (copy.unit) {
    case 16:
        copy_units<int4, 4>(copy, to, from, first, last);
        break;
    case 8:
        copy_units<int2, at_once>(copy, to, from, first, last);
        break;
    case 4:
        copy_units<int, at_once>(copy, to, from, first, last);
        break;
    default:
        copy_units<char, at_once>(copy, to, from, first, last);
    }
}

extern "C" __global__ void __launch_bounds__(STRIDED_KERNEL_THREADS, 1)
gpubind_layout_copy(const __grid_constant__ struct strided_kernel_job job)
{
    copy_part<8>(job.copy, job.shapes, blockIdx.x);
}
