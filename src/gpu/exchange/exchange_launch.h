/* Kernels' launches: what they are told is made from shapes. */
#ifndef GPUBIND_GPU_EXCHANGE_EXCHANGE_LAUNCH_H
#define GPUBIND_GPU_EXCHANGE_EXCHANGE_LAUNCH_H

#include "gpu/exchange/exchange_backend.h"
#include "gpu/exchange/exchange_kernel.h"

/* false: the copy has more units than a kernel counts. */
bool kernel_can_copy(const struct shape *to, const struct shape *from, uint64_t nbytes);
/* The shape in units, at most KERNEL_UNITS_MOST of them. */
void kernel_shape_of(const struct shape *shape, unsigned unit, struct kernel_shape *made);

/* Both return the driver's result, with the GPU's context current. */
int exchange_by_kernel(const struct exchange *exchange, struct CUfunc_st *kernel);
/* What the kernel for one copy without words is told. */
void layout_job(struct layout_kernel_job *job, const struct shape *to, const struct shape *from,
                uint64_t nbytes);
/* That copy by a kernel of its own. */
int layout_launch(struct CUfunc_st *kernel, struct CUstream_st *stream, const struct shape *to,
                  const struct shape *from, uint64_t nbytes);

#endif
