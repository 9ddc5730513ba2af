/* The kernels that gpubind-bench measures. */
#include "bench/lib/kernels.h"
#include "mpi/gpubind_device.cuh"

typedef unsigned long long u64;

static __device__ __forceinline__ u64 this_thread()
{
    return blockIdx.x * (u64)blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ u64 all_threads()
{
    return gridDim.x * (u64)blockDim.x;
}

/* ---- contents */

static __device__ __forceinline__ u64 word_of(u64 seed, u64 i)
{
    return (seed * 0x9e3779b97f4a7c15ull + i) * 0xbf58476d1ce4e5b9ull;
}

extern "C" __global__ void bench_fill(u64 *at, u64 n, u64 seed)
{
    for (u64 i = this_thread(); i < n; i += all_threads())
        at[i] = word_of(seed, i);
}

/* *wrong counts words that differ from the pattern of seed. */
extern "C" __global__ void bench_compare(const u64 *at, u64 n, u64 seed, u64 *wrong)
{
    u64 mine = 0;

    for (u64 i = this_thread(); i < n; i += all_threads())
        mine += at[i] != word_of(seed, i);
    if (mine)
        atomicAdd(wrong, mine);
}

/* ---- puts and gets; nbytes is a multiple of 16 */

/* A block or warp moves one contiguous chunk; threads move interleaved units of 16 bytes. */
static __device__ __forceinline__ u64 piece_of(u64 nbytes, u64 all)
{
    return (nbytes / 16 + all - 1) / all * 16;
}

static __device__ __forceinline__ u64 left_of(u64 nbytes, u64 offset, u64 piece)
{
    return offset >= nbytes ? 0 : nbytes - offset < piece ? nbytes - offset : piece;
}

extern "C" __global__ void __launch_bounds__(1024, 1)
bench_put_block(const gpubind_device_win *win, int target, char *at, u64 nbytes)
{
    const u64 piece = piece_of(nbytes, gridDim.x), offset = blockIdx.x * piece;

    gpubind_put_block(win, target, offset, at + offset, left_of(nbytes, offset, piece));
}

extern "C" __global__ void __launch_bounds__(1024, 1)
bench_get_block(const gpubind_device_win *win, int target, char *at, u64 nbytes)
{
    const u64 piece = piece_of(nbytes, gridDim.x), offset = blockIdx.x * piece;

    gpubind_get_block(win, target, offset, at + offset, left_of(nbytes, offset, piece));
}

extern "C" __global__ void __launch_bounds__(1024, 1)
bench_put_warp(const gpubind_device_win *win, int target, char *at, u64 nbytes)
{
    const u64 piece = piece_of(nbytes, all_threads() / 32), offset = this_thread() / 32 * piece;

    gpubind_put_warp(win, target, offset, at + offset, left_of(nbytes, offset, piece));
}

extern "C" __global__ void __launch_bounds__(1024, 1)
bench_get_warp(const gpubind_device_win *win, int target, char *at, u64 nbytes)
{
    const u64 piece = piece_of(nbytes, all_threads() / 32), offset = this_thread() / 32 * piece;

    gpubind_get_warp(win, target, offset, at + offset, left_of(nbytes, offset, piece));
}

extern "C" __global__ void __launch_bounds__(1024, 1)
bench_put_thread(const gpubind_device_win *win, int target, char *at, u64 nbytes)
{
    for (u64 offset = 16 * this_thread(); offset < nbytes; offset += 16 * all_threads())
        gpubind_put(win, target, offset, at + offset, 16);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
bench_get_thread(const gpubind_device_win *win, int target, char *at, u64 nbytes)
{
    for (u64 offset = 16 * this_thread(); offset < nbytes; offset += 16 * all_threads())
        gpubind_get(win, target, offset, at + offset, 16);
}

/* ---- bulk copies (TMA): one thread a block, from global memory to shared and on */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
static __device__ __forceinline__ unsigned shared_address(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

static __device__ __forceinline__ void bulk_load(char *piece, const char *from, unsigned nbytes,
                                                 u64 *full)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(shared_address(full)), "r"(nbytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(shared_address(piece)), "l"(__cvta_generic_to_global(from)), "r"(nbytes),
                   "r"(shared_address(full)) : "memory");
}

static __device__ __forceinline__ void bulk_wait(u64 *full, unsigned parity)
{
    unsigned done;

    do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(full)), "r"(parity) : "memory");
    while (!done);
}

static __device__ __forceinline__ void bulk_store(char *to, const char *piece, unsigned nbytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(__cvta_generic_to_global(to)), "r"(shared_address(piece)), "r"(nbytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* The k-th chunk of the block in nbytes, and its length; 0 after the last. */
static __device__ __forceinline__ unsigned bulk_piece(u64 k, u64 nbytes, u64 *offset)
{
    *offset = (k * gridDim.x + blockIdx.x) * BULK_PIECE;
    if (*offset >= nbytes)
        return 0;
    return nbytes - *offset < BULK_PIECE ? (unsigned)(nbytes - *offset) : BULK_PIECE;
}

static __device__ __forceinline__ void bulk_move(char *to, const char *from, u64 nbytes, char *ring, u64 *full)
{
    u64 offset;
    unsigned n;

    for (int i = 0; i < BULK_PIECES; i++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(full + i))
                     : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    for (u64 k = 0; k < BULK_PIECES - 1 && (n = bulk_piece(k, nbytes, &offset)); k++)
        bulk_load(ring + k * BULK_PIECE, from + offset, n, full + k);
    for (u64 k = 0; (n = bulk_piece(k, nbytes, &offset)); k++) {
        const u64 next = k + BULK_PIECES - 1;
        char *piece = ring + k % BULK_PIECES * BULK_PIECE;

        bulk_wait(full + k % BULK_PIECES, k / BULK_PIECES & 1);
        bulk_store(to + offset, piece, n);
        /* The buffer of the previous chunk is free once its store has read it. */
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        if ((n = bulk_piece(next, nbytes, &offset)))
            bulk_load(ring + next % BULK_PIECES * BULK_PIECE, from + offset, n,
                      full + next % BULK_PIECES);
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
#endif

extern "C" __global__ void bench_bulk(char *to, const char *from, u64 nbytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    __shared__ __align__(128) char ring[BULK_PIECES * BULK_PIECE];
    __shared__ __align__(8) u64 full[BULK_PIECES];

    if (threadIdx.x == 0)
        bulk_move(to, from, nbytes, ring, full);
#else
    (void)to, (void)from, (void)nbytes;
    __trap();
#endif
}

/* ---- ping-pong of signals: one thread on each side */

static __device__ __forceinline__ u64 now_ns()
{
    u64 ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

template <int how>
static __device__ __forceinline__ void tell(const gpubind_device_win *win, int other, u64 turn)
{
    if (how == PING_PUT_SIGNAL)
        gpubind_put_signal(win, other, 0, &turn, sizeof turn, 0, turn);
    else if (how == PING_SIGNAL)
        gpubind_signal(win, other, 0, turn);
    else
        gpubind_signal_relaxed(win, other, 0, turn);
}

/* Turns from begin + 1 to last; those up to `warm` are not timed. The second side waits for a
 * signal before it sends its own; the first side sends first. */
template <int how>
static __device__ void ping(const gpubind_device_win *win, int other, int first, u64 begin,
                            u64 warm, u64 last, u64 *ns, u64 *wrong)
{
    const volatile u64 *got =
        static_cast<const volatile u64 *>(gpubind_at(win, gpubind_rank(win), 0, sizeof(u64)));
    u64 from = now_ns(), bad = 0;

    if (!first)
        gpubind_wait_signal(win, 0, GPUBIND_GE, begin + 1);
    for (u64 turn = begin + 1; turn <= last; turn++) {
        const u64 next = first || turn == last ? turn : turn + 1;

        if (turn == warm + 1)
            from = now_ns();
        tell<how>(win, other, turn);
        gpubind_wait_signal(win, 0, GPUBIND_GE, next);
        if (how == PING_PUT_SIGNAL)
            bad += *got != next;
    }
    *ns = now_ns() - from;
    *wrong = bad;
}

/* begin: number of signals of earlier runs. The first `warm` turns are not timed. *ns: duration of
 * the others; *wrong counts data that had not arrived with their signal. */
extern "C" __global__ void bench_ping(const gpubind_device_win *win, int other, int first,
                                      u64 begin, u64 warm, u64 n, int how, u64 *ns, u64 *wrong)
{
    const u64 from = begin + warm, last = from + n;

    if (how == PING_PUT_SIGNAL)
        ping<PING_PUT_SIGNAL>(win, other, first, begin, from, last, ns, wrong);
    else if (how == PING_SIGNAL)
        ping<PING_SIGNAL>(win, other, first, begin, from, last, ns, wrong);
    else
        ping<PING_RELAXED>(win, other, first, begin, from, last, ns, wrong);
}

/* ---- loads and stores in another GPU's memory */

/* n is a power of 2. Visits every element once, in pseudo-random order. */
static __device__ __forceinline__ u64 shuffled(u64 i, u64 n)
{
    i = i * 0x9e3779b97f4a7c15ull & (n - 1);
    i ^= i >> 9;
    return i * 0xbf58476d1ce4e5b9ull & (n - 1);
}

extern "C" __global__ void bench_double(double *a, u64 n, int pattern)
{
    for (u64 i = this_thread(); i < n; i += all_threads()) {
        const u64 at = pattern == PATTERN_RANDOM ? shuffled(i, n)
                       : pattern == PATTERN_STRIDED
                           ? i % (n / PATTERN_STRIDE) * PATTERN_STRIDE + i / (n / PATTERN_STRIDE)
                           : i;

        a[at] = 2 * a[at];
    }
}

extern "C" __global__ void bench_number(double *a, u64 n)
{
    for (u64 i = this_thread(); i < n; i += all_threads())
        a[i] = (double)(i % 1000003);
}

/* *wrong counts elements that differ from index times factor. */
extern "C" __global__ void bench_numbered(const double *a, u64 n, double factor, u64 *wrong)
{
    u64 mine = 0;

    for (u64 i = this_thread(); i < n; i += all_threads())
        mine += a[i] != (double)(i % 1000003) * factor;
    if (mine)
        atomicAdd(wrong, mine);
}

/* Each element holds the index of the next. */
extern "C" __global__ void bench_link(u64 *a, u64 n)
{
    for (u64 i = this_thread(); i < n; i += all_threads())
        a[i] = (i + CHAIN_STRIDE) & (n - 1);
}

/* One thread follows the chain, a dependent load at a time; *end is the last index. */
extern "C" __global__ void bench_chain(const volatile u64 *a, u64 steps, u64 *end)
{
    u64 at = 0;

    for (u64 i = 0; i < steps; i++)
        at = a[at];
    *end = at;
}
