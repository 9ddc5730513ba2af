/* Progress of the library's messages while the application is in an MPI call that blocks.
 *
 * - Calls between two ranks, and waits, become test loops while messages of the library are
 *   under way: each turn of the loop tests MPI's request and makes a step of progress.
 * - Around any other call the library is lent to the progress thread (progress_thread.h),
 *   which needs no MPI for messages within a node. It sleeps until another rank of the node
 *   has something for this one.
 * - Messages between nodes need MPI, which no second thread may call below
 *   MPI_THREAD_MULTIPLE. A rank cannot by itself replace a blocking collective call by a
 *   nonblocking one and a test loop, since the two do not match; but any collective call may
 *   synchronize. So on a communicator that spans nodes every rank announces such a call by
 *   MPI_Ibarrier, without waiting. A rank that has messages under way makes progress until
 *   all ranks have announced the call, and then calls MPI's function, which no longer waits
 *   for a rank that needs messages of the library.
 *
 * Within an intercepted function all of this does nothing: MPI's Fortran functions may call
 * those of C. */
#ifndef GPUBIND_MPI_STREAM_BLOCKING_H
#define GPUBIND_MPI_STREAM_BLOCKING_H

#include <mpi.h>
#include <stdbool.h>

/* Before a call that may block. false: nothing is to be done, and blocking_end is not called. */
bool blocking_begin(void);
void blocking_end(void);
/* 1 before and -1 after a Fortran function of MPI, which may call intercepted functions of C:
 * these do nothing meanwhile. */
void blocking_nest(int n);
/* Messages are under way: the caller uses a test loop. */
bool blocking_loops(void);
/* One turn of such a loop: a step of progress. *n counts the turns. */
void blocking_turn(int *n);
/* The test loop of a request. Returns what MPI_Wait would. */
int blocking_wait(MPI_Request *request, MPI_Status *status);
/* After an MPI call that tests: a step of progress for programs that poll by it. */
void blocking_poll(void);
/* Announces a collective call, and waits until all ranks have announced it where messages are
 * under way, or always with `wholly`. false: the communicator needs no announcements. */
bool blocking_announce(MPI_Comm comm, bool wholly);

#endif
