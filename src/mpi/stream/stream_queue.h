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
#include "gpu/copy/copy_batch.h"
#include "gpu/exchange/signal_copy.h"
#include "mpi/base/modules.h"
#include "mpi/shm/segment.h"

struct stream_queue;

/* The operations of one piece of work. None may call MPI below MPI_THREAD_MULTIPLE, nor
 * release the lock. */
struct stream_work_ops {
    /* The stream has got to the call. May be NULL. */
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
/* A context is gone: a stream of another one may get the handle of one of its streams, and the flags of all queues
 * may have been page-locked in it. */
void stream_queues_forget(void);
/* When the stream waits for the completion of the work. */
enum stream_wait_mode {
    STREAM_WAIT_NEVER,
    STREAM_WAIT_NOW,
    STREAM_WAIT_LATER /* at stream_queue_await, or the next quiet: what is queued in between does not wait */
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
/* ---- work that streams do themselves: the library need not be there when they get to it */

/* The GPU whose stream it is; NULL: unknown. */
struct gpu *stream_queue_gpu(const struct stream_queue *stream);
/* A copy of so many bytes is a kernel's, which can write a slot; (waits) which can wait for one, too. */
bool stream_queue_launches(const struct stream_queue *stream, uint64_t nbytes, bool waits);
/* The gate of the next call, to be told to another rank before the call is put in by one of the functions below:
 * the stream writes `came` when it gets to the call, and (waits) waits for `go`. Its names are 0 where no other
 * rank sees the flags. 0, or -1 with a sentence. */
int stream_queue_plan(struct stream_queue *stream, bool waits, struct stream_gate *gate,
                      struct gpubind_error *err);
/* Puts the planned call in, as stream_queue_add; LATER: the stream waits for its flag at the next quiet. urgent: it
 * needs the progress thread at once; else other ranks are expected to do it. */
int stream_queue_add_planned(struct stream_queue *stream, const struct stream_work_ops *ops,
                             void *what, enum stream_wait_mode mode, bool urgent,
                             struct gpubind_error *err);

/* What the stream does, in this order; a step whose flag is NULL is left out. */
struct stream_steps {
    struct signal_flag wait; /* for another rank's flag */
    struct copy copy;        /* of 0 bytes: none */
    struct signal_flag set;  /* another rank's flag */
    gpu_address slot;        /* as in struct signal_copy */
};
/* In place of the planned call: start is called when the stream has done the steps. look_after is called before
 * that, too: a rank that is gone sets no flag. */
int stream_queue_add_steps(struct stream_queue *stream, const struct stream_work_ops *ops,
                           void *what, const struct stream_steps *steps, bool urgent,
                           struct gpubind_error *err);
/* The planned call, and the steps behind it, whose ops are `after`. */
int stream_queue_add_both(struct stream_queue *stream, const struct stream_work_ops *ops,
                          const struct stream_work_ops *after, void *what,
                          const struct stream_steps *steps, struct gpubind_error *err);
/* The same at the next quiet, all of them at once; ops may be NULL, and the steps wait for the planned call. The
 * stream goes on meanwhile. */
int stream_queue_add_later(struct stream_queue *stream, const struct stream_work_ops *ops,
                           const struct stream_work_ops *after, void *what,
                           const struct stream_steps *steps);
/* Nonblocking messages of a group, of at most so many bytes, are put in by the next quiet, in one launch. */
void stream_queue_group(struct stream_queue *stream, uint64_t nbytes);
/* A nonblocking message of so many bytes may be held so; if a send, */
bool stream_queue_holds(struct stream_queue *stream, uint64_t nbytes);
/* its gate's came_value then, in place of the planned one. */
uint32_t stream_queue_held_number(const struct stream_queue *stream);
/* In place of the planned call; a send that waits for nothing. */
int stream_queue_hold(struct stream_queue *stream, const struct stream_work_ops *ops, void *what,
                      const struct stream_steps *steps, bool urgent);
/* The planned call, a send whose data the receiver takes: the launch waits for it. Where there is no one launch for all,
 * it is put in as by stream_queue_add_planned with STREAM_WAIT_LATER. */
int stream_queue_offer(struct stream_queue *stream, const struct stream_work_ops *ops, void *what);
/* Such a receive: the steps, whose ops are `after`, in that launch; or the planned call, whose ops are `ops`. */
int stream_queue_take(struct stream_queue *stream, const struct stream_work_ops *ops,
                      const struct stream_work_ops *after, void *what,
                      const struct stream_steps *steps);
/* Puts in what is held: before any other send, or a call that waits, is planned. A failure is returned by the next
 * call with the stream. */
void stream_queue_release(struct stream_queue *stream);
/* The same for calls that put something else into the stream, unless it is being captured. */
void stream_queue_release_of(gpu_stream handle);
/* It could not be held after all, and that number was told of: it is that of the next call. */
void stream_queue_hold_not(struct stream_queue *stream, uint32_t number);
/* Nonblocking messages that are added between these two are a group, for which the stream waits at the end, and for no
 * nonblocking one of a call before: that may come later than these. */
void stream_queue_begin_pair(struct stream_queue *stream);
int stream_queue_end_pair(struct stream_queue *stream, struct gpubind_error *err);
/* There is room for one more of those that wait for a quiet, or were put in by one and are not over. */
bool stream_queue_has_later(struct stream_queue *stream);
/* Forgets the planned wait. */
void stream_queue_unplan(struct stream_queue *stream);
/* Counts waits in the stream that the library ends by other means than this queue: `more` were
 * put in (-1: one has ended). */
void stream_queue_count_waits(struct stream_queue *stream, int more);
/* Blocks that may wait in the GPU's streams (waiting_blocks.h), but for the one with that key (stream_key). */
unsigned stream_queues_blocks(const struct gpu *gpu, const void *but);
void stream_queue_close(struct stream_queue *stream);

extern const struct module stream_module;

#endif
