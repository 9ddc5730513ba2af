/* The library as a whole: its lock, its settings, whether it runs. */
#ifndef GPUBIND_MPI_CORE_CONTEXT_H
#define GPUBIND_MPI_CORE_CONTEXT_H

#include "mpi/core/comm.h"
#include "mpi/core/config.h"

/* Every public call that touches the library's state runs between these two. */
void library_enter(void);
/* Ends it: what the call returns. An error is said to the communicator's handler, as
 * "CALL: SENTENCE" to gpubind_error_text, and on stderr when the handler ends the job. */
int library_leave(MPI_Comm comm, int result, const char *call, const struct gpubind_error *err);
/* The lock alone; a thread may take it again. Let go of it around MPI's collectives. */
void library_lock(void);
void library_unlock(void);
/* The same, or false: another thread has it, or wants it. */
bool library_try_lock(void);
/* Around a call of MPI that may block, where the lock is not held: below
 * MPI_THREAD_MULTIPLE the progress thread may take the lock in between only. */
void library_lend(void);
void library_take_back(void);
/* At the start: does MPI's thread level let one thread call at a time only? No lock then. */
void library_unshare(bool one_thread);
/* From now on a second thread calls: the lock is taken at any thread level. */
void library_share(void);
/* This is the progress thread. */
void library_help(void);
/* This thread must not call MPI. */
void library_keep_from_mpi(bool kept);
bool library_may_call_mpi(void);
/* Lets other threads in that wait to be, and (long: it has waited for long) other
 * processes. */
void library_breathe(bool for_long);

/* All ranks of comm are here, and everybody's messages have moved meanwhile: then calls of
 * MPI that are collective over comm end without that. */
void library_meet(MPI_Comm comm);

const struct settings *library_settings(void);
/* The attached communicator, or NULL with *result and a sentence. */
struct comm *library_comm(MPI_Comm user, int *result, struct gpubind_error *err);

enum library_phase { LIBRARY_NOT_YET, LIBRARY_RUNNING, LIBRARY_OVER };
enum library_phase library_phase(void);
bool library_started(void);
/* For the start and the end. The settings stay. */
void library_use(const struct settings *loaded);
void library_is_now(enum library_phase now);
/* MPI was started, and has not ended. */
bool library_mpi_is_up(void);

#endif
