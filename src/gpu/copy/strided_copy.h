/* Copies between buffers whose bytes lie in runs at up to three levels of strides. */
#ifndef GPUBIND_GPU_COPY_STRIDED_COPY_H
#define GPUBIND_GPU_COPY_STRIDED_COPY_H

#include "gpu/core/gpu_context.h"

struct shape;

/* Where the bytes of a message lie: runs of them, count[0] runs stride[0] bytes apart,
 * count[1] such rows, count[2] such planes. Counts are 1 or more. */
struct layout {
    gpu_address address;
    uint64_t run; /* bytes that lie together */
    uint32_t count[3];
    int64_t stride[3];
};

/* Moves the first nbytes of one layout to the other, in the stream. */
int layout_copy(struct gpu *gpu, gpu_stream stream, const struct layout *to,
                const struct layout *from, uint64_t nbytes, struct gpubind_error *err);
/* The same of shapes (strided_levels.h), with the GPU's context current; returns the driver's
 * result. */
int layout_copy_shapes(struct gpu *gpu, gpu_stream stream, const struct shape *to,
                       const struct shape *from, uint64_t nbytes);

#endif
