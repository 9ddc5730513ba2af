/* Memory that messages come from or go to, and what is written there. */
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
    unsigned char *chunk; /* host memory that contents of a GPU go through */
};

/* gpu: NULL for host memory; else it must outlive the buffer. */
int buffer_alloc(struct buffer *buffer, const struct bench_gpu *gpu, size_t nbytes,
                 struct gpubind_error *err);
void buffer_free(struct buffer *buffer);

/* What a message contains: another seed, other bytes at every place. */
uint64_t pattern_seed(int round, int sender, int slot);
/* Writes the pattern to the nbytes at offset. */
int buffer_fill(const struct buffer *buffer, size_t offset, size_t nbytes, uint64_t seed,
                struct gpubind_error *err);
/* Reads them: 0, 1 where another byte was found, -1 where reading failed. */
int buffer_check(const struct buffer *buffer, size_t offset, size_t nbytes, uint64_t seed,
                 struct gpubind_error *err);

#endif
