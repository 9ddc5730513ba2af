/* What moves messages, whenever a thread is in the library. */
#ifndef GPUBIND_MPI_CORE_PROGRESS_H
#define GPUBIND_MPI_CORE_PROGRESS_H

#include "mpi/core/request.h"

/* Moves everything one step. */
void engine_progress(void);
/* Something is under way that moves only in engine_progress. May be asked without the lock. */
bool engine_busy(void);
/* Another rank of the node has sent something that was not read yet. */
bool engine_inbox_waits(void);
/* What has changed for peers is told at the end of a step, and of every call. */
void engine_tell_peers(void);
/* The same in a call that does not wait, which a program may make in a loop: MPI's own
 * messages are moved as well, every so often. */
void engine_poll(void);
/* Moves everything one step, for the sake of these; NULL and inactive ones among them. */
void engine_test(struct gpubind_operation *const *operations, int n);
/* Until all n (or any of them) are done. NULL operations and inactive ones count as done. A peer that is
 * gone ends the wait with an error. */
void engine_wait(struct gpubind_operation *const *operations, int n, bool any);
/* The process that it is to or from has ended; false when that cannot be seen. */
bool engine_peer_is_gone(const struct gpubind_operation *operation);
/* Until *done, polling with pauses; false after seconds. */
bool engine_wait_for(bool (*done)(const void *), const void *argument, double seconds);
/* The rank's process has ended. */
bool engine_is_gone(struct domain *domain, const struct peer *peer);

#endif
