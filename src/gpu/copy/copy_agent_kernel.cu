/* The copy agent: executes commands that the host posts in page-locked memory, one after the
 * other. Block 0 takes them from there and passes them on to the other blocks. */
#include <stddef.h>

#include "gpu/copy/copy_agent_kernel.h"

static __device__ __forceinline__ unsigned long long load_host(const unsigned long long *at)
{
    unsigned long long value;

    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

static __device__ __forceinline__ void store_host(unsigned *at, unsigned value)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

static __device__ __forceinline__ unsigned load_gpu(const unsigned *at)
{
    unsigned value;

    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

static __device__ __forceinline__ void store_gpu(unsigned *at, unsigned value)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

/* n words of 16 bytes, by the first warp. */
static __device__ void copy_command(struct agent_command *to, const struct agent_command *from,
                                    unsigned begin, unsigned end)
{
    const int4 *there = reinterpret_cast<const int4 *>(from);
    int4 *here = reinterpret_cast<int4 *>(to);

    for (unsigned i = begin + threadIdx.x; i < end; i += 32)
        asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(here[i].x), "=r"(here[i].y), "=r"(here[i].z), "=r"(here[i].w)
                     : "l"(there + i) : "memory");
}

/* In words of 16 bytes: the header and one copy, and all of a command. */
#define FIRST_PART 3
static __device__ __forceinline__ unsigned whole_part(const struct agent_command *command)
{
    return 1 + command->nbytes / 16;
}

static __device__ __forceinline__ bool is_alone(const struct agent_command *command)
{
    return command->kind == AGENT_ONE && command->job.one.nbytes <= AGENT_ALONE;
}

/* Block 0, its first warp. true: command n is there, in shared memory. false: the instance is
 * ended; the host ends it when all commands are done, and posts what follows to the next. */
static __device__ bool take_command(const struct agent_ring *ring, unsigned instance, unsigned n,
                                    struct agent_command *command)
{
    const struct agent_command *posted = &ring->commands[n % AGENT_COMMANDS];
    bool ended = false;

    if (threadIdx.x == 0)
        for (;;) {
            const unsigned long long tail = load_host(&ring->tail);

            ended = (int)((unsigned)(tail >> 32) - (instance + 1)) >= 0;
            if (ended || (unsigned)tail != n)
                break;
            __nanosleep(100);
        }
    if (__shfl_sync(0xffffffff, ended, 0))
        return false;
    __syncwarp();
    copy_command(command, posted, 0, FIRST_PART);
    __syncwarp();
    copy_command(command, posted, FIRST_PART, whole_part(command));
    __syncwarp();
    return true;
}

/* The command to the other blocks, which have all done the one before. */
static __device__ void pass_on(struct agent_state *state, const struct agent_command *command,
                               unsigned n)
{
    const int4 *here = reinterpret_cast<const int4 *>(command);
    int4 *there = reinterpret_cast<int4 *>(&state->command);

    for (unsigned i = threadIdx.x; i < whole_part(command); i += 32)
        there[i] = here[i];
    __syncwarp();
    if (threadIdx.x == 0) {
        state->number = n;
        store_gpu(&state->passed, state->passed + 1);
    }
}

/* The other blocks: the next one after so many, and its number. */
static __device__ bool hear(const struct agent_state *state, unsigned instance, unsigned heard,
                            unsigned *n, struct agent_command *command)
{
    bool more = false;

    if (threadIdx.x == 0) {
        do
            more = load_gpu(&state->passed) != heard;
        while (!more && load_gpu(&state->ended) != instance + 1);
        more = more || load_gpu(&state->passed) != heard; /* passed on before the end */
    }
    if (!__shfl_sync(0xffffffff, more, 0))
        return false;
    __syncwarp();
    *n = *static_cast<const volatile unsigned *>(&state->number);
    copy_command(command, &state->command, 0, FIRST_PART);
    __syncwarp();
    copy_command(command, &state->command, FIRST_PART, whole_part(command));
    __syncwarp();
    return true;
}

/* All blocks have done the commands before n. */
static __device__ __forceinline__ void wait_blocks(const struct agent_state *state, unsigned n)
{
    while ((int)(load_gpu(&state->finished) - n * gridDim.x) < 0)
        ;
}

static __device__ void execute(const struct agent_command &command)
{
    switch (command.kind) {
    case AGENT_ONE: {
        const unsigned parts = is_alone(&command) ? 1 : gridDim.x;
        struct kernel_copy copy = {command.job.one.to, command.job.one.from,
                                   command.job.one.nbytes, parts, KERNEL_CONTIGUOUS,
                                   KERNEL_CONTIGUOUS, 1};

        copy_part<4>(copy, NULL, blockIdx.x);
        break;
    }
    case AGENT_COPY:
        copy_job(command.job.copy);
        break;
    case AGENT_STRIDED:
        for (unsigned part = blockIdx.x; part < command.job.layout.copy.parts; part += gridDim.x)
            copy_part<8>(command.job.layout.copy, command.job.layout.strided, part);
        break;
    default:
        gather_job(command.job.gather);
    }
}

/* So many blocks' shares of command n are done; the last one says so to the host. The barrier and
 * the fences of one thread order what all threads of all blocks have written before that. */
static __device__ void finish(struct agent_ring *ring, struct agent_state *state, unsigned n,
                              unsigned shares)
{
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    __threadfence();
    if (atomicAdd(&state->finished, shares) + shares == (n + 1) * gridDim.x) {
        __threadfence();
        store_host(&ring->done, n + 1);
    }
}

/* The last block of the instance leaves word for the next one. */
static __device__ void leave(struct agent_ring *ring, struct agent_state *state, unsigned instance,
                             unsigned n)
{
    if (threadIdx.x != 0)
        return;
    if (blockIdx.x == 0) {
        state->next = n;
        state->heard = state->passed;
    }
    __threadfence();
    if (atomicAdd(&state->leaving, 1) + 1 < gridDim.x)
        return;
    state->leaving = 0;
    store_host(&ring->exited, instance + 1);
}

/* Block 0 passes on what it does not do alone. */
static __device__ bool lead(struct agent_ring *ring, struct agent_state *state, unsigned instance,
                            unsigned n, struct agent_command *command)
{
    if (!take_command(ring, instance, n, command)) {
        if (threadIdx.x == 0)
            store_gpu(&state->ended, instance + 1);
        return false;
    }
    if (threadIdx.x == 0)
        wait_blocks(state, n);
    __syncwarp();
    if (!is_alone(command))
        pass_on(state, command, n);
    return true;
}

extern "C" __global__ void __launch_bounds__(AGENT_KERNEL_THREADS, 1)
gpubind_agent(const __grid_constant__ struct agent_kernel_job job)
{
    struct agent_ring *ring = reinterpret_cast<struct agent_ring *>(job.ring);
    struct agent_state *state = reinterpret_cast<struct agent_state *>(job.state);
    __shared__ __align__(16) struct agent_command command;
    __shared__ bool more;
    unsigned n, heard;

    if (!ring) /* launched to be loaded */
        return;
    /* A block that begins when block 0 has left finds the same: where something was passed on,
     * all blocks have begun before the end. */
    n = *static_cast<volatile unsigned *>(&state->next);
    heard = *static_cast<volatile unsigned *>(&state->heard);
    for (;; n++, heard++) {
        if (threadIdx.x < 32) {
            const bool there = blockIdx.x == 0
                                   ? lead(ring, state, job.instance, n, &command)
                                   : hear(state, job.instance, heard, &n, &command);
            if (threadIdx.x == 0)
                more = there;
        }
        __syncthreads();
        if (!more)
            break;
        execute(command);
        finish(ring, state, n, is_alone(&command) ? gridDim.x : 1);
        __syncthreads(); /* before the next command takes this one's place */
    }
    leave(ring, state, job.instance, n);
}
