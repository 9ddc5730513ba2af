/* Copies between flags, in one launch in a stream. Flags are words of 32 bits in page-locked host memory. */
#ifndef GPUBIND_GPU_EXCHANGE_SIGNAL_COPY_H
#define GPUBIND_GPU_EXCHANGE_SIGNAL_COPY_H

#include "gpu/core/gpu_context.h"

#define SIGNAL_COPIES 64 /* in a launch */

struct signal_flag {
    const _Atomic uint32_t *at; /* NULL: none */
    uint32_t value;
};

struct signal_copy {
    struct signal_flag wait; /* for this value or a later one; then */
    gpu_address to, from;    /* memory that the GPU can access */
    uint64_t nbytes;         /* may be 0; then */
    struct signal_flag set;  /* with a slot: at NULL, and the value of the slot's flag */
    /* gpu_slots.h; 0: none. In this GPU's memory, where the data may come, too, and with nbytes 0 the message of which
     * only that is awaited; or without wait, in another's, which gets them, too. */
    gpu_address slot;
};

struct signal_copies {
    struct signal_flag begin; /* written when the stream gets there */
    const struct signal_copy *copies;
    int n;
    int nsends;              /* the first of them, which wait for nothing, and copy something: */
    struct signal_flag sent; /* written when these are done, whatever others wait for */
    struct signal_flag end;  /* written when all is done */
};

/* Where the blocks of a launch meet: memory of one stream alone. */
#define SIGNAL_SPACE_BYTES 520
struct signal_space {
    gpu_address
        at; /* zero at first; 0: there is none, and one copy of few bytes is all that can be launched */
    uint32_t turn;
};

/* A copy of so many bytes can be launched, and takes less time than by a copy engine. */
bool signal_copy_is_good(const struct gpu *gpu, const struct signal_space *space, uint64_t nbytes);
/* Blocks of a launch, but for those of its sends, which wait for nothing. */
unsigned signal_copies_blocks(const struct gpu *gpu, const struct signal_copies *copies);
/* n of them, in any order among each other: none waits for what another waits for. The GPU's context is current.
 * What the driver returns. */
int signal_copies(const struct gpu *gpu, gpu_stream stream, struct signal_space *space,
                  const struct signal_copies *copies);

#endif
