/* The exchange kernel. Blocks wait for GPU sync flags that another GPU sets, so all blocks of a
 * launch must be resident, and every receive is announced before any block waits. */
#include "gpu/exchange/exchange_flag.h"
#include "gpu/exchange/exchange_kernel.h"

/* A peer's thread that reads the flag with load_acquire then sees all that this thread wrote, and
 * its block before its last barrier. */
static __device__ __forceinline__ void store_release(unsigned long long flag, unsigned value)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

/* Both halves. */
static __device__ __forceinline__ uint2 load_acquire(unsigned long long flag)
{
    uint2 value;

    asm volatile("ld.acquire.sys.global.v2.u32 {%0, %1}, [%2];"
                 : "=r"(value.x), "=r"(value.y) : "l"(flag) : "memory");
    return value;
}

/* Waits until the flag is 1, and clears it. The peer sets it again only after it has seen a later
 * release of this GPU, so the clearing store may be relaxed. false: the channel is broken. */
static __device__ __forceinline__ bool take(unsigned long long flag)
{
    uint2 value;

    do
        value = load_acquire(flag);
    while (value.x == 0 && value.y == 0);
    if (value.y != 0)
        return false;
    asm volatile("st.relaxed.sys.global.u32 [%0], 0;" ::"l"(flag) : "memory");
    return true;
}

static __device__ __forceinline__ void post_ready(const struct exchange_kernel_job &job)
{
    for (unsigned i = blockIdx.x; i < job.nreceives; i += gridDim.x)
        if (job.receives[i].ready)
            for (unsigned p = threadIdx.x; p < job.receives[i].parts; p += blockDim.x)
                store_release(job.receives[i].ready + EXCHANGE_FLAG * p, 1);
}

static __device__ __forceinline__ void wait_done(const struct exchange_kernel_job &job)
{
    for (unsigned i = blockIdx.x; i < job.nreceives; i += gridDim.x)
        for (unsigned p = threadIdx.x; p < job.receives[i].parts; p += blockDim.x)
            take(job.receives[i].done + EXCHANGE_FLAG * p);
}

/* The barriers order thread 0's flags before and after what the whole block copies. */
static __device__ __forceinline__ void send_part(const struct kernel_send &send,
                                                 const struct kernel_levels *strided, unsigned part)
{
    const bool broken =
        threadIdx.x == 0 && send.ready && !take(send.ready + EXCHANGE_FLAG * part);

    if (__syncthreads_or(broken))
        return;
    copy_part<4>(send.copy, strided, part);
    __syncthreads();
    if (threadIdx.x == 0)
        store_release(send.done + EXCHANGE_FLAG * part, 1);
}

extern "C" __global__ void __launch_bounds__(EXCHANGE_KERNEL_THREADS, 4)
gpubind_exchange(const __grid_constant__ struct exchange_kernel_job job)
{
    unsigned before = 0; /* parts of earlier sends */

    if (job.posts)
        post_ready(job);
    /* The parts of all sends are dealt to the blocks in turn. */
    for (unsigned i = 0, item = blockIdx.x; i < job.nsends; i++) {
        const unsigned behind = before + job.sends[i].copy.parts;

        for (; item < behind; item += gridDim.x)
            send_part(job.sends[i], job.strided, item - before);
        before = behind;
    }
    if (job.waits)
        wait_done(job);
}
