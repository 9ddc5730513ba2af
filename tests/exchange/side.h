/* One of the two processes: its GPU, its memory, and the other's as mapped here. */
#ifndef GPUBIND_TESTS_EXCHANGE_SIDE_H
#define GPUBIND_TESTS_EXCHANGE_SIDE_H

#include "tests/exchange/scene.h"

#define SIDE_WORDS (2 * SCENE_MESSAGES * SCENE_PARTS)
#define SIDE_BYTES (SCENE_MESSAGES * SCENE_SLOT)

struct arena {
    cuda_address out, in; /* SIDE_BYTES each: slots */
    cuda_address words;   /* SIDE_WORDS: ready of what is sent, then done of what comes */
};

struct side {
    int rank; /* 0 or 1 */
    int in, out; /* pipes from the other and to it */
    struct gpu *gpu;
    struct CUstream_st *stream;
    struct arena own, other;
};

/* Two processes from here on. */
void side_fork(struct side *side);
/* The side's GPU, memory and stream; 0, or -1 where there is no GPU. */
int side_start(struct side *side);
void side_end(struct side *side);
/* Hands the other n bytes (up to 4 KiB) and gets as many. */
void side_swap(const struct side *side, const void *mine, void *others, size_t n);
/* Both have come here. */
void side_meet(const struct side *side);
/* Queues the scene's messages, or those of this side; sure: all of them are. */
void side_exchange(const struct side *side, const struct scene *scene);
/* The driver's call must work: the test cannot go on. */
void must(int status, const char *what);

#endif
