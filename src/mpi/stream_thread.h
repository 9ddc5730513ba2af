/* The thread that makes steps of the engine while streams have been given something; the
 * host's own threads are elsewhere. */
#ifndef GPUBIND_MPI_STREAM_THREAD_H
#define GPUBIND_MPI_STREAM_THREAD_H

#include <stdbool.h>

#include "core/error.h"

/* Starts it, once; from then on the library's lock is a real one at any thread level. 0,
 * or -1 with a sentence. */
int stream_thread_start(struct gpubind_error *err);
/* There is work. */
void stream_thread_wake(void);
/* MPI_THREAD_MULTIPLE: it may serve what needs MPI. */
bool stream_thread_has_mpi(void);
/* All ranks are at their end: what nobody has sent or received by now, nobody will, but for
 * what is on its way. Ends when that is over, and ends the thread. */
void stream_thread_stop(void);

#endif
