/* How many blocks of the library's kernels may wait for another rank at a time. Where one is, no kernel begins that
 * needs all of a multiprocessor: the copy agent's, or one of the application's with much shared memory or many
 * registers, and what the other rank waits for may depend on either. */
#ifndef GPUBIND_GPU_CORE_WAITING_BLOCKS_H
#define GPUBIND_GPU_CORE_WAITING_BLOCKS_H

#include "gpu/core/gpu_context.h"

/* Of one exchange, or of the messages of all streams; at least 1. */
unsigned waiting_blocks_of_some(const struct gpu *gpu);
/* Of one in a graph, which nobody counts; at least 1. */
unsigned waiting_blocks_of_graph(const struct gpu *gpu);
/* Of all; 0: no more than the one that whoever waits has in any case. */
unsigned waiting_blocks_of_all(const struct gpu *gpu);

#endif
