/* The exchange kernel. Blocks wait for GPU sync flags that another GPU sets, so all blocks of a
 * launch must be resident, and every receive is announced before any block waits. A send whose receiver is
 * late keeps no other send waiting, however few blocks there are. */
#include <stddef.h>

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

enum flag_state { NOT_SET, TAKEN, BROKEN };

/* Clears the flag if it is 1. The peer sets it again only after it has seen a later release of this
 * GPU, so the clearing store may be relaxed. */
static __device__ __forceinline__ enum flag_state try_take(unsigned long long flag)
{
    const uint2 value = load_acquire(flag);

    if (value.y != 0)
        return BROKEN;
    if (value.x == 0)
        return NOT_SET;
    asm volatile("st.relaxed.sys.global.u32 [%0], 0;" ::"l"(flag) : "memory");
    return TAKEN;
}

/* Waits for it. false: the channel is broken. */
static __device__ __forceinline__ bool take(unsigned long long flag)
{
    enum flag_state state;

    do
        state = try_take(flag);
    while (state == NOT_SET);
    return state == TAKEN;
}

/* A deferred job, as the functions below see one. */
struct deferred_view {
    unsigned nsends, nreceives;
    const struct kernel_send *sends;
    const struct kernel_receive *receives;
    const struct kernel_levels *strided;
    const struct kernel_copy *takes;
};

static __device__ __forceinline__ bool is_buffered(const struct exchange_kernel_job &, unsigned)
{
    return false;
}

/* A channel is broken: the host has been told. */
static __device__ __forceinline__ void end_broken(const struct exchange_kernel_job &)
{
}

/* Nobody on the host looks after a graph's launches. */
static __device__ __forceinline__ void end_broken(const struct deferred_view &)
{
    __trap();
}

static __device__ __forceinline__ bool is_buffered(const struct deferred_view &job, unsigned i)
{
    return job.takes[i].parts > 0;
}

static __device__ __forceinline__ void take_out(const struct exchange_kernel_job &, unsigned)
{
}

/* The barriers order thread 0's flags before and after what the whole block copies. */
static __device__ __forceinline__ void take_out(const struct deferred_view &job, unsigned i)
{
    if (threadIdx.x == 0 && !take(job.receives[i].done))
        end_broken(job);
    __syncthreads();
    copy_part<4>(job.takes[i], job.strided, 0);
    __syncthreads();
    if (threadIdx.x == 0)
        store_release(job.receives[i].ready, 1);
}

template <class Job> static __device__ __forceinline__ void post_ready(const Job &job)
{
    for (unsigned i = blockIdx.x; i < job.nreceives; i += gridDim.x)
        if (job.receives[i].ready && !is_buffered(job, i))
            for (unsigned p = threadIdx.x; p < job.receives[i].parts; p += blockDim.x)
                store_release(job.receives[i].ready + EXCHANGE_FLAG * p, 1);
}

template <class Job> static __device__ __forceinline__ void wait_done(const Job &job)
{
    for (unsigned i = blockIdx.x; i < job.nreceives; i += gridDim.x)
        if (is_buffered(job, i))
            take_out(job, i);
        else
            for (unsigned p = threadIdx.x; p < job.receives[i].parts; p += blockDim.x)
                if (!take(job.receives[i].done + EXCHANGE_FLAG * p))
                    end_broken(job);
}

/* The receiver is ready for the part, or (waits) will be. */
static __device__ __forceinline__ enum flag_state take_ready(const struct kernel_send &send,
                                                             unsigned part, bool waits)
{
    const unsigned long long flag = send.ready + EXCHANGE_FLAG * part;

    if (!send.ready)
        return TAKEN;
    if (!waits)
        return try_take(flag);
    return take(flag) ? TAKEN : BROKEN;
}

/* false: the receiver is not ready. The barriers order thread 0's flags before and after what the whole block
 * copies. */
template <class Job>
static __device__ __forceinline__ bool send_part(const Job &job, const struct kernel_send &send,
                                                 unsigned part, bool waits)
{
    const enum flag_state state = threadIdx.x == 0 ? take_ready(send, part, waits) : NOT_SET;

    if (state == BROKEN)
        end_broken(job);
    if (!waits && !__syncthreads_or(state != NOT_SET))
        return false;
    if (__syncthreads_or(state == BROKEN))
        return true;
    copy_part<4>(send.copy, job.strided, part);
    __syncthreads();
    if (threadIdx.x == 0)
        store_release(send.done + EXCHANGE_FLAG * part, 1);
    return true;
}

template <class Job> static __device__ __forceinline__ unsigned count_parts(const Job &job)
{
    unsigned parts = 0;

    for (unsigned i = 0; i < job.nsends; i++)
        parts += job.sends[i].copy.parts;
    return parts;
}

/* Sends those of the block's parts that can be, but for those that are sent (bits; NULL: there is only one part): how
 * many. Waits for the last. */
template <class Job>
static __device__ __forceinline__ unsigned send_some(const Job &job, unsigned *sent, unsigned left)
{
    unsigned before = 0, own = 0, n = 0; /* before: parts of earlier sends */

    /* The parts of all sends are dealt to the blocks in turn. */
    for (unsigned i = 0, item = blockIdx.x; i < job.nsends; i++) {
        const unsigned behind = before + job.sends[i].copy.parts;

        for (; item < behind; item += gridDim.x, own++) {
            if (sent && sent[own / 32] >> own % 32 & 1)
                continue;
            if (!send_part(job, job.sends[i], item - before, left - n == 1))
                continue;
            n++;
            if (sent && threadIdx.x == 0)
                sent[own / 32] |= 1u << own % 32;
        }
        before = behind;
    }
    if (sent)
        __syncthreads(); /* before the bits are read again */
    return n;
}

template <class Job> static __device__ __forceinline__ void send_all(const Job &job)
{
    __shared__ unsigned sent[EXCHANGE_KERNEL_PARTS / 32 + 1];
    const unsigned parts = count_parts(job);
    const unsigned own = parts > blockIdx.x ? (parts - blockIdx.x - 1) / gridDim.x + 1 : 0;

    for (unsigned i = threadIdx.x; i < own / 32 + 1; i += blockDim.x)
        sent[i] = 0;
    if (own > 1)
        __syncthreads();
    for (unsigned left = own; left > 0;)
        left -= send_some(job, own > 1 ? sent : NULL, left);
}

extern "C" __global__ void __launch_bounds__(EXCHANGE_KERNEL_THREADS, 2)
gpubind_exchange(const __grid_constant__ struct exchange_kernel_job job)
{
    if (job.posts)
        post_ready(job);
    send_all(job);
    if (job.waits)
        wait_done(job);
}

static __device__ __forceinline__ unsigned await_gate(const unsigned *gate)
{
    unsigned value;

    do
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(gate) : "memory");
    while (value == 0);
    return value;
}

/* NULL: launched to be loaded. */
extern "C" __global__ void __launch_bounds__(EXCHANGE_KERNEL_THREADS, 1)
gpubind_exchange_deferred(const struct deferred_kernel_job *told)
{
    struct deferred_view job;
    unsigned gate = 0;

    if (!told)
        return;
    if (threadIdx.x == 0)
        gate = await_gate(&told->gate);
    if (gate == EXCHANGE_GATE_BROKEN)
        __trap();
    if (!__syncthreads_or(gate == EXCHANGE_GATE_OPEN))
        return;
    job.nsends = told->nsends;
    job.nreceives = told->nreceives;
    job.sends = reinterpret_cast<const struct kernel_send *>(told->sends);
    job.receives = reinterpret_cast<const struct kernel_receive *>(told->receives);
    job.strided = reinterpret_cast<const struct kernel_levels *>(told->strided);
    job.takes = reinterpret_cast<const struct kernel_copy *>(told->takes);
    post_ready(job);
    send_all(job);
    wait_done(job);
}
