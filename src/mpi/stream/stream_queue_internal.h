/* Shared by stream_queue.c, which puts work into streams, and stream_progress.c, which starts and
 * completes it. */
#ifndef GPUBIND_MPI_STREAM_STREAM_QUEUE_INTERNAL_H
#define GPUBIND_MPI_STREAM_STREAM_QUEUE_INTERNAL_H

#include "core/base/list.h"
#include "mpi/stream/stream_flag.h"
#include "mpi/stream/stream_queue.h"

/* A wait of the stream for the library, which ends by setting the flag. */
struct stream_wait {
    struct stream_wait *next;
    struct stream_flag *flag;
    int left;        /* entries that it waits for; of a quiet: */
    uint32_t before; /* it waits for all entries with lower numbers */
};

/* One piece of work in a stream. */
struct entry {
    struct entry *next;
    const struct stream_work_ops *ops;
    void *what;
    uint32_t number;          /* of the call */
    struct stream_wait *wait; /* NULL: the stream does not wait for it */
    bool reported;            /* the call itself has returned its failure */
};

struct entries {
    struct entry *first, **end;
};

struct stream_queue {
    struct stream_queue *next;
    gpu_stream handle;
    const void *thread;          /* of a per-thread default stream */
    struct gpu place;            /* its context alone */
    struct gpu *gpu;             /* whose streams the library copies in; NULL: unknown */
    bool open;                   /* a call is using it, */
    int wanted;                  /* and so many wait to use it */
    struct stream_flag *reached; /* the number of the call that the stream has got to */
    /* Entries in their order: not started; started, with a wait; started, without one. */
    struct entries queued, awaited, unawaited;
    QUEUE_OF(struct stream_wait) quiets;
    struct stream_wait *later_wait; /* of STREAM_WAIT_LATER, not put in yet */
    int waits;                      /* that the stream may be in */
    int result;                     /* of the first failure, until a call returns it */
    struct gpubind_error error;
};

extern struct stream_queue *stream_queues;

struct stream_wait *stream_wait_make(struct stream_queue *stream, int left,
                                     struct gpubind_error *err);
void stream_wait_end(struct stream_queue *stream, struct stream_wait *wait);
/* Counts entries and quiets of all streams: so many more. */
void stream_queues_count(int more);

#endif
