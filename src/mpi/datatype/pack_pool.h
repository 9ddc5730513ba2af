/* GPU memory of the library's own for packed data, kept for the next message: allocating
 * takes long, and other ranks would have to map it anew. */
#ifndef GPUBIND_MPI_DATATYPE_PACK_POOL_H
#define GPUBIND_MPI_DATATYPE_PACK_POOL_H

#include "gpu/core/mem_query.h"

struct pack_buffer {
    struct pack_buffer *next;
    struct memory memory;
};

/* So many bytes are kept that nobody uses, on all GPUs together; pack_pool_trim frees what
 * is more, the least recently used first. */
void pack_pool_limit(uint64_t nbytes);
void pack_pool_trim(void);
/* Room for nbytes. NULL, with a sentence, when there is none even after those that are
 * kept were freed. */
struct pack_buffer *pack_pool_take(struct gpu *gpu, uint64_t nbytes, struct gpubind_error *err);
/* What is queued for it in the GPU must be done. */
void pack_pool_give(struct pack_buffer *buffer);
/* Frees those that nobody uses; memory that other ranks map when they have let go. */
void pack_pool_free(void);
/* At the end, when nobody maps any of them. */
void pack_pool_clear(void);

#endif
