/* The copy agent: executes commands that the host posts in page-locked memory, one after the
 * other. Block 0 reads them there and broadcasts them to the other blocks. */
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
#define FIRST_WORDS 3
static __device__ __forceinline__ unsigned command_words(const struct agent_command *command)
{
    return 1 + command->nbytes / 16;
}

static __device__ __forceinline__ bool is_for_one_block(const struct agent_command *command)
{
    return command->kind == AGENT_ONE && command->job.one.nbytes <= AGENT_ONE_BLOCK_BYTES;
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
    copy_command(command, posted, 0, FIRST_WORDS);
    __syncwarp();
    copy_command(command, posted, FIRST_WORDS, command_words(command));
    __syncwarp();
    return true;
}

/* Broadcasts the command to the other blocks, which have all done the one before. */
static __device__ void broadcast(struct agent_state *state, const struct agent_command *command,
                               unsigned n)
{
    const int4 *here = reinterpret_cast<const int4 *>(command);
    int4 *there = reinterpret_cast<int4 *>(&state->command);

    for (unsigned i = threadIdx.x; i < command_words(command); i += 32)
        there[i] = here[i];
    __syncwarp();
    if (threadIdx.x == 0) {
        state->command_number = n;
        store_gpu(&state->nbroadcast, state->nbroadcast + 1);
    }
}

/* In the other blocks: receives the command after the first nreceived, and its number. */
static __device__ bool receive_command(const struct agent_state *state, unsigned instance,
                                       unsigned nreceived, unsigned *n,
                                       struct agent_command *command)
{
    bool more = false;

    if (threadIdx.x == 0) {
        do
            more = load_gpu(&state->nbroadcast) != nreceived;
        while (!more && load_gpu(&state->ended) != instance + 1);
        more = more || load_gpu(&state->nbroadcast) != nreceived; /* broadcast before the end */
    }
    if (!__shfl_sync(0xffffffff, more, 0))
        return false;
    __syncwarp();
    *n = *static_cast<const volatile unsigned *>(&state->command_number);
    copy_command(command, &state->command, 0, FIRST_WORDS);
    __syncwarp();
    copy_command(command, &state->command, FIRST_WORDS, command_words(command));
    __syncwarp();
    return true;
}

/* All blocks have done the commands before n. */
static __device__ __forceinline__ void wait_blocks(const struct agent_state *state, unsigned n)
{
    while ((int)(load_gpu(&state->shares_done) - n * gridDim.x) < 0)
        ;
}

static __device__ void execute(const struct agent_command &command)
{
    switch (command.kind) {
    case AGENT_ONE: {
        const unsigned parts = is_for_one_block(&command) ? 1 : gridDim.x;
        struct kernel_copy copy = {command.job.one.to, command.job.one.from,
                                   command.job.one.nbytes, (unsigned short)parts, KERNEL_CONTIGUOUS,
                                   KERNEL_CONTIGUOUS, 1};

        copy_part<4>(copy, NULL, blockIdx.x);
        break;
    }
    case AGENT_COPY:
        copy_job(command.job.copy);
        break;
    case AGENT_STRIDED:
        for (unsigned part = blockIdx.x; part < command.job.strided.copy.parts; part += gridDim.x)
            copy_part<8>(command.job.strided.copy, command.job.strided.strided, part);
        break;
    default:
        iov_job(command.job.iov);
    }
}

/* Counts shares of command n as done; who counts the last one tells the host. The barrier and the
 * fences of one thread order what all threads of all blocks have written before that. */
static __device__ void finish(struct agent_ring *ring, struct agent_state *state, unsigned n,
                              unsigned shares)
{
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    __threadfence();
    if (atomicAdd(&state->shares_done, shares) + shares == (n + 1) * gridDim.x) {
        __threadfence();
        store_host(&ring->done, n + 1);
    }
}

/* The last block to exit reports the exit of the instance; block 0 saves state for the next. */
static __device__ void exit_instance(struct agent_ring *ring, struct agent_state *state,
                                     unsigned instance, unsigned n)
{
    if (threadIdx.x != 0)
        return;
    if (blockIdx.x == 0) {
        state->next = n;
        state->nreceived = state->nbroadcast;
    }
    __threadfence();
    if (atomicAdd(&state->exiting, 1) + 1 < gridDim.x)
        return;
    state->exiting = 0;
    store_host(&ring->exited, instance + 1);
}

/* In block 0: takes the next command, and broadcasts those that all blocks share. */
static __device__ bool lead_block(struct agent_ring *ring, struct agent_state *state,
                                  unsigned instance, unsigned n,
                                  struct agent_command *command)
{
    if (!take_command(ring, instance, n, command)) {
        if (threadIdx.x == 0)
            store_gpu(&state->ended, instance + 1);
        return false;
    }
    if (threadIdx.x == 0)
        wait_blocks(state, n);
    __syncwarp();
    if (!is_for_one_block(command))
        broadcast(state, command, n);
    return true;
}

extern "C" __global__ void __launch_bounds__(AGENT_KERNEL_THREADS, 1)
gpubind_agent(const __grid_constant__ struct agent_kernel_job job)
{
    struct agent_ring *ring = reinterpret_cast<struct agent_ring *>(job.ring);
    struct agent_state *state = reinterpret_cast<struct agent_state *>(job.state);
    __shared__ __align__(16) struct agent_command command;
    __shared__ bool more;
    unsigned n, nreceived;

    if (!ring) /* launched to be loaded */
        return;
    /* A block that begins after block 0 has exited reads the same values: where a command was
     * broadcast, all blocks have begun before the end. */
    n = *static_cast<volatile unsigned *>(&state->next);
    nreceived = *static_cast<volatile unsigned *>(&state->nreceived);
    for (;; n++, nreceived++) {
        if (threadIdx.x < 32) {
            const bool there = blockIdx.x == 0
                                   ? lead_block(ring, state, job.instance, n, &command)
                                   : receive_command(state, job.instance, nreceived, &n, &command);
            if (threadIdx.x == 0)
                more = there;
        }
        __syncthreads();
        if (!more)
            break;
        execute(command);
        finish(ring, state, n, is_for_one_block(&command) ? gridDim.x : 1);
        __syncthreads(); /* before the next command overwrites this one */
    }
    exit_instance(ring, state, job.instance, n);
}
