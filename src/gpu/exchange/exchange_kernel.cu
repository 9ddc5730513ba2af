/* Messages between GPUs and strided copies. Blocks wait for words that another GPU sets,
 * so that all blocks of a launch must be resident, and every receive is announced before
 * any block waits. */
#include "gpu/exchange/exchange_flag.h"
#include "gpu/exchange/exchange_kernel.h"

/* What a peer's thread that reads it with load_acquire has seen then: all that this
 * thread, and the block before its last barrier, wrote. */
static __device__ __forceinline__ void store_release(unsigned long long word, unsigned value)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

/* Both halves. */
static __device__ __forceinline__ uint2 load_acquire(unsigned long long word)
{
    uint2 value;

    asm volatile("ld.acquire.sys.global.v2.u32 {%0, %1}, [%2];"
                 : "=r"(value.x), "=r"(value.y) : "l"(word) : "memory");
    return value;
}

/* Waits until the word is 1, and clears it. The peer sets it again only when it has seen
 * a later release of this GPU, so that clearing needs no order of its own. false: the pair
 * is broken. */
static __device__ __forceinline__ bool take(unsigned long long word)
{
    uint2 value;

    do
        value = load_acquire(word);
    while (value.x == 0 && value.y == 0);
    if (value.y != 0)
        return false;
    asm volatile("st.relaxed.sys.global.u32 [%0], 0;" ::"l"(word) : "memory");
    return true;
}

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
copy_units(const struct kernel_copy &copy, const struct kernel_shape &to,
           const struct kernel_shape &from, unsigned begin, unsigned end)
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
                                                 const struct kernel_shape *shapes, unsigned part)
{
    unsigned long long begin;
    const unsigned long long end = kernel_part(&copy, part, &begin);

    if (copy.to_shape == KERNEL_CONTIGUOUS) {
        copy_bytes<at_once>(copy.to + begin, copy.from + begin, end - begin);
        return;
    }
    const struct kernel_shape &to = shapes[copy.to_shape], &from = shapes[copy.from_shape];
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

static __device__ __forceinline__ void post_ready(const struct exchange_kernel_job &job)
{
    for (unsigned i = blockIdx.x; i < job.nreceives; i += gridDim.x)
        if (job.receives[i].ready)
            for (unsigned p = threadIdx.x; p < job.receives[i].parts; p += blockDim.x)
                store_release(job.receives[i].ready + EXCHANGE_WORD * p, 1);
}

static __device__ __forceinline__ void wait_done(const struct exchange_kernel_job &job)
{
    for (unsigned i = blockIdx.x; i < job.nreceives; i += gridDim.x)
        for (unsigned p = threadIdx.x; p < job.receives[i].parts; p += blockDim.x)
            take(job.receives[i].done + EXCHANGE_WORD * p);
}

/* The barriers order thread 0's words before and behind what the whole block copies. */
static __device__ __forceinline__ void send_part(const struct kernel_send &send,
                                                 const struct kernel_shape *shapes, unsigned part)
{
    const bool broken =
        threadIdx.x == 0 && send.ready && !take(send.ready + EXCHANGE_WORD * part);

    if (__syncthreads_or(broken))
        return;
    copy_part<4>(send.copy, shapes, part);
    __syncthreads();
    if (threadIdx.x == 0)
        store_release(send.done + EXCHANGE_WORD * part, 1);
}

extern "C" __global__ void __launch_bounds__(EXCHANGE_KERNEL_THREADS, 4)
gpubind_exchange(const __grid_constant__ struct exchange_kernel_job job)
{
    unsigned before = 0; /* parts of earlier sends */

    if (job.posts)
        post_ready(job);
    /* The parts of all sends go round the blocks. */
    for (unsigned i = 0, item = blockIdx.x; i < job.nsends; i++) {
        const unsigned behind = before + job.sends[i].copy.parts;

        for (; item < behind; item += gridDim.x)
            send_part(job.sends[i], job.shapes, item - before);
        before = behind;
    }
    if (job.waits)
        wait_done(job);
}

extern "C" __global__ void __launch_bounds__(LAYOUT_KERNEL_THREADS, 1)
gpubind_layout_copy(const __grid_constant__ struct layout_kernel_job job)
{
    copy_part<8>(job.copy, job.shapes, blockIdx.x);
}
