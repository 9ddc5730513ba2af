/* Copies between irregular blocks (iov) of GPU memory, or between these and dense memory. */
#ifndef GPUBIND_GPU_COPY_IOV_COPY_H
#define GPUBIND_GPU_COPY_IOV_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/copy/iov_launch.h"
#include "gpu/core/gpu_context.h"

struct iov_table;

/* Elements of n blocks, extent bytes from each to the next. NULL: no memory. A table of
 * 16 bytes a block, and 8 for each 256 bytes of data, is kept in the memory of each GPU
 * that it is used with. */
struct iov_table *iov_table_make(const struct iov_block *blocks, uint64_t n, int64_t extent);
/* Its copies must have ended. */
void iov_table_free(struct iov_table *table);
/* Makes its table for that GPU, if it can be had, so that no copy has to. */
void iov_table_prepare(struct iov_table *table, struct gpu *gpu);
/* A kernel does it, rather than a call for each block or some of them. */
bool iov_copy_has_kernel(struct gpu *gpu);

struct iov_end {             /* of a copy */
    struct iov_table *table; /* NULL: dense */
    gpu_address address;
};

/* Queues in that stream the copies of the first nbytes of the message. Both ends are GPU
 * memory that the GPU can address. 0, or -1 with a sentence: a part of it may be queued. */
int iov_copy(struct gpu *gpu, enum gpu_own_stream stream, const struct iov_end *to,
             const struct iov_end *from, uint64_t nbytes, struct gpubind_error *err);

#endif
