/* Stream memory operations on flags of 32 bits in page-locked host memory. */
#ifndef GPUBIND_GPU_EXCHANGE_FLAG_OPS_H
#define GPUBIND_GPU_EXCHANGE_FLAG_OPS_H

#include "gpu/core/gpu_context.h"

/* A write of a flag by a stream, or its wait for the value or a later one. */
struct gpu_flag_op {
    bool waits;
    const _Atomic uint32_t *flag;
    uint32_t value;
};
/* Queues n of them, at most GPU_FLAG_OPS. gpu: whose stream it is, or NULL; what others have written before the flag
 * is seen behind the wait. What the driver returns. */
#define GPU_FLAG_OPS 66
int gpu_flag_ops_queue(const struct gpu_flag_op *ops, int n, gpu_stream stream,
                       const struct gpu *gpu);

#endif
