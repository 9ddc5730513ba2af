/* Launches of the iov kernel, and the tables that it reads. They need no struct gpu; any thread may call
 * these. */
#ifndef GPUBIND_GPU_COPY_IOV_LAUNCH_H
#define GPUBIND_GPU_COPY_IOV_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/copy/iov_copy_kernel.h"
#include "gpu/core/gpu_types.h"

struct iov_block { /* of an element, in the order of the dense data */
    int64_t at;    /* bytes from the element's start */
    uint64_t nbytes;
};

/* Elements, small ones several at a time. */
struct iov_map {
    uint64_t n;
    int64_t extent;
    int64_t *at;
    uint64_t *position; /* n + 1 */
    uint64_t alignment; /* the bits that are set in any length or offset */
    unsigned steps;     /* since iov_map_write */
};

/* Elements of n blocks, extent bytes from each to the next. false: no memory. */
bool iov_map_make(struct iov_map *map, const struct iov_block *blocks, uint64_t n, int64_t extent);
void iov_map_clear(struct iov_map *map);
/* Of the table of a map, in the layout of iov_copy_kernel.h: its bytes, and it. */
size_t iov_map_bytes(const struct iov_map *map);
void iov_map_write(struct iov_map *map, uint64_t *words);
/* An end of a copy: a map whose table lies in GPU memory, or NULL. Adds to the bits of alignment. */
struct iov_kernel_end iov_map_end(const struct iov_map *map, gpu_address table, gpu_address address,
                                  uint64_t *alignment);
/* The copy of nbytes between two such ends, with their bits. */
struct iov_kernel_job iov_job(const struct iov_kernel_end *to, const struct iov_kernel_end *from,
                              uint64_t nbytes, uint64_t alignment);
/* By a kernel of its own, nbytes not 0. Returns the driver's result, with the stream's context current. */
int iov_launch(gpu_function kernel, gpu_stream stream, struct iov_kernel_job *job);

#endif
