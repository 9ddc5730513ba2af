/* Rendezvous put: a receive that a call waits for advertises its buffer (RTR, ready to receive) to
 * the one sender that it can come from; the sender copies into it. A put takes 0.5 us less than a
 * get, and the receiver has had time to see that its GPU is idle. See struct rtr. */
#ifndef GPUBIND_MPI_P2P_RNDV_PUT_H
#define GPUBIND_MPI_P2P_RNDV_PUT_H

#include "mpi/core/request.h"

/* Advertises the buffer of a posted receive that a call waits for, if it can be. */
void rtr_post(struct gpubind_operation *receive);
/* While waiting: publishes that earlier GPU work on the buffer is done, and checks whether the
 * sender has copied. */
void rtr_progress(struct gpubind_operation *receive);
/* Another message matches the receive. The sender cannot use the RTR any more: it names the
 * sequence number of the next message, and that one has been sent. */
void rtr_withdraw(struct gpubind_operation *receive);
/* Withdraws the RTR, if there is one. false: the sender has matched it, and is copying. */
bool rtr_cancel(struct gpubind_operation *receive);
/* To be called before the message with that sequence number is matched: the one before it may have
 * been put into the advertised buffer, and completes that receive first. */
void rtr_settle_before(struct peer *peer, uint64_t sequence);

/* The buffer is GPU memory that the peer and this rank can copy from and to by themselves. */
bool rndv_may_copy(const struct gpubind_operation *operation);
/* The receiver's memory, mapped here. NULL: it cannot be, of which a warning has told. */
struct mapping *rndv_map(const struct gpubind_operation *send, const struct memory_export *shared);
/* struct transport's put: copies to the advertised buffer and completes the send. false: there is
 * none that matches. */
bool rndv_put(struct gpubind_operation *send);

#endif
