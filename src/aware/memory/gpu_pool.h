/* GPU memory that messages with gaps are packed in, for a peer to map, and what that needs. Any thread may call these. */
#ifndef GPUBIND_AWARE_GPU_POOL_H
#define GPUBIND_AWARE_GPU_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/core/gpu_types.h"

struct gpu_block;

/* At least nbytes in the context, which is current. NULL: there is no more memory, or so much may not be
 * taken (GPUBIND_PACK_MEMORY). */
struct gpu_block *gpu_pool_take(gpu_context context, size_t nbytes);
/* The same for what is not given back soon: all of that is at most half of what may be taken. */
struct gpu_block *gpu_pool_take_for_long(gpu_context context, size_t nbytes);
void *gpu_pool_at(const struct gpu_block *block);
/* NULL does nothing. */
void gpu_pool_give(struct gpu_block *block);

#endif
