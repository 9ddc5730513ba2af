/* Words of exchanges (exchange_flag.h) in GPU memory that other processes can map: many in
 * one allocation, which a peer opens once. */
#ifndef GPUBIND_GPU_EXCHANGE_GPU_FLAGS_H
#define GPUBIND_GPU_EXCHANGE_GPU_FLAGS_H

#include "gpu/core/mem_query.h"

struct words_arena;

struct words {
    struct words_arena *arena; /* NULL: none */
    gpu_address at;
    unsigned n;
};

/* n words of the GPU that follow each other, all 0. 0, or -1 with a sentence. */
int words_take(struct gpu *gpu, unsigned n, struct words *words, struct gpubind_error *err);
void words_give(struct words *words);
/* The allocation that they lie in; false: it cannot be exported. */
bool words_share(const struct words *words, struct memory_export *shared);
/* Both write to n words, also those of a mapping, and return when that is done. They wait
 * for no exchange. The one gives whole words a value, */
int words_write(struct gpu *gpu, gpu_address at, unsigned n, uint64_t value,
                struct gpubind_error *err);
/* the other makes their low halves 1. */
int words_set(struct gpu *gpu, gpu_address at, unsigned n, struct gpubind_error *err);
/* Reads all words of the GPU, for words_are_set. */
int words_read(struct gpu *gpu, struct gpubind_error *err);
/* The low halves of all of them were 1 when they were read last. */
bool words_are_set(const struct words *words);
/* A flag for a stream that waits for a word which others set when their data are there:
 * writes of other devices may have to be flushed for the stream to see them. */
unsigned words_wait_flush(const struct gpu *gpu);
/* Frees all; no peer maps them. */
void words_stop(void);

#endif
