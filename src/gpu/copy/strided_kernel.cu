/* The strided copy kernel; the exchange kernel and the copy agent use its functions. */
#include "gpu/copy/strided_kernel.h"

/* Copies n words by the block; each thread issues at_once loads before its first store. */
template <typename word, unsigned at_once>
static __device__ __forceinline__ void copy_words(word *to, const word *from, unsigned long long n)
{
    const unsigned long long step = at_once * blockDim.x;
    word loaded[at_once];

    for (unsigned long long at = threadIdx.x; at < n; at += step) {
#pragma unroll
        for (unsigned k = 0; k < at_once; k++)
            if (at + k * blockDim.x < n)
                loaded[k] = from[at + k * blockDim.x];
#pragma unroll
        for (unsigned k = 0; k < at_once; k++)
            if (at + k * blockDim.x < n)
                to[at + k * blockDim.x] = loaded[k];
    }
}

/* The remainder that fills no word is copied by bytes. */
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
    word loaded[at_once];

    for (unsigned at = begin + threadIdx.x; at < end; at += at_once * blockDim.x) {
#pragma unroll
        for (unsigned k = 0; k < at_once; k++)
            if (at + k * blockDim.x < end)
                loaded[k] = *reinterpret_cast<const word *>(
                    copy.from + kernel_offset(&from, at + k * blockDim.x));
#pragma unroll
        for (unsigned k = 0; k < at_once; k++)
            if (at + k * blockDim.x < end)
                *reinterpret_cast<word *>(
                    copy.to + kernel_offset(&to, at + k * blockDim.x)) = loaded[k];
    }
}

template <unsigned at_once>
static __device__ __forceinline__ void copy_part(const struct kernel_copy &copy,
                                                 const struct kernel_levels *strided, unsigned part)
{
    unsigned long long begin;
    const unsigned long long end = kernel_part(&copy, part, &begin);

    if (copy.to_levels == KERNEL_CONTIGUOUS) {
        copy_bytes<at_once>(copy.to + begin, copy.from + begin, end - begin);
        return;
    }
    const struct kernel_levels &to = strided[copy.to_levels], &from = strided[copy.from_levels];
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
gpubind_strided_copy(const __grid_constant__ struct strided_kernel_job job)
{
    copy_part<8>(job.copy, job.strided, blockIdx.x);
}
