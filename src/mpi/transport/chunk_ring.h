/* A message that goes in chunks through a bounce buffer, which is used as a ring: chunk i lies at
 * place i modulo depth. Sizes, addresses and copies of chunks; who may fill or drain which chunk is
 * agreed upon by the protocols (rndv_staged_shm.c, rndv_staged_mpi.c). */
#ifndef GPUBIND_MPI_TRANSPORT_CHUNK_RING_H
#define GPUBIND_MPI_TRANSPORT_CHUNK_RING_H

#include "mpi/core/request.h"

#define CHUNKS_AHEAD_MOST 24 /* copies under way at once, and the largest depth */

struct chunk_ring {
    const struct gpubind_operation *operation; /* whose buffer it is */
    uint64_t nbytes, chunk_bytes, nchunks, depth;
    gpu_address address; /* of the bounce buffer, for copies by the GPU; */
    char *bounce;        /* for the CPU; NULL: the bounce buffer is GPU memory */
    struct gpu_completion copies[CHUNKS_AHEAD_MOST];
};

/* Bytes of each chunk of such a message. */
size_t chunk_bytes_of(uint64_t nbytes);

void chunk_ring_init(struct chunk_ring *ring, const struct gpubind_operation *operation,
                     uint64_t nbytes, uint64_t chunk_bytes, uint64_t depth);
/* Bytes of that chunk. */
size_t chunk_ring_nbytes(const struct chunk_ring *ring, uint64_t chunk);
gpu_address chunk_ring_in_bounce(const struct chunk_ring *ring, uint64_t chunk);
gpu_address chunk_ring_in_message(const struct chunk_ring *ring, uint64_t chunk);
/* Starts the copy of that chunk, to the bounce buffer (out) or from it. 0, or -1 with a
 * sentence. */
int chunk_ring_copy(struct chunk_ring *ring, uint64_t chunk, bool out, struct gpubind_error *err);
/* 1: the copy of that chunk has ended; 0: not yet; -1: it failed. err may be NULL. */
int chunk_ring_copied(struct chunk_ring *ring, uint64_t chunk, struct gpubind_error *err);

#endif
