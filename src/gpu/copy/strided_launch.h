/* Launches of the kernel of strided copies; its arguments are made of normal forms. */
#ifndef GPUBIND_GPU_COPY_STRIDED_LAUNCH_H
#define GPUBIND_GPU_COPY_STRIDED_LAUNCH_H

#include "gpu/copy/strided_kernel.h"
#include "gpu/copy/strided_levels.h"

/* false: the copy has more units than a kernel counts. */
bool kernel_can_copy(const struct strided *to, const struct strided *from, uint64_t nbytes);
/* The normal form in units, at most KERNEL_UNITS_MOST of them. */
void kernel_levels_of(const struct strided *strided, unsigned unit, struct kernel_levels *levels);
/* The copy, in that many parts, without its levels. */
struct kernel_copy kernel_copy_of(const struct strided *to, const struct strided *from,
                                  uint64_t nbytes, unsigned parts);
/* Fills the arguments of the kernel for one copy without flags. */
void strided_job(struct strided_kernel_job *job, const struct strided *to,
                 const struct strided *from, uint64_t nbytes);
/* That copy by a kernel of its own. Returns the driver's result, with the GPU's context current. */
int strided_launch(gpu_function kernel, gpu_stream stream, const struct strided *to,
                   const struct strided *from, uint64_t nbytes);

#endif
