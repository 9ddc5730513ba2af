/* gpubind in kernels: stores to, and loads from, the windows of other ranks' GPUs, and
 * signals that say that data are there. For nvcc and NVRTC; needs nothing else, sm_70 or
 * later. gpubind-device(7) explains it; gpubind_win_device(3) gives what all calls take.
 *
 *     TARGET    a rank of the window's communicator, this one too; its gpubind_win_pointer
 *               must not be NULL
 *     OFFSET    bytes from the start of the target's part of the window
 *
 * Calls that end in _warp or _block are made by all threads of the warp or block with
 * the same arguments, and share the work; the others are made by one thread alone.
 *
 * Unless NDEBUG is defined, and always with GPUBIND_DEBUG, what leaves the window, or goes
 * to a rank that cannot be reached, prints a line and traps.
 */
#ifndef GPUBIND_DEVICE_CUH
#define GPUBIND_DEVICE_CUH

struct gpubind_device_part {
    char *data; /* 0: not reached, or nothing there */
    unsigned long long nbytes;
    unsigned long long *signals; /* likewise */
    unsigned long long nsignals;
};

/* In GPU memory; n parts follow. */
struct gpubind_device_win {
    int rank, n;
    unsigned long long *signals; /* this rank's own */
};

#define gpubind_device_win_size(n) \
    (sizeof(struct gpubind_device_win) + (unsigned)(n) * sizeof(struct gpubind_device_part))

#if defined(__cplusplus) && defined(__CUDACC__)

enum gpubind_signal_op { GPUBIND_SIGNAL_SET, GPUBIND_SIGNAL_ADD };
enum gpubind_compare { GPUBIND_GE, GPUBIND_EQ };

#if defined(GPUBIND_DEBUG) || !defined(NDEBUG)
#define GPUBIND_DEVICE_CHECKS 1
#else
#define GPUBIND_DEVICE_CHECKS 0
#endif

static __device__ __forceinline__ int gpubind_rank(const gpubind_device_win *win)
{
    return win->rank;
}

static __device__ __forceinline__ int gpubind_size(const gpubind_device_win *win)
{
    return win->n;
}

/* ---- where things are */

static __device__ __forceinline__ const gpubind_device_part *
gpubind_device_part_of(const gpubind_device_win *win, int target)
{
#if GPUBIND_DEVICE_CHECKS
    if (target < 0 || target >= win->n) {
        printf("gpubind: rank %d: target %d is not from 0 to %d\n", win->rank, target, win->n - 1);
        __trap();
    }
#endif
    return reinterpret_cast<const gpubind_device_part *>(win + 1) + target;
}

/* The target's memory at offset, for loads and stores of the kernel's own; nbytes of it
 * are checked in a debug build. */
static __device__ __forceinline__ void *gpubind_at(const gpubind_device_win *win, int target,
                                                   unsigned long long offset,
                                                   unsigned long long nbytes = 0)
{
    const gpubind_device_part *part = gpubind_device_part_of(win, target);

#if GPUBIND_DEVICE_CHECKS
    if (offset > part->nbytes || nbytes > part->nbytes - offset) {
        printf("gpubind: rank %d: %llu bytes at %llu leave the %llu bytes of rank %d\n", win->rank,
               nbytes, offset, part->nbytes, target);
        __trap();
    }
    if (!part->data && nbytes > 0) {
        printf("gpubind: rank %d: kernels cannot reach rank %d\n", win->rank, target);
        __trap();
    }
#endif
    return part->data ? part->data + offset : 0;
}

static __device__ __forceinline__ unsigned long long *
gpubind_signal_at(const gpubind_device_win *win, int target, int signal)
{
    const gpubind_device_part *part = gpubind_device_part_of(win, target);

#if GPUBIND_DEVICE_CHECKS
    if (signal < 0 || signal >= (long long)part->nsignals) {
        printf("gpubind: rank %d: signal %d is none of the %llu of rank %d\n", win->rank, signal,
               part->nsignals, target);
        __trap();
    }
    if (!part->signals) {
        printf("gpubind: rank %d: kernels cannot reach rank %d\n", win->rank, target);
        __trap();
    }
#endif
    return part->signals ? part->signals + signal : 0;
}

/* ---- who copies: a thread's number among those that share the work, and how many do */

struct gpubind_by_thread {
    static __device__ __forceinline__ unsigned me() { return 0; }
    static __device__ __forceinline__ unsigned all() { return 1; }
    static __device__ __forceinline__ void sync() {}
};

static __device__ __forceinline__ unsigned gpubind_thread_of_block()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

struct gpubind_by_warp {
    static __device__ __forceinline__ unsigned me() { return gpubind_thread_of_block() % 32; }
    static __device__ __forceinline__ unsigned all() { return 32; }
    static __device__ __forceinline__ void sync() { __syncwarp(); }
};

struct gpubind_by_block {
    static __device__ __forceinline__ unsigned me() { return gpubind_thread_of_block(); }
    static __device__ __forceinline__ unsigned all() { return blockDim.x * blockDim.y * blockDim.z; }
    static __device__ __forceinline__ void sync() { __syncthreads(); }
};

/* ---- copies */

/* Loads before a thread's first store: over NVLink one takes longer than a microsecond. */
#ifndef GPUBIND_LOADS_AT_ONCE
#define GPUBIND_LOADS_AT_ONCE 4
#endif

/* Another GPU's memory is not to be had from a cache that may be old. */
template <bool fresh, typename word>
static __device__ __forceinline__ word gpubind_load(const word *from)
{
    return fresh ? __ldcv(from) : *from;
}

template <typename by, bool fresh, typename word>
static __device__ __forceinline__ void gpubind_copy_words(char *to_bytes, const char *from_bytes,
                                                          unsigned long long nbytes)
{
    word *to = reinterpret_cast<word *>(to_bytes);
    const word *from = reinterpret_cast<const word *>(from_bytes);
    const unsigned long long n = nbytes / sizeof(word);
    const unsigned all = by::all();
    unsigned long long at = by::me();
    word held[GPUBIND_LOADS_AT_ONCE];

    while (at + (GPUBIND_LOADS_AT_ONCE - 1) * (unsigned long long)all < n) {
#pragma unroll
        for (int k = 0; k < GPUBIND_LOADS_AT_ONCE; k++)
            held[k] = gpubind_load<fresh>(from + at + (unsigned long long)k * all);
#pragma unroll
        for (int k = 0; k < GPUBIND_LOADS_AT_ONCE; k++)
            to[at + (unsigned long long)k * all] = held[k];
        at += GPUBIND_LOADS_AT_ONCE * (unsigned long long)all;
    }
    for (; at < n; at += all)
        to[at] = gpubind_load<fresh>(from + at);
}

/* Whole words, with a head and a tail of bytes; to and from lie alike in a word. */
template <typename by, bool fresh, typename word>
static __device__ __forceinline__ void gpubind_copy_as(char *to, const char *from,
                                                       unsigned long long nbytes)
{
    unsigned long long head = (0 - reinterpret_cast<unsigned long long>(to)) % sizeof(word);
    unsigned long long body;

    if (head > nbytes)
        head = nbytes;
    body = (nbytes - head) / sizeof(word) * sizeof(word);
    if (head > 0)
        gpubind_copy_words<by, fresh, unsigned char>(to, from, head);
    gpubind_copy_words<by, fresh, word>(to + head, from + head, body);
    if (head + body < nbytes)
        gpubind_copy_words<by, fresh, unsigned char>(to + head + body, from + head + body,
                                                     nbytes - head - body);
}

template <typename by, bool fresh>
static __device__ __forceinline__ void gpubind_copy(void *to_any, const void *from_any,
                                                    unsigned long long nbytes)
{
    char *to = static_cast<char *>(to_any);
    const char *from = static_cast<const char *>(from_any);
    const unsigned long long apart =
        reinterpret_cast<unsigned long long>(to) - reinterpret_cast<unsigned long long>(from);

    if (apart % 16 == 0)
        gpubind_copy_as<by, fresh, uint4>(to, from, nbytes);
    else if (apart % 8 == 0)
        gpubind_copy_as<by, fresh, unsigned long long>(to, from, nbytes);
    else if (apart % 4 == 0)
        gpubind_copy_as<by, fresh, unsigned>(to, from, nbytes);
    else
        gpubind_copy_as<by, fresh, unsigned char>(to, from, nbytes);
}

/* nbytes from this GPU's memory (also shared memory of the block) into the target's
 * window. from may be written again when the call returns (_warp, _block: when all threads'
 * calls have); the data are at the target after gpubind_quiet, or when a signal says so. */
static __device__ __forceinline__ void gpubind_put(const gpubind_device_win *win, int target,
                                                   unsigned long long offset, const void *from,
                                                   unsigned long long nbytes)
{
    gpubind_copy<gpubind_by_thread, false>(gpubind_at(win, target, offset, nbytes), from, nbytes);
}

static __device__ __forceinline__ void gpubind_put_warp(const gpubind_device_win *win, int target,
                                                        unsigned long long offset,
                                                        const void *from,
                                                        unsigned long long nbytes)
{
    gpubind_copy<gpubind_by_warp, false>(gpubind_at(win, target, offset, nbytes), from, nbytes);
}

static __device__ __forceinline__ void gpubind_put_block(const gpubind_device_win *win,
                                                         int target, unsigned long long offset,
                                                         const void *from,
                                                         unsigned long long nbytes)
{
    gpubind_copy<gpubind_by_block, false>(gpubind_at(win, target, offset, nbytes), from, nbytes);
}

/* The other way. A thread's own part of the data is in `to` when the call returns; all of
 * it after a __syncwarp or __syncthreads. */
static __device__ __forceinline__ void gpubind_get(const gpubind_device_win *win, int target,
                                                   unsigned long long offset, void *to,
                                                   unsigned long long nbytes)
{
    gpubind_copy<gpubind_by_thread, true>(to, gpubind_at(win, target, offset, nbytes), nbytes);
}

static __device__ __forceinline__ void gpubind_get_warp(const gpubind_device_win *win, int target,
                                                        unsigned long long offset, void *to,
                                                        unsigned long long nbytes)
{
    gpubind_copy<gpubind_by_warp, true>(to, gpubind_at(win, target, offset, nbytes), nbytes);
}

static __device__ __forceinline__ void gpubind_get_block(const gpubind_device_win *win,
                                                         int target, unsigned long long offset,
                                                         void *to, unsigned long long nbytes)
{
    gpubind_copy<gpubind_by_block, true>(to, gpubind_at(win, target, offset, nbytes), nbytes);
}

/* ---- order */

/* What this thread put to a rank before comes there before what it puts after. */
static __device__ __forceinline__ void gpubind_fence()
{
    __threadfence_system();
}

/* All that this thread put is where it belongs, and seen by every GPU. */
static __device__ __forceinline__ void gpubind_quiet()
{
    __threadfence_system();
}

/* The same for all threads of the block. */
static __device__ __forceinline__ void gpubind_quiet_block()
{
    __threadfence_system();
    __syncthreads();
}

/* ---- signals */

/* Sets, or adds to, a signal word of the target, when all that this thread (and what it was
 * synchronised with) put before is there. */
static __device__ __forceinline__ void gpubind_signal(const gpubind_device_win *win, int target,
                                                      int signal, unsigned long long value,
                                                      gpubind_signal_op op = GPUBIND_SIGNAL_SET)
{
    unsigned long long *word = gpubind_signal_at(win, target, signal);

    if (op == GPUBIND_SIGNAL_ADD)
        asm volatile("red.release.sys.global.add.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
    else
        asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/* The word alone, in half the time: it may come before what was put before it. For turns and
 * credits that say nothing of data. */
static __device__ __forceinline__ void
gpubind_signal_relaxed(const gpubind_device_win *win, int target, int signal,
                       unsigned long long value, gpubind_signal_op op = GPUBIND_SIGNAL_SET)
{
    unsigned long long *word = gpubind_signal_at(win, target, signal);

    if (op == GPUBIND_SIGNAL_ADD)
        asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
    else
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

template <typename by>
static __device__ __forceinline__ void
gpubind_put_signal_by(const gpubind_device_win *win, int target, unsigned long long offset,
                      const void *from, unsigned long long nbytes, int signal,
                      unsigned long long value, gpubind_signal_op op)
{
    gpubind_copy<by, false>(gpubind_at(win, target, offset, nbytes), from, nbytes);
    by::sync();
    if (by::me() == 0)
        gpubind_signal(win, target, signal, value, op);
}

/* The data, and when they are there, the signal. */
static __device__ __forceinline__ void
gpubind_put_signal(const gpubind_device_win *win, int target, unsigned long long offset,
                   const void *from, unsigned long long nbytes, int signal,
                   unsigned long long value, gpubind_signal_op op = GPUBIND_SIGNAL_SET)
{
    gpubind_put_signal_by<gpubind_by_thread>(win, target, offset, from, nbytes, signal, value, op);
}

static __device__ __forceinline__ void
gpubind_put_signal_warp(const gpubind_device_win *win, int target, unsigned long long offset,
                        const void *from, unsigned long long nbytes, int signal,
                        unsigned long long value, gpubind_signal_op op = GPUBIND_SIGNAL_SET)
{
    gpubind_put_signal_by<gpubind_by_warp>(win, target, offset, from, nbytes, signal, value, op);
}

static __device__ __forceinline__ void
gpubind_put_signal_block(const gpubind_device_win *win, int target, unsigned long long offset,
                         const void *from, unsigned long long nbytes, int signal,
                         unsigned long long value, gpubind_signal_op op = GPUBIND_SIGNAL_SET)
{
    gpubind_put_signal_by<gpubind_by_block>(win, target, offset, from, nbytes, signal, value, op);
}

/* One load, where gpubind_signal_at takes two, one after the other. */
static __device__ __forceinline__ const unsigned long long *
gpubind_device_own_signal(const gpubind_device_win *win, int signal)
{
#if GPUBIND_DEVICE_CHECKS
    return gpubind_signal_at(win, win->rank, signal);
#else
    return win->signals + signal;
#endif
}

/* A signal word of this rank. What was put before the value that it has is seen. */
static __device__ __forceinline__ unsigned long long
gpubind_signal_fetch(const gpubind_device_win *win, int signal)
{
    const unsigned long long *word = gpubind_device_own_signal(win, signal);
    unsigned long long value;

    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

/* Until that word is value or more (GPUBIND_GE) or just value (GPUBIND_EQ); returns what it
 * is. One thread waits; others are let go by a __syncthreads behind it. The kernel that
 * signals must run meanwhile: on another GPU, or beside this one. */
static __device__ __forceinline__ unsigned long long
gpubind_wait_signal(const gpubind_device_win *win, int signal, gpubind_compare compare,
                    unsigned long long value)
{
    const unsigned long long *word = gpubind_device_own_signal(win, signal);
    unsigned long long got;

    do
        asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(got) : "l"(word) : "memory");
    while (compare == GPUBIND_EQ ? got != value : got < value);
    return got;
}

#endif
#endif
