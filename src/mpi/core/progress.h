/* What moves messages, whenever a thread is in the library. */
#ifndef GPUBIND_MPI_CORE_PROGRESS_H
#define GPUBIND_MPI_CORE_PROGRESS_H

#include "mpi/core/request.h"

/* Moves everything one step. */
void progress_step(void);
/* Something is under way that moves only in progress_step. May be asked without the lock. */
bool progress_busy(void);
/* Another rank of the node has sent something that was not read yet. */
bool progress_inbox_waits(void);
/* What has changed for peers is told at the end of a step, and of every call. */
void progress_notify_peers(void);
/* The same in a call that does not wait, which a program may make in a loop: MPI's own
 * messages are moved as well, every so often. */
void progress_poll(void);
/* Moves everything one step, for the sake of these; NULL and inactive ones among them. */
void progress_test(struct gpubind_operation *const *operations, int n);
/* Until all n (or any of them) are done. NULL operations and inactive ones count as done. A peer that is
 * gone ends the wait with an error. */
void progress_wait(struct gpubind_operation *const *operations, int n, bool any);
/* The process that it is to or from has ended; false when that cannot be seen. */
bool request_peer_is_gone(const struct gpubind_operation *operation);
/* Until *done, polling with pauses; false after seconds. */
bool progress_wait_for(bool (*done)(const void *), const void *argument, double seconds);
/* The rank's process has ended. */
bool peer_is_gone(struct domain *domain, const struct peer *peer);

#endif
