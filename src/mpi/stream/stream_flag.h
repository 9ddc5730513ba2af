/* Flags in page-locked memory that streams write, or wait for, by stream memory operations. */
#ifndef GPUBIND_MPI_STREAM_STREAM_FLAG_H
#define GPUBIND_MPI_STREAM_STREAM_FLAG_H

#include "gpu/core/gpu_context.h"

struct stream_flag {
    struct stream_flag *next;
    _Atomic uint32_t *at;
    uint32_t value; /* the latest to be written or waited for; it increases, and wraps around */
};

/* The context in which they are page-locked is gone: flags that are not in use are not given
 * out again. */
void stream_flags_unpinned(void);
/* A flag for a stream of the current context. NULL with a sentence. */
struct stream_flag *stream_flag_take(struct gpubind_error *err);
/* Returns a flag, which others may take even while a stream waits for a value that it has had. */
void stream_flag_give(struct stream_flag *flag);
/* The host writes flag->value. */
void stream_flag_set(struct stream_flag *flag);
/* The flag has reached value. */
bool stream_flag_has(const struct stream_flag *flag, uint32_t value);
/* Queue in the stream that flag->value is written, or waited for. What the driver returns. */
int stream_flag_queue_write(const struct stream_flag *flag, gpu_stream stream);
int stream_flag_queue_wait(const struct stream_flag *flag, gpu_stream stream);

#endif
