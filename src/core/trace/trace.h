/* What one rank has sent, received and called together with others: the events with their times, as many as
 * there is room for, and sums of all of them; and both as a JSON document that trace viewers open. */
#ifndef GPUBIND_CORE_TRACE_TRACE_H
#define GPUBIND_CORE_TRACE_TRACE_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/text.h"

/* How data went. */
enum trace_path {
    TRACE_DIRECT,   /* from GPU to GPU */
    TRACE_PACKED,   /* the same, packed or unpacked in GPU memory */
    TRACE_NCCL,     /* by NCCL */
    TRACE_BUFFERED, /* meant to go directly, and copied to host memory after all */
    TRACE_STAGED,   /* through host memory, which MPI was given */
    TRACE_PLAIN,    /* MPI was given the application's buffer */
    TRACE_PATHS
};

enum trace_kind {
    TRACE_NOTHING,
    TRACE_SEND,
    TRACE_RECEIVE,
    TRACE_PUT,
    TRACE_GET,
    TRACE_UPDATE, /* an accumulate */
    TRACE_COLLECTIVE,
    TRACE_KINDS
};

#define TRACE_NOBODY (-1) /* a peer: a process of another MPI_COMM_WORLD; or a collective call */

/* Times in ns of one clock, for all threads of the rank. */
struct trace_event {
    uint64_t start, end;
    uint64_t bytes;
    const char *name; /* of a collective call; the string stays */
    int32_t peer;     /* rank of MPI_COMM_WORLD */
    int32_t tag;      /* of messages */
    uint8_t kind, path;
};

struct trace_sum {
    _Atomic uint64_t calls, bytes, ns;
};

#define TRACE_NAMES 128 /* different collective functions; those that come later are not summed */

struct trace {
    struct trace_event *events;
    size_t room;
    _Atomic size_t nevents;  /* that there were: more than room, then the last ones are dropped */
    int size;                /* ranks */
    struct trace_sum *pairs; /* [size + 1][TRACE_COLLECTIVE][TRACE_PATHS], size: of TRACE_NOBODY */
    const char *_Atomic names[TRACE_NAMES];
    struct trace_sum *collectives; /* [TRACE_NAMES][TRACE_PATHS] */
};

/* Whose calls: a process may have both libraries. */
enum trace_library { TRACE_LIBGPUBIND_AWARE, TRACE_LIBGPUBIND };

/* Of which the document tells. */
struct trace_job {
    enum trace_library whose;
    const char *version, *host;
    const char *job; /* alike on all ranks of a job, another one of other jobs; NULL: not known */
    int rank;
    uint64_t started; /* of the events' clock: the document's times count from here */
    uint64_t entered; /* of the same clock: before all ranks were in MPI_Init, or in gpubind_init */
    uint64_t ended;
    uint64_t
        started_unix; /* the same time in ns since 1970, by which ranks' documents are put together */
};

/* 0, or -1: out of memory, and there is nothing to free. */
int trace_init(struct trace *trace, int size, size_t room);
void trace_free(struct trace *trace);
/* Any thread. Where there is no room any more it is summed all the same. */
void trace_record(struct trace *trace, const struct trace_event *event);

/* Nothing is recorded any more; the events are sorted. */
void trace_render(struct trace *trace, const struct trace_job *job, struct text *text);

/* Gives each of n events, sorted by their starts, one of a few rows of its kind, from 0 on, such that those
 * of a row do not overlap, as long as there are rows. */
#define TRACE_ROWS 64
void trace_rows(const struct trace_event *events, size_t n, unsigned char *rows);

#endif
