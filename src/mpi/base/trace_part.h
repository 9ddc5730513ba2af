/* GPUBIND_TRACE: a library's part of this rank's trace (core/trace/trace.h). Each library of a process and each
 * rank has a file of its own, so that none waits for another, and none need be there. */
#ifndef GPUBIND_MPI_BASE_TRACE_PART_H
#define GPUBIND_MPI_BASE_TRACE_PART_H

#include <mpi.h>
#include <stdbool.h>

#include "core/trace/trace.h"

extern bool trace_part_is_on;

/* The name of libgpubind's own communicators. It tells of what its functions send there itself, so that the other
 * library leaves it out. */
#define TRACE_OWN_COMM "gpubind: what libgpubind sends by MPI"

/* MPI is about to be. Where it is not called, ranks wait for each other behind trace_part_open. */
void trace_part_enter(void);
/* MPI is there. Opens the file where the variable asks for one; if it cannot be written, says so and leaves it
 * at that. true: it is on now, and was not before. */
bool trace_part_open(enum trace_library library);
/* ns of the clock of events. */
uint64_t trace_part_now(void);
/* Any thread; nothing where it is off. */
void trace_part_record(const struct trace_event *event);
/* Nothing is recorded any more. Writes the file. */
void trace_part_close(void);

/* A rank as an event's peer: MPI_UNDEFINED is nobody of MPI_COMM_WORLD. */
static inline int trace_part_peer(int world)
{
    return world == MPI_UNDEFINED ? TRACE_NOBODY : world;
}

#endif
