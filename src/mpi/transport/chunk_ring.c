#include "mpi/transport/chunk_ring.h"

#include <string.h>

/* Measured on two H200 without peer access, page-locked: chunks of 256 KiB are best for messages
 * of 1 MiB, those of 2 MiB for large ones. */
static const struct {
    uint64_t below;
    size_t chunk;
} chunks[] = {{4u << 20, 256u << 10}, {24u << 20, 1u << 20}, {UINT64_MAX, 2u << 20}};

size_t chunk_bytes_of(uint64_t nbytes)
{
    int i = 0;

    while (nbytes > chunks[i].below)
        i++;
    return chunks[i].chunk;
}

void chunk_ring_init(struct chunk_ring *ring, const struct gpubind_operation *operation,
                     uint64_t nbytes, uint64_t chunk_bytes, uint64_t depth)
{
    *ring = (struct chunk_ring){.operation = operation,
                                .nbytes = nbytes,
                                .chunk_bytes = chunk_bytes,
                                .nchunks = (nbytes + chunk_bytes - 1) / chunk_bytes,
                                .depth = depth};
}

size_t chunk_ring_nbytes(const struct chunk_ring *ring, uint64_t chunk)
{
    const uint64_t left = ring->nbytes - chunk * ring->chunk_bytes;

    return (size_t)(left < ring->chunk_bytes ? left : ring->chunk_bytes);
}

static uint64_t place(const struct chunk_ring *ring, uint64_t chunk)
{
    return chunk % ring->depth * ring->chunk_bytes;
}

gpu_address chunk_ring_in_bounce(const struct chunk_ring *ring, uint64_t chunk)
{
    return ring->address + place(ring, chunk);
}

gpu_address chunk_ring_in_message(const struct chunk_ring *ring, uint64_t chunk)
{
    return ring->operation->memory.address + chunk * ring->chunk_bytes;
}

int chunk_ring_copy(struct chunk_ring *ring, uint64_t chunk, bool out, struct gpubind_error *err)
{
    const gpu_address message = chunk_ring_in_message(ring, chunk);
    const gpu_address bounce = chunk_ring_in_bounce(ring, chunk);
    const size_t nbytes = chunk_ring_nbytes(ring, chunk);
    const struct copy copy = {out ? bounce : message, out ? message : bounce, nbytes,
                              !ring->bounce ? COPY_IN_GPU
                              : out         ? COPY_TO_HOST
                                            : COPY_FROM_HOST};
    struct gpu *gpu = ring->operation->memory.gpu;
    char *host = (char *)ring->operation->buffer + chunk * ring->chunk_bytes;
    char *at = ring->bounce + place(ring, chunk);

    if (gpu)
        return copies_start(gpu, out ? GPU_OUT : GPU_IN, &copy, 1,
                            &ring->copies[chunk % CHUNKS_AHEAD_MOST], err);
    memcpy(out ? at : host, out ? host : at, nbytes);
    return 0;
}

int chunk_ring_copied(struct chunk_ring *ring, uint64_t chunk, struct gpubind_error *err)
{
    struct gpu_completion *copy = &ring->copies[chunk % CHUNKS_AHEAD_MOST];

    return copy->gpu ? gpu_completion_test(copy, err) : 1;
}
