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
    unsigned nsends, nreceives, several, traps;
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
static __device__ __forceinline__ void end_broken(const struct deferred_view &job)
{
    if (job.traps)
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

/* Its receiver is ready. The barriers order thread 0's flags before and after what the whole block copies. */
template <class Job>
static __device__ __forceinline__ void copy_and_tell(const Job &job, const struct kernel_send &send,
                                                     unsigned part)
{
    copy_part<4>(send.copy, job.strided, part);
    __syncthreads();
    if (threadIdx.x == 0)
        store_release(send.done + EXCHANGE_FLAG * part, 1);
}

template <class Job>
static __device__ __forceinline__ void send_part(const Job &job, const struct kernel_send &send,
                                                 unsigned part)
{
    const bool broken =
        threadIdx.x == 0 && send.ready && !take(send.ready + EXCHANGE_FLAG * part);

    if (broken)
        end_broken(job);
    if (!__syncthreads_or(broken))
        copy_and_tell(job, send, part);
}

/* false: the receiver is not ready. */
template <class Job>
static __device__ __forceinline__ bool try_part(const Job &job, const struct kernel_send &send,
                                                unsigned part)
{
    enum flag_state state = TAKEN;

    if (threadIdx.x == 0 && send.ready)
        state = try_take(send.ready + EXCHANGE_FLAG * part);
    if (state == BROKEN)
        end_broken(job);
    if (__syncthreads_or(state == NOT_SET))
        return false;
    if (!__syncthreads_or(state == BROKEN))
        copy_and_tell(job, send, part);
    return true;
}

/* The parts of all sends are dealt to the blocks in turn: calls take(send, part, which of the block's own). */
template <class Job, class Take>
static __device__ __forceinline__ void deal_parts(const Job &job, Take take)
{
    unsigned before = 0, own = 0; /* before: parts of earlier sends */

    for (unsigned i = 0, item = blockIdx.x; i < job.nsends; i++) {
        const unsigned behind = before + job.sends[i].copy.parts;

        for (; item < behind; item += gridDim.x)
            take(job.sends[i], item - before, own++);
        before = behind;
    }
}

/* Sends those of the block's parts that can be sent, until all are (a bit each). Not inlined, since most blocks have one
 * part, and the code's size is part of their time; not static, since nvcc names such a function after its folder. */
template <class Job>
__device__ __noinline__ void send_in_any_order(const Job &job, unsigned *sent)
{
    unsigned left;

    for (unsigned i = threadIdx.x; i < EXCHANGE_KERNEL_PARTS / 32; i += blockDim.x)
        sent[i] = 0;
    do {
        __syncthreads();
        left = 0;
        deal_parts(job, [&](const struct kernel_send &send, unsigned part, unsigned own) {
            if (sent[own / 32] >> own % 32 & 1)
                return;
            if (!try_part(job, send, part))
                left++;
            else if (threadIdx.x == 0)
                sent[own / 32] |= 1u << own % 32;
        });
    } while (left > 0);
}

template <class Job>
static __device__ __forceinline__ void send_all(const Job &job, unsigned *sent)
{
    if (job.several)
        send_in_any_order(job, sent);
    else
        deal_parts(job, [&](const struct kernel_send &send, unsigned part, unsigned) {
            send_part(job, send, part);
        });
}

extern "C" __global__ void __launch_bounds__(EXCHANGE_KERNEL_THREADS, 2)
gpubind_exchange(const __grid_constant__ struct exchange_kernel_job job)
{
    __shared__ unsigned sent[EXCHANGE_KERNEL_PARTS / 32]; /* here, as in gpubind_signal */

    if (job.posts)
        post_ready(job);
    send_all(job, sent);
    if (job.waits)
        wait_done(job);
}

static __device__ __forceinline__ unsigned load_gate(const struct deferred_kernel_job *job)
{
    unsigned value;

    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(&job->gate) : "memory");
    return value;
}

/* All but the gate, by one block. Not inlined, and not static, as send_in_any_order. */
__device__ __noinline__ void take_posted(struct deferred_kernel_job *job,
                                         const struct deferred_kernel_job *posted)
{
    const unsigned *from = reinterpret_cast<const unsigned *>(posted);
    unsigned *to = reinterpret_cast<unsigned *>(job);

    for (unsigned i = 1 + threadIdx.x; i < posted->nbytes / sizeof *to; i += blockDim.x)
        asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(to[i]) : "l"(from + i) : "memory");
    __syncthreads();
    for (unsigned i = threadIdx.x; i < job->npresets; i += blockDim.x)
        store_release(reinterpret_cast<const unsigned long long *>(job->presets)[i], 1);
    __syncthreads();
}

/* For thread 0: what the gate is then. */
static __device__ __forceinline__ unsigned await_gate(const struct deferred_kernel_job *job)
{
    unsigned gate;

    do
        gate = load_gate(job);
    while (gate == 0);
    return gate;
}

/* The same in the one block that looks at the posted job, too, and takes it. The host may break the gate meanwhile. */
static __device__ __forceinline__ unsigned await_posted(struct deferred_kernel_job *job,
                                                        const struct deferred_kernel_job *posted)
{
    unsigned gate = 0, there = 0;

    if (threadIdx.x == 0)
        do {
            gate = load_gate(job);
            there = gate == 0 ? load_gate(posted) : 0;
        } while (gate == 0 && there == 0);
    if (__syncthreads_or(there == EXCHANGE_GATE_OPEN))
        take_posted(job, posted);
    if (there == 0)
        return gate;
    __threadfence();
    gate = atomicCAS(&job->gate, 0, there);
    return gate == 0 ? there : gate;
}

extern "C" __global__ void __launch_bounds__(EXCHANGE_KERNEL_THREADS, 1)
gpubind_exchange_deferred(const __grid_constant__ struct deferred_kernel_launch launch)
{
    __shared__ unsigned sent[EXCHANGE_KERNEL_PARTS / 32];
    struct deferred_kernel_job *told = reinterpret_cast<struct deferred_kernel_job *>(launch.job);
    struct deferred_view job;
    unsigned gate = 0;

    if (!told)
        return;
    if (blockIdx.x == 0 && launch.posted)
        gate = await_posted(told,
                            reinterpret_cast<const struct deferred_kernel_job *>(launch.posted));
    else if (threadIdx.x == 0)
        gate = await_gate(told);
    if (gate == EXCHANGE_GATE_BROKEN)
        __trap();
    if (!__syncthreads_or(gate == EXCHANGE_GATE_OPEN))
        return;
    job.nsends = told->nsends;
    job.nreceives = told->nreceives;
    job.several = told->several;
    job.traps = told->traps;
    job.sends = reinterpret_cast<const struct kernel_send *>(told->sends);
    job.receives = reinterpret_cast<const struct kernel_receive *>(told->receives);
    job.strided = reinterpret_cast<const struct kernel_levels *>(told->strided);
    job.takes = reinterpret_cast<const struct kernel_copy *>(told->takes);
    post_ready(job);
    send_all(job, sent);
    wait_done(job);
}
