/* Words of page-locked memory that streams write to and wait for. */
#ifndef GPUBIND_MPI_STREAM_STREAM_FLAG_H
#define GPUBIND_MPI_STREAM_STREAM_FLAG_H

#include "gpu/core/gpu_context.h"

struct stream_flag {
    struct stream_flag *next;
    _Atomic uint32_t *at;
    uint32_t value; /* the latest that was promised; it only grows, around its end */
};

/* The context that they are page-locked in is no more: those that nobody has are not given
 * out again. */
void stream_flags_unpinned(void);
/* NULL with a sentence. The current context is the stream's. */
struct stream_flag *stream_flag_take(struct gpubind_error *err);
/* Others may have it, also while a stream still waits for a value that it has had. */
void stream_flag_give(struct stream_flag *flag);
/* Sets it to its value. */
void stream_flag_set(struct stream_flag *flag);
/* The stream has written value or a later one. */
bool stream_flag_has(const struct stream_flag *flag, uint32_t value);
/* In the stream: the word gets its value; later work waits until it has it. */
int stream_flag_queue_write(const struct stream_flag *flag, struct CUstream_st *stream);
int stream_flag_queue_wait(const struct stream_flag *flag, struct CUstream_st *stream);

#endif
