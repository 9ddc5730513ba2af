/* Receiver's side of small messages from other nodes that were announced before their data were
 * ready (MSG_PAYLOAD_DEFERRED): receives that wait for the data. */
#ifndef GPUBIND_MPI_P2P_DEFERRED_PAYLOAD_H
#define GPUBIND_MPI_P2P_DEFERRED_PAYLOAD_H

#include "mpi/p2p/tag_match.h"

/* The receive has matched such a message. */
void deferred_payload_expect(struct gpubind_operation *receive);
/* The data have arrived: malloc'ed, owned by this module from now on. The message may have been
 * received (truncated) before. */
void deferred_payload_take(const struct peer *peer, const struct msg_header *header, char *data);

/* The sender has died: the receive waits no longer. */
void deferred_payload_withdraw(struct gpubind_operation *receive);

#endif
