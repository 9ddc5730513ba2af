/* The thread that makes steps of progress while streams have been given something; the
 * host's own threads are elsewhere. */
#ifndef GPUBIND_MPI_CORE_PROGRESS_THREAD_H
#define GPUBIND_MPI_CORE_PROGRESS_THREAD_H

#include <stdbool.h>

#include "core/base/error.h"

/* Starts it, once; from then on the library's lock is a real one at any thread level. 0,
 * or -1 with a sentence. */
int progress_thread_start(struct gpubind_error *err);
/* There is work. */
void progress_thread_wake(void);
/* GPUBIND_PROGRESS_THREAD=1: it makes steps of progress wherever the application is. 0, or -1 with
 * a sentence. */
int progress_thread_help_always(struct gpubind_error *err);
/* Around a call of MPI that may block, with the lock: meanwhile it makes steps of progress, as
 * far as that needs no MPI or it may call MPI, whenever something is under way or another
 * rank of the node asks for something. Starts it where need be. */
void progress_thread_enter(void);
void progress_thread_leave(void);
/* At the end of a call of the library: what that has begun may be for it to move. */
void progress_thread_look(void);
/* MPI_THREAD_MULTIPLE: it may serve what needs MPI. */
bool progress_thread_has_mpi(void);
/* All ranks are at their end: what nobody has sent or received by now, nobody will, but for
 * what is on its way. Ends when that is over, and ends the thread. */
void progress_thread_stop(void);

#endif
