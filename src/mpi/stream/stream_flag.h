/* Words of page-locked memory that streams write to and wait for. */
#ifndef GPUBIND_MPI_STREAM_STREAM_FLAG_H
#define GPUBIND_MPI_STREAM_STREAM_FLAG_H

#include "cuda/gpu.h"

struct word {
    struct word *next;
    _Atomic uint32_t *at;
    uint32_t value; /* the latest that was promised; it only grows, around its end */
};

/* The context that they are page-locked in is no more: those that nobody has are not given
 * out again. */
void words_unpinned(void);
/* NULL with a sentence. The current context is the stream's. */
struct word *word_take(struct gpubind_error *err);
/* Others may have it, also while a stream still waits for a value that it has had. */
void word_give(struct word *word);
/* Sets it to its value. */
void word_open(struct word *word);
/* The stream has written value or a later one. */
bool word_has(const struct word *word, uint32_t value);
/* In the stream: the word gets its value; later work waits until it has it. */
int word_write_in(const struct word *word, struct CUstream_st *stream);
int word_wait_in(const struct word *word, struct CUstream_st *stream);

#endif
