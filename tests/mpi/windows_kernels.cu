/* Kernels that call everything of gpubind_device.cuh; windows_gpu.c launches them.
 * Compiled by tests/mpi/windows_gpu.t. */
#include <stdio.h>

#include "gpubind_device.cuh"

typedef unsigned long long u64;

/* One thread, one warp or the whole block puts or gets; not the first of them. */
extern "C" __global__ void __launch_bounds__(1024) move(const gpubind_device_win *win, int target, u64 offset, char *at,
                                u64 nbytes, int by, int put)
{
    const unsigned me = threadIdx.x;

    if (by == 0 && me == 37)
        put ? gpubind_put(win, target, offset, at, nbytes)
            : gpubind_get(win, target, offset, at, nbytes);
    if (by == 1 && me / 32 == 1)
        put ? gpubind_put_warp(win, target, offset, at, nbytes)
            : gpubind_get_warp(win, target, offset, at, nbytes);
    if (by == 2)
        put ? gpubind_put_block(win, target, offset, at, nbytes)
            : gpubind_get_block(win, target, offset, at, nbytes);
    gpubind_quiet_block();
}

static __device__ void put_signal(const gpubind_device_win *win, int target, const unsigned *from,
                                  u64 nbytes, u64 value, int by)
{
    if (by == 0 && threadIdx.x == 0)
        gpubind_put_signal(win, target, 0, from, nbytes, 0, value);
    if (by == 1 && threadIdx.x < 32)
        gpubind_put_signal_warp(win, target, 0, from, nbytes, 0, value);
    if (by == 2)
        gpubind_put_signal_block(win, target, 0, from, nbytes, 0, 1, GPUBIND_SIGNAL_ADD);
    __syncthreads();
}

/* Turn after turn the words change, are put to the other rank, and are compared when the
 * signal says that they are there; signal 1 says that the next may come. *wrong counts
 * words. One block; from and win hold n words. */
/* Checks take registers, of which a block of 1024 threads has 64 each. */
extern "C" __global__ void __launch_bounds__(1024) turns(const gpubind_device_win *win, int other, unsigned *from,
                                 unsigned n, int nturns, int by, unsigned *wrong)
{
    const unsigned *mine =
        static_cast<const unsigned *>(gpubind_at(win, gpubind_rank(win), 0, 4 * n));

    for (int turn = 1; turn <= nturns; turn++) {
        for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
            from[i] = turn * 1000003u + i;
        __syncthreads();
        put_signal(win, other, from, 4 * (u64)n, turn, by);
        if (threadIdx.x == 0)
            gpubind_wait_signal(win, 0, turn % 2 ? GPUBIND_GE : GPUBIND_EQ, turn);
        __syncthreads();
        for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
            if (mine[i] != turn * 1000003u + i)
                atomicAdd(wrong, 1);
        __syncthreads();
        if (threadIdx.x == 0) {
            gpubind_fence();
            if (turn % 2)
                gpubind_signal(win, other, 1, turn);
            else
                gpubind_signal_relaxed(win, other, 1, turn);
            gpubind_wait_signal(win, 1, GPUBIND_GE, turn);
            if (gpubind_signal_fetch(win, 1) < (u64)turn)
                atomicAdd(wrong, 1);
        }
        __syncthreads();
    }
}

/* Each thread adds 1 to every rank's signal. */
extern "C" __global__ void add(const gpubind_device_win *win, int signal)
{
    for (int rank = 0; rank < gpubind_size(win); rank++)
        if (threadIdx.x % 2)
            gpubind_signal(win, rank, signal, 1, GPUBIND_SIGNAL_ADD);
        else
            gpubind_signal_relaxed(win, rank, signal, 1, GPUBIND_SIGNAL_ADD);
}

/* What a debug build stops. */
extern "C" __global__ void leave(const gpubind_device_win *win, int what, char *at)
{
    const int me = gpubind_rank(win);

    switch (what) {
    case 0: gpubind_put(win, me, 993, at, 8); break;
    case 1: gpubind_get(win, me, 1ull << 63, at, 8); break;
    case 2: gpubind_put(win, gpubind_size(win), 0, at, 8); break;
    case 3: gpubind_put(win, -1, 0, at, 8); break;
    case 4: gpubind_signal(win, me, 2, 1); break;
    case 5: gpubind_put_block(win, me, 8, at, ~0ull); break;
    default: gpubind_put(win, me, 992, at, 8); break; /* the last that is good */
    }
}
