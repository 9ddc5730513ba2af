// A step of Jacobi's method: each cell becomes the mean of its four neighbours.
//
// The step is bound by memory. Each thread holds 16 bytes of three rows and marches down:
// a row comes from memory once, its neighbours to the left and the right from the next
// threads of the warp. AHEAD rows are on their way at once, which is what keeps the
// memory busy.
#include "kernels.h"

#define AHEAD 4
#define ALL 0xffffffffu

template <typename T> struct wide;
template <> struct wide<float> {
    typedef float4 type;
};
template <> struct wide<double> {
    typedef double2 type;
};

// What a thread holds of a row: its cells, and in the first and last thread of a warp the
// cell beside, which no other thread of the warp has.
template <typename T> struct part {
    enum { N = THREAD_BYTES / sizeof(T) };
    T cell[N];
    T beside;
};

template <typename T> __device__ __forceinline__ part<T> load(const T *at, bool inside, int beside)
{
    part<T> p;
    typename wide<T>::type raw;

    for (int i = 0; i < part<T>::N; i++)
        p.cell[i] = 0;
    p.beside = 0;
    if (inside) {
        raw = __ldg(reinterpret_cast<const typename wide<T>::type *>(at));
        memcpy(p.cell, &raw, sizeof raw);
        if (beside)
            p.beside = __ldg(at + beside);
    }
    return p;
}

// One row from itself and the rows beside it. The first `used` cells of the thread change;
// what lies behind them is the border, and keeps its value.
template <typename T, bool WITH_CHANGE>
__device__ __forceinline__ T relax(T *to, const part<T> &above, const part<T> &here,
                                   const part<T> &below, int lane, int used)
{
    enum { N = part<T>::N };
    T left = __shfl_up_sync(ALL, here.cell[N - 1], 1);
    T right = __shfl_down_sync(ALL, here.cell[0], 1);
    T cell[N], squares = 0;
    typename wide<T>::type raw;

    left = lane == 0 ? here.beside : left;
    right = lane == 31 ? here.beside : right;
#pragma unroll
    for (int i = 0; i < N; i++) {
        T west = i == 0 ? left : here.cell[i > 0 ? i - 1 : 0];
        T east = i == N - 1 ? right : here.cell[i < N - 1 ? i + 1 : N - 1];
        T mean = T(0.25) * ((above.cell[i] + below.cell[i]) + (west + east));

        cell[i] = i < used ? mean : here.cell[i];
        if (WITH_CHANGE)
            squares += (cell[i] - here.cell[i]) * (cell[i] - here.cell[i]);
    }
    memcpy(&raw, cell, sizeof raw);
    if (used > 0)
        __stcs(reinterpret_cast<typename wide<T>::type *>(to), raw);
    return squares;
}

// All threads of the block. One atomic addition for all of them.
__device__ __forceinline__ void add_up(double sum, double *total)
{
    __shared__ double of_warp[BLOCK_WARPS];

    for (int distance = 16; distance; distance /= 2)
        sum += __shfl_down_sync(ALL, sum, distance);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int warp = 1; warp < BLOCK_WARPS; warp++)
        sum += of_warp[warp];
    atomicAdd(total, sum);
}

template <typename T, bool WITH_CHANGE> __device__ __forceinline__ void march(const kernel_job &job)
{
    enum { N = part<T>::N };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int down = warp / job.warps_across, deep = BLOCK_WARPS / job.warps_across;
    const int across = blockIdx.x * job.warps_across + warp % job.warps_across;
    const int column = (across * 32 + lane) * N;
    const int chunk = blockIdx.y * deep + down;
    // The thread behind the last column has the border, which its neighbour asks for.
    const bool inside = column <= job.columns;
    const int used = min(max(job.columns - column, 0), (int)N);
    const int beside = used == 0 ? 0 : lane == 0 ? -1 : lane == 31 ? (int)N : 0;
    int row = job.first + chunk * job.stride;
    int left = chunk < job.nchunks ? min(job.chunk, job.last + 1 - row) : 0;
    const T *from = static_cast<const T *>(job.from) + row * job.pitch + column;
    T *to = static_cast<T *>(job.to) + row * job.pitch + column;
    T squares = 0;

    if (left > 0) { // the same for all threads of a warp
        part<T> above = load(from - job.pitch, inside, 0), here = load(from, inside, beside);

        for (; left >= AHEAD; left -= AHEAD) {
            part<T> next[AHEAD];

#pragma unroll
            for (int i = 0; i < AHEAD; i++)
                next[i] = load(from + (i + 1) * job.pitch, inside, beside);
#pragma unroll
            for (int i = 0; i < AHEAD; i++) {
                squares += relax<T, WITH_CHANGE>(to + i * job.pitch, above, here, next[i], lane, used);
                above = here;
                here = next[i];
            }
            from += AHEAD * job.pitch;
            to += AHEAD * job.pitch;
        }
        for (; left > 0; left--) {
            part<T> below = load(from + job.pitch, inside, beside);

            squares += relax<T, WITH_CHANGE>(to, above, here, below, lane, used);
            above = here;
            here = below;
            from += job.pitch;
            to += job.pitch;
        }
    }
    if (WITH_CHANGE)
        add_up(squares, job.change);
}

// Four blocks on a multiprocessor; the last one would spill.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 4) rows_float(kernel_job job)
{
    march<float, false>(job);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 4) rows_float_change(kernel_job job)
{
    march<float, true>(job);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 4) rows_double(kernel_job job)
{
    march<double, false>(job);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) rows_double_change(kernel_job job)
{
    march<double, true>(job);
}
