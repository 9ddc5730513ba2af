/* Send and receive buffers in GPU or host memory, and their test patterns. */
#ifndef GPUBIND_BENCH_LIB_BUFFER_H
#define GPUBIND_BENCH_LIB_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/lib/gpu.h"

/* One allocation of a GPU, or of the host. */
struct buffer {
    const struct bench_gpu *gpu; /* NULL: host memory */
    unsigned char *at;
    size_t nbytes;
    unsigned char *chunk; /* host memory for access to a GPU buffer */
};

/* gpu: NULL for host memory; else it must outlive the buffer. */
int buffer_alloc(struct buffer *buffer, const struct bench_gpu *gpu, size_t nbytes,
                 struct gpubind_error *err);
void buffer_free(struct buffer *buffer);

/* The seed of a message's contents; two seeds give different bytes at every offset. */
uint64_t pattern_seed(int round, int sender, int slot);
/* Writes the pattern to the nbytes at offset. */
int buffer_fill(const struct buffer *buffer, size_t offset, size_t nbytes, uint64_t seed,
                struct gpubind_error *err);
/* Compares: 0 if equal, 1 if a byte differs, -1 if reading failed. */
int buffer_check(const struct buffer *buffer, size_t offset, size_t nbytes, uint64_t seed,
                 struct gpubind_error *err);

#endif
