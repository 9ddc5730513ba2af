#include "gpu/core/waiting_blocks.h"

#define MULTIPROCESSORS 16u /* where the driver does not say: few GPUs have less */
#define LEFT_LEAST 12u      /* the copy agent's 8 blocks, and some of the application's */

static unsigned multiprocessors(const struct gpu *gpu)
{
    return gpu->multiprocessors > 0 ? (unsigned)gpu->multiprocessors : MULTIPROCESSORS;
}

static unsigned at_least_one(unsigned n)
{
    return n > 0 ? n : 1;
}

unsigned waiting_blocks_of_some(const struct gpu *gpu)
{
    return at_least_one(multiprocessors(gpu) / 2);
}

unsigned waiting_blocks_of_graph(const struct gpu *gpu)
{
    return at_least_one(multiprocessors(gpu) / 4);
}

unsigned waiting_blocks_of_all(const struct gpu *gpu)
{
    const unsigned n = multiprocessors(gpu);
    const unsigned left = n / 4 > LEFT_LEAST ? n / 4 : LEFT_LEAST;

    return n > left ? n - left : 0;
}
