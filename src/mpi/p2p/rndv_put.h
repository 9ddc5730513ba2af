/* A receive that waits offers its buffer to the sender, who then copies into it: a push
 * takes 0.5 us less than a pull, and the receiver has had time to see that its GPU is
 * idle. See struct offer. */
#ifndef GPUBIND_MPI_P2P_RNDV_PUT_H
#define GPUBIND_MPI_P2P_RNDV_PUT_H

#include "mpi/core/request.h"

/* A posted receive that a thread waits for, offered if it can be. */
void rtr_post(struct gpubind_operation *receive);
/* While waiting: says when earlier GPU work is done, sees whether it was taken. */
void rtr_progress(struct gpubind_operation *receive);
/* Another message has come for it; the sender that it was offered to cannot take it
 * any more, since it has sent another message since. */
void rtr_withdraw(struct gpubind_operation *receive);
/* Ends the offer, if there is one. false: the sender has taken it, and fills the buffer. */
bool rtr_cancel(struct gpubind_operation *receive);
/* The offer to this peer, before a message of its with that number is looked at: the
 * one before it may have gone into the offered buffer. */
void rtr_settle_before(struct peer *peer, uint64_t sequence);

/* Sends into an offered buffer and ends the send: true. false: there is none. */
bool rndv_put(struct gpubind_operation *send);

#endif
