#include "gpu/core/waiting_blocks.h"

#define MULTIPROCESSORS 16u /* where the driver does not say: few GPUs have less */

static unsigned eighths(const struct gpu *gpu, unsigned n)
{
    const unsigned all = gpu->multiprocessors > 0 ? (unsigned)gpu->multiprocessors
                                                  : MULTIPROCESSORS;
    const unsigned share = all * n / 8;

    return share > 0 ? share : 1;
}

unsigned waiting_blocks_part(const struct gpu *gpu, unsigned n)
{
    const unsigned part = n / (gpu->users > 0 ? gpu->users : 1);

    return part > 0 ? part : 1;
}

unsigned waiting_blocks_of_all(const struct gpu *gpu)
{
    return eighths(gpu, 5);
}

unsigned waiting_blocks_of_some(const struct gpu *gpu)
{
    return eighths(gpu, 4);
}

unsigned waiting_blocks_of_graph(const struct gpu *gpu)
{
    return eighths(gpu, 2);
}

unsigned waiting_blocks_of_agent(const struct gpu *gpu)
{
    return waiting_blocks_part(gpu, eighths(gpu, 1));
}
