/* Small messages to other nodes that are announced before their data are ready: receives
 * that have such an announcement, and the data when they come. */
#ifndef GPUBIND_MPI_P2P_DEFERRED_PAYLOAD_H
#define GPUBIND_MPI_P2P_DEFERRED_PAYLOAD_H

#include "mpi/p2p/tag_match.h"

/* The receive's early message has no data yet. */
void deferred_payload_expect(struct gpubind_operation *receive);
/* They are here, malloc'ed, and change hands; the message may be consumed already. */
void deferred_payload_take(const struct peer *peer, const struct wire_header *header, char *data);

/* It is expected no more: its sender is gone. */
void deferred_payload_withdraw(struct gpubind_operation *receive);

#endif
