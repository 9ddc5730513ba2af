/* Copies between buffers whose bytes lie in runs at up to three levels of strides. */
#ifndef GPUBIND_GPU_COPY_STRIDED_COPY_H
#define GPUBIND_GPU_COPY_STRIDED_COPY_H

#include "gpu/core/gpu_context.h"

struct strided;

/* Where the bytes of a message lie: runs of them, count[0] runs stride[0] bytes apart,
 * count[1] such rows, count[2] such planes. Counts are 1 or more. */
struct strided_buffer {
    gpu_address address;
    uint64_t run; /* bytes that lie together */
    uint32_t count[3];
    int64_t stride[3];
};

/* Queues a copy of the first nbytes of one buffer to the other in the stream. */
int strided_copy(struct gpu *gpu, gpu_stream stream, const struct strided_buffer *to,
                 const struct strided_buffer *from, uint64_t nbytes, struct gpubind_error *err);
/* The same of normal forms (strided_levels.h), with the GPU's context current; returns the driver's
 * result. */
int strided_copy_normal(struct gpu *gpu, gpu_stream stream, const struct strided *to,
                        const struct strided *from, uint64_t nbytes);

#endif
