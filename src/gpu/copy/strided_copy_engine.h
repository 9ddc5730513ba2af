/* Copies of shapes by the driver's own calls, which the copy engines do. */
#ifndef GPUBIND_GPU_COPY_STRIDED_COPY_ENGINE_H
#define GPUBIND_GPU_COPY_STRIDED_COPY_ENGINE_H

#include "gpu/copy/strided_levels.h"

/* One call does it, and its rows are so long that a copy engine is not slowed by them. */
bool shape_copy_is_quick(const struct shape *to, const struct shape *from, uint64_t nbytes);
/* Queues the calls, as many as it takes; returns the driver's result. The GPU's context
 * is current. */
int shape_copy(gpu_stream stream, const struct shape *to, const struct shape *from,
               uint64_t nbytes);

#endif
