/* `ranks soak`: rounds of works of all kinds, which overlap. All ranks draw the same works
 * from a seed and take their steps in one order, so that no call waits for one behind it:
 * what a step waits for, other ranks have done in an earlier step, or do in the same one. */
#ifndef GPUBIND_TESTS_MPI_SOAK_H
#define GPUBIND_TESTS_MPI_SOAK_H

#include "tests/mpi/job.h"

enum { SOAK_STREAMS = 4, SOAK_TAGS = 64, SOAK_PENDING = 40, SOAK_LARGEST = 5 << 20 };

/* One work of a round. The ranks of comm do it together. */
struct work {
    const struct kind *kind;
    uint64_t state; /* what its ranks draw, all the same */
    uint64_t own;   /* what this rank draws for itself */
    MPI_Comm comm;
    int rank, size; /* of comm */
    bool alone;     /* no other work of the round uses comm */
    int tag;        /* the first of SOAK_TAGS that are this work's */
    int taken;      /* steps */
    void *data;
};

struct kind {
    const char *name;
    int weight; /* drawn so often */
    enum { SOAK_ANYWHERE, SOAK_ON_STREAMS } needs;
    int steps;
    /* Before any step of the round, when nothing is under way: allocates. */
    void (*make)(struct work *work);
    void (*step)(struct work *work, int step);
    /* When all works of the round have taken all steps on all ranks: looks, frees. */
    void (*look)(struct work *work);
};

extern const struct kind soak_messages, soak_wildcards, soak_cancels, soak_truncations, soak_shifts,
    soak_persistent, soak_channels, soak_pipelines, soak_windows, soak_halos, soak_communicators,
    soak_memory;

/* 0 and 1 wait for no other stream, 2 for the legacy one, 3 is that. */
extern struct CUstream_st *soak_streams[SOAK_STREAMS];
extern long long soak_count; /* messages that this rank has received, or got, and looked at */
extern bool soak_can_stream; /* messages on streams go to all ranks */

int below(uint64_t *state, int n);
/* A number for part n of what has this seed. */
uint64_t soak_seed(uint64_t seed, int n);
void *soak_zeros(size_t n, size_t nbytes);
/* All that is in the stream has ended; messages without a stream move meanwhile. */
void soak_drain(struct CUstream_st *stream);
/* One of MPI's own calls, of all ranks, with job.plain. */
void soak_plain_call(uint64_t *state);

/* ---- memory */

/* How the data of a message lie. */
struct layout {
    MPI_Datatype type;
    int count;
    size_t nbytes; /* of data */
    size_t room;   /* from the lowest byte to the highest */
    size_t origin; /* of the first element in it */
    bool derived;
};

struct layout layout_dense(size_t nbytes);
/* Of 12 * n integers: dense, or of a derived type. layout_clear frees that. */
struct layout layout_draw(uint64_t *state, int n);
void layout_clear(struct layout *layout);
/* A message's size, or n above; mostly small ones, and those around limits. */
size_t soak_draw_size(uint64_t *state);
int soak_draw_twelves(uint64_t *state);

/* Memory with such data, of a kind that is drawn, and where guards show what else was
 * written. */
struct slot {
    struct buffer view;
    struct layout layout;
    bool alone; /* the memory is its own */
};

/* "Untouched"; the layout stays the caller's. */
void slot_make(struct slot *slot, unsigned draw, struct layout layout);
/* The same in memory of the GPU's that streams can copy. */
void slot_make_on_gpu(struct slot *slot, struct layout layout);
void slot_clear(struct slot *slot);
char *slot_at(const struct slot *slot); /* the first element */
void slot_blank(const struct slot *slot);
void slot_fill(const struct slot *slot, uint64_t seed);
/* The first nbytes of the data are those of seed, and nothing else was written. */
bool slot_holds(const struct slot *slot, size_t nbytes, uint64_t seed);
/* The same as an expectation; also counts it. */
__attribute__((format(printf, 4, 5))) bool slot_expect(const struct slot *slot, size_t nbytes,
                                                       uint64_t seed, const char *format, ...);
/* Device memory to device memory, in the stream. */
void slot_copy(const struct slot *to, const struct slot *from, struct CUstream_st *stream);

void soak_memory_start(void);
/* The slots of a round are not needed any more. */
void soak_memory_rewind(void);
/* Frees some of the memory that slots lie in, and allocates other. */
void soak_memory_change(uint64_t *own);
void soak_memory_end(void);

/* ---- requests */

struct pending {
    gpubind_request requests[SOAK_PENDING];
    MPI_Status statuses[SOAK_PENDING];
    bool done[SOAK_PENDING];
    int n;
};

/* The place for the next one. */
gpubind_request *pending_add(struct pending *pending);
/* Ends all of them, by calls that are drawn. None may fail. */
void pending_end(struct pending *pending, uint64_t *own);

#endif
