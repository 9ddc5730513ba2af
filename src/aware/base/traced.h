/* GPUBIND_TRACE: the application's calls, as events of a trace (core/trace/trace.h) that this rank writes to
 * a file of its own when MPI ends; and as ranges of a profiler (mpi/base/nvtx_part.h), each for as long as the call
 * itself. What this library and others behind it call is neither. Where nobody asks for them, a call costs the look
 * at one byte. Any thread may call these. */
#ifndef GPUBIND_AWARE_TRACED_H
#define GPUBIND_AWARE_TRACED_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "aware/base/next.h"
#include "mpi/base/nvtx_part.h"
#include "mpi/base/trace_part.h"

struct world_ranks;

/* A call under way. */
struct traced {
    struct trace_event event;  /* start 0: it is not traced, or not now; kind: it is no event yet */
    struct world_ranks *ranks; /* of a receive from any rank; NULL: MPI_COMM_WORLD's */
    bool from_any;
    bool is_range; /* of a profiler */
};

/* Somebody asks for calls. */
extern bool traced_is_on;

/* This thread is in a call that is traced as a whole. */
extern __thread bool traced_inside __attribute__((tls_model("initial-exec")));

/* After MPI_Init: opens the file, and finds the profiler, if these are asked for. */
void traced_open(void);
/* MPI is about to end: writes it. */
void traced_write(void);

/* What the next functions do where somebody asks for calls. */
void traced_start(struct traced *call, const char *name, int rank);
bool traced_push(const char *name, int rank);

/* A call begins. The next ones do nothing where it is not traced. name: of the range that begins with it, to or from
 * that rank, unless it is below 0; NULL: it has no range. */
static inline void traced_begin(struct traced *call, const char *name, int rank)
{
    call->event.start = 0;
    call->event.kind = TRACE_NOTHING;
    call->ranks = NULL;
    call->from_any = false;
    call->is_range = false;
    if (__builtin_expect(traced_is_on, false))
        traced_start(call, name, rank);
}
static inline void traced_pop(const bool *is_range)
{
    if (__builtin_expect(*is_range, false))
        nvtx_part_pop();
}
static inline void traced_leave(const struct traced *call)
{
    traced_pop(&call->is_range);
}
/* Defines the variable, and begins the call, whose range ends where the variable does. */
#define TRACED(call, name, rank)                               \
    struct traced call __attribute__((cleanup(traced_leave))); \
    traced_begin(&(call), name, rank)
/* A call that is a range, and no event. */
#define TRACED_RANGE(name)                                                                         \
    const bool is_range                                                                            \
        __attribute__((cleanup(traced_pop), unused)) = __builtin_expect(nvtx_part_is_on, false) && \
                                                       traced_push(name, NVTX_NOBODY)
static inline bool traced_has_begun(const struct traced *call)
{
    return __builtin_expect(call->event.start != 0, false);
}
/* It is an event, now or, where it is persistent, when it is started. */
static inline bool traced_is_event(const struct traced *call)
{
    return __builtin_expect(call->event.kind != TRACE_NOTHING, false);
}

/* Of the next ones each is for a call that has begun. A message of count elements from or to a rank of the
 * communicator, which for a receive may be MPI_ANY_SOURCE. */
void traced_message(struct traced *call, enum trace_kind kind, enum trace_path path,
                    MPI_Count count, MPI_Datatype type, int rank, int tag, MPI_Comm comm);
/* A receive, of whose message MPI knows: its sender and length. */
void traced_matched(struct traced *call, const MPI_Status *status);
/* Records it, if it is an event; it may be started again. */
void traced_end(struct traced *call);
/* A persistent one is started. */
void traced_restart(struct traced *call);
/* It is not needed any more. */
void traced_drop(struct traced *call);

#endif
