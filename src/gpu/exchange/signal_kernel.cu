/* Copies messages of streams between the flags by which streams of several processes know of each other. */
#include "gpu/exchange/signal_kernel.h"

static __device__ __forceinline__ unsigned load_flag(unsigned long long flag)
{
    unsigned value;

    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}

static __device__ __forceinline__ void await_flag(unsigned long long flag, unsigned value)
{
    while ((int)(load_flag(flag) - value) < 0)
        __nanosleep(20);
}

/* One block looks at the flag, which is in host memory: reads of it by several take their time one by one. */
static __device__ __forceinline__ void await_item(const struct signal_kernel_job &job,
                                                  const struct signal_kernel_item &item, unsigned i)
{
    struct signal_kernel_shared *shared =
        reinterpret_cast<struct signal_kernel_shared *>(job.shared);

    if (blockIdx.x == item.first_part) {
        await_flag(item.wait, item.wait_value);
        if (item.parts > 1)
            store_gpu(&shared->go[i], job.turn);
    } else {
        while (load_gpu(&shared->go[i]) != job.turn)
            ;
    }
}

/* By two warps, one for each flag. What comes to the slot is seen before the other flag is. true: it has come there.
 * come: the block's own. */
static __device__ __forceinline__ bool await_slot(const struct signal_kernel_item &item,
                                                  volatile unsigned &come)
{
    enum { FLAG = 1, SLOT };

    if (threadIdx.x == 0)
        come = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (come == 0 && (int)(load_flag(item.wait) - item.wait_value) < 0)
            __nanosleep(20);
        if (come == 0)
            come = load_flag(item.slot) == item.set_value ? SLOT : FLAG;
    } else if (threadIdx.x == 32) {
        while (come == 0)
            if (load_flag(item.slot) == item.set_value)
                come = SLOT;
    }
    __syncthreads();
    return come == SLOT;
}

static __device__ __forceinline__ void copy_item(const struct signal_kernel_item &item,
                                                 unsigned long long to, unsigned long long from)
{
    const unsigned lane = threadIdx.x % 32, part = blockIdx.x - item.first_part;
    const unsigned warps = item.parts * (blockDim.x / 32);

    for (unsigned long long at =
             (unsigned long long)(threadIdx.x / 32 * item.parts + part) * COPY_KERNEL_CHUNK;
         at < item.nbytes; at += (unsigned long long)warps * COPY_KERNEL_CHUNK) {
        const unsigned long long left = item.nbytes - at;

        copy_chunk(to + at, from + at,
                   left < COPY_KERNEL_CHUNK ? (unsigned)left : COPY_KERNEL_CHUNK, lane);
    }
}

/* true: this was the last of them. The counter is 0 again then. */
static __device__ __forceinline__ bool count_part(unsigned *counter, unsigned parts)
{
    bool last;

    if (parts == 1)
        return true;
    __threadfence();
    last = atomicInc(counter, parts - 1) == parts - 1;
    __threadfence();
    return last;
}

/* A part of it. */
static __device__ __forceinline__ void do_item(const struct signal_kernel_job &job, unsigned i,
                                               volatile unsigned &come)
{
    struct signal_kernel_shared *shared =
        reinterpret_cast<struct signal_kernel_shared *>(job.shared);
    const struct signal_kernel_item &item = job.items[i];

    unsigned long long from = item.from;

    if (item.slot && !item.wait) {
        copy_item(item, item.slot + SIGNAL_KERNEL_SLOT_DATA, from);
        __syncthreads();
        if (threadIdx.x == 0)
            store_release(item.slot, item.set_value);
    } else if (item.slot && blockIdx.x == item.first_part) {
        if (await_slot(item, come))
            from = item.slot + SIGNAL_KERNEL_SLOT_DATA;
        if (threadIdx.x == 0 && item.parts > 1)
            store_gpu(&shared->go[i], job.turn);
    } else if (threadIdx.x == 0 && item.wait) {
        await_item(job, item, i);
    }
    __syncthreads(); /* orders what the block copies behind the flag, */
    copy_item(item, item.to, from);
    __syncthreads(); /* and the flags that thread 0 writes behind that */
    if (threadIdx.x == 0 && count_part(&shared->copied[i], item.parts) && item.set)
        store_release(item.set, item.set_value);
}

static __device__ __forceinline__ void await_either(const struct signal_kernel_item &item)
{
    while ((int)(load_flag(item.wait) - item.wait_value) < 0 &&
           !(item.slot && load_flag(item.slot) == item.set_value))
        __nanosleep(20);
}

static __device__ __forceinline__ void await_others(const struct signal_kernel_job &job)
{
    for (unsigned i = job.first_wait + threadIdx.x; i < job.n; i += blockDim.x)
        await_either(job.items[i]);
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(SIGNAL_KERNEL_THREADS, 1)
gpubind_signal(const __grid_constant__ struct signal_kernel_job job)
{
    struct signal_kernel_shared *shared =
        reinterpret_cast<struct signal_kernel_shared *>(job.shared);
    volatile __shared__ unsigned come; /* not in a static function: nvcc names that after its folder */
    unsigned i = 0;

    if (blockIdx.x == 0 && threadIdx.x == 0 && job.begin)
        store_release(job.begin, job.begin_value);
    if (job.n == 0) /* launched to be loaded */
        return;
    while (i + 1 < job.n && job.items[i + 1].first_part <= blockIdx.x)
        i++;
    if (i >= job.first_wait)
        await_others(job);
    else
        do_item(job, i, come);
    if (threadIdx.x != 0)
        return;
    if (blockIdx.x < job.sent_parts && count_part(&shared->sent, job.sent_parts))
        store_release(job.sent, job.sent_value);
    if (count_part(&shared->done, job.parts) && job.end)
        store_release(job.end, job.end_value);
}
