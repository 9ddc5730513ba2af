/* Irregular pieces to dense data and back. Each warp takes parts of the dense data, so
 * that all warps have the same work whatever the pieces are, and looks up where each
 * word of its part lies. */
#include "cuda/gather_kernel.h"

/* Words of a thread that are under way at once. */
#define GATHER_AT_ONCE 4

struct gather_table {
    const unsigned long long *position;
    const long long *at;
    const unsigned long long *first;
};

/* A word of the dense data, in an element. */
struct gather_place {
    unsigned long long dense, element, in; /* in: bytes from the element's first */
};

/* Where the words lie. Every search of a warp takes the same steps, and those of a
 * thread's words go side by side. */
static __device__ __forceinline__ void
gather_find(const struct gather_kernel_job &job, const struct gather_table &table,
            const struct gather_place *places, unsigned long long *strided)
{
    unsigned long long low[GATHER_AT_ONCE], high[GATHER_AT_ONCE];

#pragma unroll
    for (unsigned k = 0; k < GATHER_AT_ONCE; k++) {
        const unsigned long long part = places[k].in / GATHER_KERNEL_PART;

        low[k] = table.first[part];
        high[k] = table.first[part + 1];
    }
    for (unsigned step = job.steps; step-- > 0;)
#pragma unroll
        for (unsigned k = 0; k < GATHER_AT_ONCE; k++) {
            const unsigned long long middle = low[k] + (1ull << step);

            if (middle <= high[k] && table.position[middle] <= places[k].in)
                low[k] = middle;
        }
#pragma unroll
    for (unsigned k = 0; k < GATHER_AT_ONCE; k++)
        strided[k] = job.strided + places[k].element * (unsigned long long)job.extent +
                     (unsigned long long)table.at[low[k]] +
                     (places[k].in - table.position[low[k]]);
}

template <typename word>
static __device__ void
gather_part(const struct gather_kernel_job &job, const struct gather_table &table,
            unsigned long long begin, unsigned long long end, unsigned lane)
{
    const unsigned long long element = begin / job.element, in = begin - element * job.element;
    const unsigned n = (unsigned)((end - begin) / sizeof(word));

    for (unsigned at = lane; at < n; at += 32 * GATHER_AT_ONCE) {
        struct gather_place places[GATHER_AT_ONCE];
        unsigned long long strided[GATHER_AT_ONCE];
        word held[GATHER_AT_ONCE];

#pragma unroll
        for (unsigned k = 0; k < GATHER_AT_ONCE; k++) {
            /* beyond the end: the first word once more, which nobody stores */
            const unsigned mine = at + 32 * k < n ? at + 32 * k : at;

            places[k].dense = begin + mine * sizeof(word);
            places[k].element = element;
            places[k].in = in + mine * sizeof(word);
            if (places[k].in >= job.element) { /* an element is larger than a part */
                places[k].in -= job.element;
                places[k].element++;
            }
        }
        gather_find(job, table, places, strided);
#pragma unroll
        for (unsigned k = 0; k < GATHER_AT_ONCE; k++)
            held[k] = *reinterpret_cast<const word *>(job.spread ? job.dense + places[k].dense
                                                                 : strided[k]);
#pragma unroll
        for (unsigned k = 0; k < GATHER_AT_ONCE; k++)
            if (at + 32 * k < n)
                *reinterpret_cast<word *>(job.spread ? strided[k]
                                                     : job.dense + places[k].dense) = held[k];
    }
}

extern "C" __global__ void __launch_bounds__(GATHER_KERNEL_THREADS, 1)
gpubind_gather(const __grid_constant__ struct gather_kernel_job job)
{
    const unsigned lane = threadIdx.x % 32;
    const unsigned long long warps = (unsigned long long)gridDim.x * (blockDim.x / 32);
    const unsigned long long parts = (job.nbytes + GATHER_KERNEL_PART - 1) / GATHER_KERNEL_PART;
    const unsigned long long *words = reinterpret_cast<const unsigned long long *>(job.table);
    const struct gather_table table = {
        words, reinterpret_cast<const long long *>(words + job.n + 1), words + 2 * job.n + 1};

    for (unsigned long long part = (unsigned long long)(threadIdx.x / 32) * gridDim.x + blockIdx.x;
         part < parts; part += warps) {
        const unsigned long long begin = part * GATHER_KERNEL_PART;
        const unsigned long long end =
            job.nbytes - begin < GATHER_KERNEL_PART ? job.nbytes : begin + GATHER_KERNEL_PART;

        if (job.word == 16)
            gather_part<int4>(job, table, begin, end, lane);
        else if (job.word == 8)
            gather_part<int2>(job, table, begin, end, lane);
        else if (job.word == 4)
            gather_part<int>(job, table, begin, end, lane);
        else if (job.word == 2)
            gather_part<short>(job, table, begin, end, lane);
        else
            gather_part<char>(job, table, begin, end, lane);
    }
}
