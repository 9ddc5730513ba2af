/* Data that lie in irregular pieces, to others or to dense data and back. */
#ifndef GPUBIND_GPU_COPY_IOV_COPY_H
#define GPUBIND_GPU_COPY_IOV_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/core/gpu_context.h"

struct gather;

struct gather_piece { /* of an element, in the order of the dense data */
    int64_t at;       /* bytes from the element's start */
    uint64_t nbytes;
};

/* Elements of n pieces, extent bytes from each to the next. NULL: no memory. A table of
 * 16 bytes a piece, and 8 for each 256 bytes of data, is kept in each GPU's memory that it is used with. */
struct gather *gather_make(const struct gather_piece *pieces, uint64_t n, int64_t extent);
/* Its copies must have ended. */
void gather_free(struct gather *gather);
/* Makes its table for that GPU, if it can be had, so that no copy has to. */
void gather_prepare(struct gather *gather, struct gpu *gpu);
/* A kernel does it, rather than a call for each piece or some of them. */
bool gather_has_kernel(struct gpu *gpu);

struct gather_end { /* of a copy */
    struct gather *gather; /* NULL: dense */
    gpu_address address;
};

/* Queues in that stream the copies of the first nbytes of the message. Both ends are GPU
 * memory that the GPU can address. 0, or -1 with a sentence: a part of it may be queued. */
int gather_copy(struct gpu *gpu, enum gpu_own_stream stream, const struct gather_end *to,
                const struct gather_end *from, uint64_t nbytes, struct gpubind_error *err);

#endif
