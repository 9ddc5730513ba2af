/* GPU memory that strided messages are packed in, for a peer to map. Any thread may call these. */
#ifndef GPUBIND_AWARE_GPU_POOL_H
#define GPUBIND_AWARE_GPU_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/core/gpu_types.h"

struct gpu_block;

/* At least nbytes in the context, which is current. NULL: there is no more memory, or so much may not be
 * taken (GPUBIND_PACK_MEMORY). */
struct gpu_block *gpu_pool_take(gpu_context context, size_t nbytes);
void *gpu_pool_at(const struct gpu_block *block);
/* NULL does nothing. */
void gpu_pool_give(struct gpu_block *block);

#endif
