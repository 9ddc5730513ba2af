/* Unexpected messages: how much of their data this process keeps, and where.
 *
 * The data of a small message lie in an eager buffer of its sender at first. A sender has few eager
 * buffers and descriptors; when several messages of one rank are unexpected, further ones are
 * copied to memory of this process, which gives the sender its eager buffer and descriptor back.
 * This memory, together with small messages from other nodes, is limited by GPUBIND_UNEXPECTED;
 * beyond the limit small messages wait at their senders. */
#ifndef GPUBIND_MPI_P2P_UNEXPECTED_H
#define GPUBIND_MPI_P2P_UNEXPECTED_H

#include "mpi/p2p/tag_match.h"

/* Counts a message that was put into an unexpected queue, and copies its data if need be. */
void unexpected_add(struct incoming_msg *incoming);
/* The message leaves the queue. */
void unexpected_remove(struct incoming_msg *incoming);
/* The sender has copied the data of an announced message to an eager buffer. */
void unexpected_eager_ready(const struct peer *peer, int descriptor);
/* Below the limit; well below it. */
/* A message that a stream takes out of an eager buffer of the peer, who knows when: counts it with those that
 * are unexpected there. false: the peer needs the buffer. */
bool eager_share_take(const struct domain *domain, struct peer *peer);
void eager_share_give(struct peer *peer);
bool unexpected_has_room(void);
bool unexpected_has_much_room(void);

#endif
