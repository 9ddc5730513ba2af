/* Messages that came before their receive: how much of them this process keeps, and where.
 *
 * The data of a small message lie in an eager buffer of its sender at first. A sender has only so many
 * eager buffers and descriptors; when more than a few messages of one rank wait for their receives, those
 * that follow are taken into memory of this process, and the sender has its eager buffer and descriptor
 * back. That memory, and what small messages of other nodes take, has the limit
 * GPUBIND_UNEXPECTED; beyond it small messages wait at their senders. */
#ifndef GPUBIND_MPI_P2P_UNEXPECTED_H
#define GPUBIND_MPI_P2P_UNEXPECTED_H

#include "mpi/p2p/tag_match.h"

/* It was put into an unexpected queue, */
void unexpected_add(struct incoming_msg *incoming);
/* or is about to leave it. */
void unexpected_remove(struct incoming_msg *incoming);
/* The data of a message that was announced before are in an eager buffer now. */
void unexpected_eager_ready(const struct peer *peer, int descriptor);
/* Below the limit; well below it. */
bool unexpected_has_room(void);
bool unexpected_has_much_room(void);

#endif
