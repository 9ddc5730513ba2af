/* Allocates GPU sync flags (exchange_flag.h) in GPU memory that other processes can map: many
 * flags share one allocation, which a peer opens once. */
#ifndef GPUBIND_GPU_EXCHANGE_GPU_FLAGS_H
#define GPUBIND_GPU_EXCHANGE_GPU_FLAGS_H

#include "gpu/core/mem_query.h"

struct gpu_flag_arena;

struct gpu_flags {
    struct gpu_flag_arena *arena; /* NULL: none */
    gpu_address at;
    unsigned n;
};

/* No flags are put where is_in_way says that peers cannot map the memory yet, if other memory can be had. */
void gpu_flags_avoid(bool (*is_in_way)(const struct memory_export *shared));
/* n adjacent flags of the GPU, all 0. 0, or -1 with a sentence. */
int gpu_flags_take(struct gpu *gpu, unsigned n, struct gpu_flags *flags, struct gpubind_error *err);
void gpu_flags_give(struct gpu_flags *flags);
/* Page-locked memory of the host, of as many bytes as the flags, that is theirs as long; which bytes are in it is not
 * said. NULL with a sentence. */
void *gpu_flags_on_host(const struct gpu_flags *flags, struct gpubind_error *err);
/* The allocation that they lie in; false: it cannot be exported. */
bool gpu_flags_export(const struct gpu_flags *flags, struct memory_export *shared);
/* Both write n flags, also those of a mapped allocation, and return when that is done. They wait
 * for no exchange. The first writes whole flags, */
int gpu_flags_write(struct gpu *gpu, gpu_address at, unsigned n, uint64_t value,
                    struct gpubind_error *err);
/* the second sets the low halves to 1. */
int gpu_flags_set(struct gpu *gpu, gpu_address at, unsigned n, struct gpubind_error *err);
/* Reads all flags of the GPU, for gpu_flags_are_set. */
int gpu_flags_read(struct gpu *gpu, struct gpubind_error *err);
/* The low halves of all of them were 1 when they were read last. */
bool gpu_flags_are_set(const struct gpu_flags *flags);
/* The option of a stream's wait for a flag that peers set behind their data: their writes may
 * have to be flushed for the stream to see them. */
unsigned gpu_flags_wait_flush(const struct gpu *gpu);
/* Frees all; no peer maps them. */
void gpu_flags_stop(void);

#endif
