/* How many blocks of the library's kernels may wait for another rank at a time. Where one is, no kernel begins that
 * needs all of a multiprocessor: the copy agent's, or one of the application's with much shared memory or many
 * registers, and what the other rank waits for may depend on either. */
#ifndef GPUBIND_GPU_CORE_WAITING_BLOCKS_H
#define GPUBIND_GPU_CORE_WAITING_BLOCKS_H

#include "gpu/core/gpu_context.h"

/* Shares of the multiprocessors, at least 1 each: from 8 of them on all that is counted, one graph and the copy agent
 * together have not more than there are. */

/* Of all that is counted. */
unsigned waiting_blocks_of_all(const struct gpu *gpu);
/* Of one exchange, or of the messages of all streams. */
unsigned waiting_blocks_of_some(const struct gpu *gpu);
/* Of an exchange in a graph, which nobody counts once it knows its messages. */
unsigned waiting_blocks_of_graph(const struct gpu *gpu);
/* Of this rank's copy agent, whose blocks do not wait for ranks, but have a multiprocessor each. */
unsigned waiting_blocks_of_agent(const struct gpu *gpu);
/* A rank's part of n, as the GPU's users were counted last: at least 1. */
unsigned waiting_blocks_part(const struct gpu *gpu, unsigned n);

#endif
