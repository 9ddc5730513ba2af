/* The progress thread: makes steps of progress for work that was put into streams, while the
 * application's threads are outside the library. */
#ifndef GPUBIND_MPI_CORE_PROGRESS_THREAD_H
#define GPUBIND_MPI_CORE_PROGRESS_THREAD_H

#include <stdbool.h>

#include "core/base/error.h"

/* Starts it, once; from then on the library's lock is real at any thread level. 0, or -1 with a
 * sentence. */
int progress_thread_start(struct gpubind_error *err);
/* Wakes it: there is work. */
void progress_thread_wake(void);
/* GPUBIND_PROGRESS_THREAD=1: it makes progress for all messages. 0, or -1 with a sentence. */
int progress_thread_help_always(struct gpubind_error *err);
/* Around a call of MPI that may block, with the lock: meanwhile it makes steps of progress, as
 * far as that needs no MPI or it may call MPI, whenever something is under way or another
 * rank of the node asks for something. Starts it where need be. */
void progress_thread_enter(void);
void progress_thread_leave(void);
/* At the end of a public call: wakes it if the call has begun work for it. */
void progress_thread_look(void);
/* It may call MPI: the thread level is MPI_THREAD_MULTIPLE. */
bool progress_thread_has_mpi(void);
/* All ranks are in gpubind_finalize: waits for what is under way, gives up what can no longer
 * match, and ends the thread. */
void progress_thread_stop(void);

#endif
