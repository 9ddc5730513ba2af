/* Of stream_queue.h, which puts things into streams, and stream_progress.c, which looks after them. */
#ifndef GPUBIND_MPI_STREAM_STREAM_QUEUE_INTERNAL_H
#define GPUBIND_MPI_STREAM_STREAM_QUEUE_INTERNAL_H

#include "mpi/stream/stream_flag.h"
#include "mpi/stream/stream_queue.h"

/* A wait in the stream. */
struct stream_wait {
    struct stream_wait *next;
    struct stream_flag *flag;
    int left;        /* entries that it is closed for; or, of a quiet, */
    uint32_t before; /* it is closed for all with a lower number */
};

/* One thing in a stream. */
struct entry {
    struct entry *next;
    const struct stream_work_ops *ops;
    void *what;
    uint32_t number;   /* of the call */
    struct stream_wait *wait; /* NULL: nothing waits for it */
    bool said;         /* that it went wrong */
};

struct list {
    struct entry *first, **end;
};

struct stream_queue {
    struct stream_queue *next;
    struct CUstream_st *handle;
    const void *thread;   /* of a per-thread default stream */
    struct gpu place;     /* its context alone */
    struct gpu *gpu;      /* whose streams the library copies in; NULL: cannot be had */
    bool open;            /* a call is using it, */
    int wanted;           /* or so many wait for it */
    struct stream_flag *reached; /* the number of the call that it has got to */
    /* Entries in their order: not started yet, started and with a gate, and without. */
    struct list queued, awaited, unawaited;
    struct stream_wait *quiets, **quiets_end;
    struct stream_wait *later_wait;   /* of an open call that has not put its wait in */
    int waits;            /* gates in it that are closed */
    int result;           /* of the first that went wrong, until it is said */
    struct gpubind_error error;
};

extern struct stream_queue *stream_queues;

void list_append(struct list *list, struct entry *entry);
/* Takes out the entry that link points to. */
struct entry *list_take(struct list *list, struct entry **link);
struct stream_wait *stream_wait_make(struct stream_queue *stream, int left,
                                     struct gpubind_error *err);
void stream_wait_end(struct stream_queue *stream, struct stream_wait *wait);
/* So many entries and quiets more, of all streams. */
void stream_queues_count(int more);

#endif
