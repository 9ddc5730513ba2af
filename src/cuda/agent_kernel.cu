/* The copy agent: executes commands that the host posts in page-locked memory. All blocks
 * take part in each command, one command after the other. */
#include <stddef.h>

#include "cuda/agent_kernel.h"

static __device__ __forceinline__ unsigned load_word(const unsigned *at)
{
    unsigned value;

    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

static __device__ __forceinline__ void store_word(unsigned *at, unsigned value)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

/* true: command n is posted. false: the instance exits before it. The host ends an instance
 * before it posts more, and the end is read last: no block takes a command that is the next
 * instance's. */
static __device__ bool wait_command(const struct agent_ring *ring, unsigned instance, unsigned n)
{
    const unsigned long long *ended = &ring->ended[instance % AGENT_INSTANCES];
    const unsigned long long end = (unsigned long long)(instance + 1) << 32 | n;
    unsigned long long value;
    bool posted;

    do {
        posted = load_word(&ring->posted) != n;
        asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(ended) : "memory");
    } while (!posted && value != end);
    return value != end;
}

/* Earlier commands are done, by all blocks. */
static __device__ __forceinline__ void wait_blocks(const struct agent_state *state, unsigned n)
{
    unsigned finished;

    do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(finished) : "l"(&state->finished) : "memory");
    while ((int)(finished - n * gridDim.x) < 0);
}

static __device__ void load_command(struct agent_command *to, const struct agent_command *from)
{
    const volatile unsigned *words = reinterpret_cast<const volatile unsigned *>(from);
    const unsigned n = (words[1] + offsetof(struct agent_command, job)) / 4;

    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        reinterpret_cast<unsigned *>(to)[i] = words[i];
}

static __device__ void execute(const struct agent_command &command)
{
    switch (command.kind) {
    case AGENT_COPY:
        copy_job(command.job.copy);
        break;
    case AGENT_LAYOUT:
        for (unsigned part = blockIdx.x; part < command.job.layout.copy.parts; part += gridDim.x)
            copy_part<8>(command.job.layout.copy, command.job.layout.shapes, part);
        break;
    default:
        gather_job(command.job.gather);
    }
}

/* This block's share of command n is done; the last block says so to the host. The barrier and
 * the fences of one thread order what all threads of all blocks have written before that: a
 * fence of each warp takes a microsecond, one after the other. */
static __device__ void finish(struct agent_ring *ring, struct agent_state *state, unsigned n)
{
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    __threadfence();
    if (atomicAdd(&state->finished, 1) + 1 == (n + 1) * gridDim.x) {
        __threadfence();
        store_word(&ring->done, n + 1);
    }
}

/* The last block of the instance leaves word for the next one. */
static __device__ void leave(struct agent_ring *ring, struct agent_state *state, unsigned instance,
                             unsigned n)
{
    if (threadIdx.x != 0)
        return;
    __threadfence();
    if (atomicAdd(&state->leaving, 1) + 1 < gridDim.x)
        return;
    state->leaving = 0;
    state->next = n;
    store_word(&ring->exited, instance + 1);
}

extern "C" __global__ void __launch_bounds__(AGENT_KERNEL_THREADS, 1)
gpubind_agent(const __grid_constant__ struct agent_kernel_job job)
{
    struct agent_ring *ring = reinterpret_cast<struct agent_ring *>(job.ring);
    struct agent_state *state = reinterpret_cast<struct agent_state *>(job.state);
    __shared__ struct agent_command command;
    __shared__ bool more;
    unsigned n;

    if (!ring) /* launched to be loaded */
        return;
    n = *static_cast<volatile unsigned *>(&state->next);
    for (;; n++) {
        if (threadIdx.x == 0) {
            more = wait_command(ring, job.instance, n);
            if (more)
                wait_blocks(state, n);
        }
        __syncthreads();
        if (!more)
            break;
        load_command(&command, &ring->commands[n % AGENT_COMMANDS]);
        __syncthreads();
        execute(command);
        finish(ring, state, n);
    }
    leave(ring, state, job.instance, n);
}
