/* One of the two processes: its GPU, its memory, and the other's as mapped here. */
#ifndef GPUBIND_TESTS_EXCHANGE_SIDE_H
#define GPUBIND_TESTS_EXCHANGE_SIDE_H

#include "tests/exchange/scene.h"

#define SIDE_WORDS (2 * SCENE_MESSAGES * SCENE_PARTS)

struct arena {
    cuda_address out, in; /* buffers of the bytes that side_start was told */
    cuda_address words;   /* SIDE_WORDS: ready of what is sent, then done of what comes */
};

struct side {
    int rank;    /* 0 or 1 */
    int in, out; /* pipes from the other and to it */
    struct gpu *gpu;
    struct CUstream_st *stream;
    struct arena own, other;
};

/* Two processes from here on. */
void side_fork(struct side *side);
/* The side's GPU, memory and stream; 0, or -1 where there is no GPU. */
int side_start(struct side *side, size_t nbytes);
void side_end(struct side *side);
/* Hands the other n bytes (up to 4 KiB) and gets as many. */
void side_swap(const struct side *side, const void *mine, void *others, size_t n);
/* Both have come here. */
void side_meet(const struct side *side);
/* The words of a message. */
cuda_address ready_words(const struct arena *arena, int message);
cuda_address done_words(const struct arena *arena, int message);
/* Queues the scene's messages. */
void side_exchange(const struct side *side, const struct scene *scene);
/* Copies what the side would send to where the other would get it, in its own memory. */
void side_copy(const struct side *side, const struct scene *scene);
/* The driver's call must work: the test cannot go on. */
void must(int status, const char *what);

#endif
