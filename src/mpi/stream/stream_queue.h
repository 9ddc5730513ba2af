/* Work of the library in the order of the application's streams.
 *
 * When a stream gets to a call, it writes the call's number to a flag, which starts the call's
 * work; then it waits for another flag, which the library sets when that work is complete.
 * Every step of progress looks at the flags and at the work, in any thread; while there is
 * such work, the progress thread makes steps (progress_thread.h). */
#ifndef GPUBIND_MPI_STREAM_STREAM_QUEUE_H
#define GPUBIND_MPI_STREAM_STREAM_QUEUE_H

#include <stdbool.h>

#include "core/base/error.h"
#include "gpu/core/gpu_context.h"
#include "mpi/base/modules.h"

struct stream_queue;

/* The operations of one piece of work. None may call MPI below MPI_THREAD_MULTIPLE, nor
 * release the lock. */
struct stream_work_ops {
    /* The stream has got to the call. */
    void (*start)(void *what);
    /* Instead of start: the work could not be put into the stream, or the stream is lost. */
    void (*fail)(void *what);
    /* Called in every step of progress from then on. true: the work is complete, with an MPI
     * error class and, unless that is MPI_SUCCESS, a sentence; the stream forgets `what`. */
    bool (*is_over)(void *what, int *result, struct gpubind_error *err);
    /* Ten times a second, for work that was started; e.g. checks the peer. May be NULL. */
    void (*look_after)(void *what);
    /* All ranks are at the library's end, before or after start: work that cannot complete any
     * more has to end soon. May be NULL. */
    void (*give_up)(void *what);
};

/* Opens the queue of a stream between library_enter and library_leave: no other thread adds to
 * it until stream_queue_close. NULL with *result and a sentence: the stream is being captured,
 * the driver cannot do it, or work of an earlier call failed, which is returned once. */
struct stream_queue *stream_queue_open(gpu_stream handle, int *result, struct gpubind_error *err);
/* The context is gone: a stream of another context may get the same handle. */
void stream_queues_forget(gpu_context context);
/* When the stream waits for the completion of the work. */
enum stream_wait_mode {
    STREAM_WAIT_NEVER,
    STREAM_WAIT_NOW,
    STREAM_WAIT_LATER /* at stream_queue_await: the caller queues work of its own in between */
};
/* Puts n pieces of work into the stream. Releases the library's lock meanwhile. An MPI error
 * class; after a failure the stream waits for none of them. */
int stream_queue_add(struct stream_queue *stream, const struct stream_work_ops *ops,
                     void *const whats[], int n, enum stream_wait_mode mode,
                     struct gpubind_error *err);
/* The stream waits here for the work that was added with STREAM_WAIT_LATER. */
int stream_queue_await(struct stream_queue *stream, struct gpubind_error *err);
/* The stream waits here for all work that was added before. */
int stream_queue_quiet(struct stream_queue *stream, struct gpubind_error *err);
/* Counts waits in the stream that the library ends by other means than this queue: `more` were
 * put in (-1: one has ended). */
void stream_queue_count_waits(struct stream_queue *stream, int more);
void stream_queue_close(struct stream_queue *stream);

extern const struct module stream_module;

#endif
