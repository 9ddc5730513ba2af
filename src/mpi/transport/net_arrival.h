/* Network messages on their way to this rank. For a large one MPI may need the sender's process, so
 * none is waited for: each is received by a request, and given up when its sender's process has
 * ended. The messages of a rank are delivered in their order; they hold up no other rank's. */
#ifndef GPUBIND_MPI_TRANSPORT_NET_ARRIVAL_H
#define GPUBIND_MPI_TRANSPORT_NET_ARRIVAL_H

#include "mpi/core/domain.h"

/* One that is here: bytes, from malloc, are the callee's; fewer than expected never come. NULL: MPI
 * could not receive it. */
typedef void net_arrived(struct domain *domain, struct peer *peer, char *bytes, size_t nbytes);

/* Begins to receive what has been sent to this rank, and delivers what is here. */
void net_arrivals_progress(struct domain *domain, net_arrived *deliver);
bool net_arrivals_pending(const struct domain *domain);

#endif
