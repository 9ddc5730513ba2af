/* What moves messages, whenever a thread is in the library. */
#ifndef GPUBIND_MPI_ENGINE_H
#define GPUBIND_MPI_ENGINE_H

#include "mpi/operation.h"

/* Moves everything one step. */
void engine_progress(void);
/* Takes what ranks of this node have announced, and moves nothing. */
void engine_read_inboxes(void);
/* Something is under way that moves only in engine_progress. May be asked without the lock. */
bool engine_busy(void);
/* Another rank of the node has sent something that was not read yet. */
bool engine_inbox_waits(void);
/* What has changed for peers is told at the end of a step, and of every call. */
void engine_tell_peers(void);
/* Moves everything one step, for this operation's sake. */
void engine_test(struct gpubind_operation *operation);
/* Until all n (or any of them) are done. NULL operations and inactive ones count as done. A peer that is
 * gone ends the wait with an error. */
void engine_wait(struct gpubind_operation *const *operations, int n, bool any);
/* The process that it is to or from has ended; false when that cannot be seen. */
bool engine_peer_is_gone(const struct gpubind_operation *operation);
/* What a thread that waits for it sees from time to time: its peer is gone, nobody comes. */
void engine_look_after(struct gpubind_operation *operation);
/* While streams are held by messages, what comes after their work in the legacy stream has
 * to wait for that without the lock, and before it is put into a stream of ours. A call that
 * does not block waits only for what this process has to do for those streams. */
void engine_settle(const struct gpu *gpu, bool blocking);
/* Until *done, polling with pauses; false after seconds. */
bool engine_wait_for(bool (*done)(const void *), const void *argument, double seconds);
/* The rank's process, on this node, has ended. */
bool engine_is_gone(const struct domain *domain, const struct peer *peer);

#endif
