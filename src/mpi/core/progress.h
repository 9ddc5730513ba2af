/* Progress: one step moves everything that is under way; waits and tests make steps. */
#ifndef GPUBIND_MPI_CORE_PROGRESS_H
#define GPUBIND_MPI_CORE_PROGRESS_H

#include "mpi/core/request.h"

/* Makes one step of progress. */
void progress_step(void);
/* Something is under way that only progress_step moves. May be called without the lock. */
bool progress_busy(void);
/* There are unread announcements from ranks of the node. */
bool progress_inbox_waits(void);
/* Notifies peers whose descriptors have changed; at the end of a step, and of every call. */
void progress_notify_peers(void);
/* A step of progress for a call that does not wait, which a program may make in a loop: now and
 * then it lets MPI make progress, too. */
void progress_poll(void);
/* A step of progress for MPI_Test and its like; NULL and inactive requests are ignored. */
void progress_test(struct gpubind_operation *const *operations, int n);
/* Waits until all n (or any of them) are done. NULL and inactive requests count as done. A peer
 * that is gone ends the wait with an error. */
void progress_wait(struct gpubind_operation *const *operations, int n, bool any);
/* The process of the request's peer has ended; false when that is not visible. */
bool request_peer_is_gone(const struct gpubind_operation *operation);
/* Makes progress until done returns true; false when seconds have passed. */
bool progress_wait_for(bool (*done)(const void *), const void *argument, double seconds);
/* The rank's process has ended. */
bool peer_is_gone(struct domain *domain, const struct peer *peer);

#endif
