/* Shared by the files that open streams' queues (stream_open.c), put work into them (stream_queue.c, stream_steps.c,
 * stream_laters.c, stream_put.c, stream_quiet.c), and start and complete it (stream_progress.c). */
#ifndef GPUBIND_MPI_STREAM_STREAM_QUEUE_INTERNAL_H
#define GPUBIND_MPI_STREAM_STREAM_QUEUE_INTERNAL_H

#include "core/base/list.h"
#include "gpu/copy/copy_batch.h"
#include "gpu/exchange/flag_ops.h"
#include "gpu/exchange/gpu_flags.h"
#include "gpu/exchange/signal_copy.h"
#include "mpi/stream/stream_flag.h"
#include "mpi/stream/stream_queue.h"

/* Numbers of calls, as differences that may wrap. */
struct call_range {
    uint32_t first, end; /* end: not among them */
};

/* A wait of the stream for the library, which ends by setting the flag. */
struct stream_wait {
    struct stream_wait *next;
    struct stream_flag *flag;
    int left;                  /* entries that it waits for; of a quiet: */
    struct call_range entries; /* it waits for all of these */
    bool put;                  /* the stream waits for it; else a quiet may yet make it do so, */
    bool common;               /* or one waits for it and others by a flag of its own */
    uint32_t
        quiet;    /* the number of the quiet that has put it in; 0: it was put in by its own call */
    bool counted; /* in the queue's waits */
};

/* One piece of work in a stream. */
struct entry {
    struct entry *next;
    const struct stream_work_ops *ops;
    void *what;
    uint32_t number;          /* of the call */
    struct stream_wait *wait; /* NULL: the stream does not wait for it */
    bool by_stream;           /* the stream has done it when it gets to number, and may wait for
                                 another rank */
    bool counted;             /* in the queue's waits, until it is over */
    bool behind;              /* another entry of its call is in nqueued */
    bool later;               /* it was put in by a quiet */
    bool urgent;              /* the thread moves it */
    unsigned blocks;          /* of its launch, if counted in the queue's */
    bool reported;            /* the call itself has returned its failure */
};

struct entries {
    struct entry *first, **end;
};

/* A call that is put in by the next quiet. Its wait is not counted: until then nothing waits. */
struct stream_later {
    struct stream_later *next;
    const struct stream_work_ops *ops,
        *after; /* as of stream_queue_add_both; ops NULL: the steps alone */
    void *what;
    struct stream_wait *wait; /* of ops */
    struct stream_steps steps;
    uint32_t number; /* of a held send: that the stream writes when it is done, or a later one */
    bool urgent;     /* as of the entry */
};

struct stream_laters {
    struct stream_later *first, **end;
};

struct stream_queue {
    struct stream_queue *next;
    gpu_stream handle;
    const void *key;             /* see stream_key */
    struct gpu place;            /* its context alone */
    struct gpu *gpu;             /* whose streams the library copies in; NULL: unknown */
    struct gpu *whole;           /* the same, also where it can launch nothing in this one */
    bool green;                  /* it is of a green context */
    struct gpu_flags flags;      /* in its memory, for */
    struct signal_space space;   /* launches of several blocks */
    bool spins;                  /* kernels of it may wait for flags */
    int launches;                /* under way whose blocks may wait, more than one each: */
    unsigned blocks;             /* so many at a time */
    bool open;                   /* a call is using it, */
    int wanted;                  /* and so many wait to use it */
    struct stream_flag *reached; /* the number of the call that the stream has got to */
    /* Entries in their order: not started; started, with a wait; started, without one. */
    struct entries queued, awaited, unawaited;
    struct stream_laters laters;
    uint64_t holds; /* nonblocking sends of at most so many bytes are held until the next quiet: */
    struct stream_laters held;
    struct stream_laters offers,
        takes;      /* rendezvous sends of a group, and receives of such sends */
    unsigned nheld; /* sends that were told a number: held ones and offers */
    struct {
        struct stream_laters laters;
        uint64_t holds;
        uint32_t first; /* number of a call of the pair */
    } pair;             /* what it has put aside */
    int nqueued;        /* calls in queued */
    bool broken; /* a call could not be put in: others may wait until the stream gets to it */
    QUEUE_OF(struct stream_wait) quiets;
    struct stream_wait *later_wait; /* of STREAM_WAIT_LATER, not put in yet */
    struct stream_wait *planned;    /* of stream_queue_plan */
    int waits; /* that the stream may be in, but for those that quiets have taken */
    uint32_t nquiets;
    int result; /* of the first failure, until a call returns it */
    struct gpubind_error error;
};

extern struct stream_queue *stream_queues;
void stream_queue_free(struct stream_queue *stream);

/* ---- stream_channels.c */

/* Where the stream waits: the copy agent must not wait for its doorbell, since that would keep back other streams. */
bool stream_leaves_no_channel(const struct stream_queue *stream);
/* Says that streams may keep back all others, where they have waited for long. */
void stream_channels_look(void);

/* What is put into a stream. */
struct stream_op {
    enum { STREAM_FLAG, STREAM_COPIES, STREAM_SIGNAL } kind;
    struct gpu_flag_op flag;
    const struct copy *copies;
    int ncopies;
    struct signal_copies signal;
};

#define STREAM_AT_ONCE 64 /* copies in one call */

/* Of one call. */
struct stream_ops {
    struct stream_op ops[2 + 3 * STREAM_AT_ONCE];
    int n;
    struct signal_copy signals[STREAM_AT_ONCE], waits[STREAM_AT_ONCE];
    unsigned blocks; /* counted in the queue's */
    struct copy copies[STREAM_AT_ONCE];
};

struct stream_op stream_write_op(const struct stream_flag *flag);
struct stream_op stream_wait_op(const struct stream_flag *flag);
/* The flag that the stream is to write when it gets to the entry, or has done it; the entry's number. */
struct signal_flag stream_number(struct stream_queue *stream, struct entry *entry);
/* That ends the wait. */
struct signal_flag stream_flag_to_await(const struct stream_wait *wait);
extern const struct signal_flag stream_no_flag;
/* Fills in: a write of the flag begin, n steps, of which none waits for another, and a write of end. By one launch
 * of a kernel, if that takes less time. */
void stream_ops_add_copies(struct stream_queue *stream, struct stream_ops *ops,
                           const struct signal_flag *begin, const struct stream_steps *steps, int n,
                           const struct signal_flag *end);
/* By one launch, n steps of which the first n of sends wait for nothing, and a write of their flag when they are done,
 * whatever the others wait for. false: it cannot be one launch now, and nothing is filled in. */
struct stream_sends {
    int n;
    struct signal_flag done;
};
bool stream_ops_add_exchange(struct stream_queue *stream, struct stream_ops *ops,
                             const struct signal_flag *begin, const struct stream_sends *sends,
                             const struct stream_steps *steps, int n,
                             const struct signal_flag *end);
/* By memory operations around what a copy engine copies. */
void stream_ops_add_flags(struct stream_ops *ops, const struct signal_flag *begin,
                          const struct stream_steps *steps, int n, const struct signal_flag *end);
/* A launch is over, or could not be put in: its blocks; 0: they were not counted. */
void stream_blocks_end(struct stream_queue *stream, unsigned blocks);
/* Releases the lock: the driver may wait for room in the stream, which progress makes. 0, or -1 with a sentence. */
int stream_put_in(struct stream_queue *stream, const struct stream_op *ops, int n,
                  struct gpubind_error *err);
/* Adds an entry like model for what was put in; or (not good) could not be, and fails. */
void stream_add_entry(struct stream_queue *stream, const struct entry *model, void *what,
                      bool good);

struct stream_wait *stream_wait_make(int left, struct gpubind_error *err);
/* Before it is put in. */
void stream_wait_put(struct stream_queue *stream, struct stream_wait *wait);
void stream_wait_end(struct stream_queue *stream, struct stream_wait *wait);
/* The same where the stream could not be told to wait. A flag that another rank was told of (named) is not used
 * again: that rank may write it yet. */
void stream_wait_fail(struct stream_queue *stream, struct stream_wait *wait);
/* One that was put in is over. */
void stream_later_end(void);
/* Sends or receives of a group are kept for a quiet, or for a call that cannot wait so long. */
bool stream_queue_is_held(const struct stream_queue *stream);
/* Puts in what is held, and the laters. 0, or -1 with a sentence: some are not. */
int stream_put_laters(struct stream_queue *stream, struct gpubind_error *err);
/* The waits of these calls that the stream is not in, which a quiet puts in: at most n. 0: there are none, or more,
 * which are left to a wait of that quiet's own then. */
int stream_waits_take(struct stream_queue *stream, struct call_range calls,
                      struct stream_wait **waits, int n);
/* A launch that a quiet has put in waits for it. */
void stream_wait_put_later(struct stream_queue *stream, struct stream_wait *wait);
/* They could not be put in: they are left so, too. */
void stream_waits_leave(struct stream_queue *stream);
/* There is work of these calls that the stream neither does itself nor waits for. */
bool stream_leaves_open(const struct stream_queue *stream, struct call_range calls);
/* Ends what the stream has done by itself, so that the next call returns its failure. */
void stream_settle(struct stream_queue *stream);
/* Ends the oldest work that is over, whoever did it: a call wants room. */
void stream_settle_first(struct stream_queue *stream);
/* Counts entries and quiets of all streams: so many more. */
void stream_queues_count(int more);
/* Counts those that the thread moves. */
void stream_count_urgent(int more);

#endif
