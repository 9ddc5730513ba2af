/* Strided copies by the driver's 1D, 2D and 3D copies, which the copy engines execute. */
#ifndef GPUBIND_GPU_COPY_STRIDED_COPY_ENGINE_H
#define GPUBIND_GPU_COPY_STRIDED_COPY_ENGINE_H

#include "gpu/copy/strided_levels.h"

/* One call does it, and its rows are so long that a copy engine is not slowed by them. */
bool copy_engine_strided_is_quick(const struct strided *to, const struct strided *from,
                                  uint64_t nbytes);
/* Queues the calls, as many as it takes; returns the driver's result. The GPU's context
 * is current. */
int copy_engine_strided(gpu_stream stream, const struct strided *to, const struct strided *from,
                        uint64_t nbytes);

#endif
