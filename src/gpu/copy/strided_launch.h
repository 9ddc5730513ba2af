/* Launches of the kernel of strided copies; its arguments are made from shapes. */
#ifndef GPUBIND_GPU_COPY_STRIDED_LAUNCH_H
#define GPUBIND_GPU_COPY_STRIDED_LAUNCH_H

#include "gpu/copy/strided_kernel.h"
#include "gpu/copy/strided_levels.h"

/* false: the copy has more units than a kernel counts. */
bool kernel_can_copy(const struct shape *to, const struct shape *from, uint64_t nbytes);
/* The shape in units, at most KERNEL_UNITS_MOST of them. */
void kernel_shape_of(const struct shape *shape, unsigned unit, struct kernel_shape *made);
/* The copy, in that many parts, without its shapes. */
struct kernel_copy kernel_copy_of(const struct shape *to, const struct shape *from,
                                  uint64_t nbytes, unsigned parts);
/* What the kernel for one copy without words is told. */
void layout_job(struct layout_kernel_job *job, const struct shape *to, const struct shape *from,
                uint64_t nbytes);
/* That copy by a kernel of its own. Returns the driver's result, with the GPU's context current. */
int layout_launch(gpu_function kernel, gpu_stream stream, const struct shape *to,
                  const struct shape *from, uint64_t nbytes);

#endif
