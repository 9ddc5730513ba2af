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
#include "cuda/gpu.h"
#include "mpi/core/modules.h"

struct on_stream;

/* What is to be done to something when the stream gets there. None may call MPI below
 * MPI_THREAD_MULTIPLE, nor let the lock go. */
struct on_stream_verbs {
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
 * queues there until on_stream_close. NULL with *result and a sentence: it is being
 * captured, the driver cannot do it, or something of an earlier call went wrong, which is
 * said once. */
struct on_stream *on_stream_open(struct CUstream_st *handle, int *result,
                                 struct gpubind_error *err);
/* The context is no more: a stream of another one may get its streams' handles. */
void on_streams_forget(const struct CUctx_st *context);
/* When the stream waits for the ends of what it is given. */
enum on_stream_wait {
    ON_STREAM_NEVER,
    ON_STREAM_AT_ONCE,
    ON_STREAM_LATER /* at on_stream_await, which follows: the caller has work for between */
};
/* Puts n of them into the stream. Lets go of the library's lock meanwhile. An MPI error
 * class; on failure the stream waits for nothing. */
int on_stream_queue(struct on_stream *stream, const struct on_stream_verbs *verbs,
                    void *const whats[], int n, enum on_stream_wait wait,
                    struct gpubind_error *err);
/* Later work there comes after the ends of what was queued with ON_STREAM_LATER. */
int on_stream_await(struct on_stream *stream, struct gpubind_error *err);
/* Later work in the stream comes after the ends of all that was queued. */
int on_stream_quiet(struct on_stream *stream, struct gpubind_error *err);
/* The stream was given one more wait (-1: and is past it) that is not for the end of what was
 * queued here, but for what the library does all the same. */
void on_stream_waits(struct on_stream *stream, int more);
void on_stream_close(struct on_stream *stream);

extern const struct module stream_module;

#endif
