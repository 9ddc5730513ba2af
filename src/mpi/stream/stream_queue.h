/* Streams of the application, and what the library does when they get somewhere.
 *
 * A stream writes to a word when it gets to a call, and waits for another word, which the
 * library sets when the call's work is over. Calls of one stream are numbered; what
 * they start is looked after in every step of progress, in any thread; a thread of the
 * library makes steps while there is such work (see progress_thread.h).
 */
#ifndef GPUBIND_MPI_STREAM_STREAM_QUEUE_H
#define GPUBIND_MPI_STREAM_STREAM_QUEUE_H

#include <stdbool.h>

#include "core/base/error.h"
#include "gpu/core/gpu_context.h"
#include "mpi/core/modules.h"

struct stream_queue;

/* What is to be done to something when the stream gets there. None may call MPI below
 * MPI_THREAD_MULTIPLE, nor let the lock go. */
struct stream_work_ops {
    /* The stream is there. */
    void (*start)(void *what);
    /* In place of that: it could not be put into the stream, or that gets nowhere any
     * more. */
    void (*fail)(void *what);
    /* Asked in every step from then on: true ends it, with an MPI error class and, unless
     * that is MPI_SUCCESS, a sentence. what is then no more, for the stream. */
    bool (*is_over)(void *what, int *result, struct gpubind_error *err);
    /* Ten times a second, of those that were started; NULL: nothing to do. */
    void (*look_after)(void *what);
    /* The library ends, and all ranks know it, before or after the start. What cannot come
     * to its end any more is over soon. NULL: it will be. */
    void (*give_up)(void *what);
};

/* For a call with that stream, inside library_enter and library_leave: no other thread
 * queues there until stream_queue_close. NULL with *result and a sentence: it is being
 * captured, the driver cannot do it, or something of an earlier call went wrong, which is
 * said once. */
struct stream_queue *stream_queue_open(struct CUstream_st *handle, int *result,
                                       struct gpubind_error *err);
/* The context is no more: a stream of another one may get its streams' handles. */
void stream_queues_forget(const struct CUctx_st *context);
/* When the stream waits for the ends of what it is given. */
enum stream_wait_mode {
    STREAM_WAIT_NEVER,
    STREAM_WAIT_NOW,
    STREAM_WAIT_LATER /* at stream_queue_await, which follows: the caller has work for between */
};
/* Puts n of them into the stream. Lets go of the library's lock meanwhile. An MPI error
 * class; on failure the stream waits for nothing. */
int stream_queue_add(struct stream_queue *stream, const struct stream_work_ops *ops,
                     void *const whats[], int n, enum stream_wait_mode mode,
                     struct gpubind_error *err);
/* Later work there comes after the ends of what was queued with STREAM_WAIT_LATER. */
int stream_queue_await(struct stream_queue *stream, struct gpubind_error *err);
/* Later work in the stream comes after the ends of all that was queued. */
int stream_queue_quiet(struct stream_queue *stream, struct gpubind_error *err);
/* The stream was given one more wait (-1: and is past it) that is not for the end of what was
 * queued here, but for what the library does all the same. */
void stream_queue_count_waits(struct stream_queue *stream, int more);
void stream_queue_close(struct stream_queue *stream);

extern const struct module stream_module;

#endif
