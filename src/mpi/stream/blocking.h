/* MPI calls that block move the library's messages meanwhile. Three means:
 *
 * - Calls between two ranks, and waits, become test loops while something is under way:
 *   MPI's own messages and the library's move in turn.
 * - Around any other call the library is lent to the progress thread (progress_thread.h),
 *   which needs no MPI for what moves within a node. It sleeps until another rank of the
 *   node has something for this one.
 * - What moves between nodes needs MPI, which below MPI_THREAD_MULTIPLE no second thread
 *   may call. Blocking collective calls do not match nonblocking ones, so that a rank
 *   cannot decide alone to make a test loop of one. But each may synchronise. So every
 *   rank that enters one announces it, by MPI_Ibarrier, without waiting; a rank that has
 *   something under way moves that until all are announced, and then calls MPI's, which
 *   needs nothing more of gpubind on any rank. This is the gate of a communicator whose
 *   ranks are on several nodes.
 *
 * Inside another stand-in, as MPI's Fortran calls MPI's C, all of this does nothing. */
#ifndef GPUBIND_MPI_STREAM_BLOCKING_H
#define GPUBIND_MPI_STREAM_BLOCKING_H

#include <mpi.h>
#include <stdbool.h>

/* Around a call that may block: false: nothing needs to be done, and no blocking_end. */
bool blocking_begin(void);
void blocking_end(void);
/* Around Fortran's function, which in some MPI calls those of C that are stood in for, too:
 * these do nothing then. 1, and -1 afterwards. */
void blocking_nest(int n);
/* Something is under way: a test loop moves it. */
bool blocking_loops(void);
/* One round of such a loop: a step of progress; n counts them. */
void blocking_turn(int *n);
/* The loop of a request that is completed by it: what MPI_Wait returns. */
int blocking_wait(MPI_Request *request, MPI_Status *status);
/* After a call of MPI's that tests: whoever polls by it moves everything. */
void blocking_poll(void);
/* Before a collective call; false: the communicator has no gate. wholly: waits for all ranks
 * in any case. */
bool blocking_announce(MPI_Comm comm, bool wholly);

#endif
