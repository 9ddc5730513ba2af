/* A pool of GPU buffers for packed data: allocating one takes long, and other ranks would have to
 * map each anew. */
#ifndef GPUBIND_MPI_DATATYPE_PACK_POOL_H
#define GPUBIND_MPI_DATATYPE_PACK_POOL_H

#include "gpu/core/mem_query.h"

struct pack_buffer {
    struct pack_buffer *next;
    struct memory memory;
};

/* The pool keeps so many unused bytes on all GPUs together; pack_pool_trim frees what exceeds
 * that, the least recently used first. */
void pack_pool_limit(uint64_t nbytes);
void pack_pool_trim(void);
/* A buffer of at least nbytes. NULL with a sentence: there is no memory even after the pool was
 * emptied. */
struct pack_buffer *pack_pool_take(struct gpu *gpu, uint64_t nbytes, struct gpubind_error *err);
/* Returns a buffer, whose work on the GPU is complete. */
void pack_pool_give(struct pack_buffer *buffer);
/* Frees it instead. */
void pack_pool_drop(struct pack_buffer *buffer);
/* Frees the unused buffers, those that other ranks map when these have unmapped them. */
void pack_pool_free(void);
/* At the library's end, when no rank maps any of them. */
void pack_pool_clear(void);

#endif
