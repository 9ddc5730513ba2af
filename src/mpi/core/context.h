/* The state of the library: its lock, its settings, whether it has started. */
#ifndef GPUBIND_MPI_CORE_CONTEXT_H
#define GPUBIND_MPI_CORE_CONTEXT_H

#include "mpi/base/config.h"
#include "mpi/base/nvtx_part.h"
#include "mpi/core/comm.h"

/* Begins a public call: takes the lock. A profiler sees it by its name, and by the rank that it names as the
 * other side. */
void library_enter_for(const char *call, int peer);
static inline void library_enter(const char *call)
{
    library_enter_for(call, NVTX_NOBODY);
}
/* Ends a public call and returns its result. An error goes to the communicator's error handler; the
 * text "CALL: SENTENCE" to gpubind_error_text, and to stderr when the handler ends the job. */
int library_leave(MPI_Comm comm, int result, const char *call, const struct gpubind_error *err);
/* The lock alone; it is recursive. It must not be held during collective calls of MPI. */
void library_lock(void);
void library_unlock(void);
/* Takes it; false: another thread has it, or waits for it. */
bool library_try_lock(void);
/* Around a call of MPI that may block, without the lock: below MPI_THREAD_MULTIPLE the progress
 * thread may take the lock only in between. */
void library_lend(void);
void library_take_back(void);
/* At the start. one_thread: the thread level lets one thread call at a time; the lock is a
 * no-op. */
void library_unshare(bool one_thread);
/* A second thread is about to call: from now on the lock is real at any thread level. */
void library_share(void);
/* This is the progress thread. */
void library_help(void);
/* This thread must not call MPI. */
void library_keep_from_mpi(bool kept);
bool library_may_call_mpi(void);
/* Releases the lock for threads that wait for it; for_long: yields the core to other processes,
 * too. */
void library_yield(bool for_long);

/* A barrier over comm during which this rank makes progress. Collective calls of MPI over comm that
 * follow do not depend on this library's progress. */
void library_barrier(MPI_Comm comm);

const struct settings *library_settings(void);
/* The attached communicator, or NULL with *result and a sentence. */
struct comm *library_comm(MPI_Comm user, int *result, struct gpubind_error *err);

enum library_phase { LIBRARY_NOT_YET, LIBRARY_RUNNING, LIBRARY_OVER };
enum library_phase library_phase(void);
bool library_started(void);
/* For the start and the end of the library; loaded stays valid. */
void library_use(const struct settings *loaded);
void library_is_now(enum library_phase now);
/* MPI is initialised and not finalised. */
bool library_mpi_is_up(void);

#endif
