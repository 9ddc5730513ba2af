/* Rendezvous get: the receiver copies straight from the sender's GPU memory, its own or mapped.
 * Copies that come together go together. */
#ifndef GPUBIND_MPI_TRANSPORT_RNDV_GET_H
#define GPUBIND_MPI_TRANSPORT_RNDV_GET_H

#include "mpi/core/request.h"

/* struct transport's get: from a rank that is this process; from memory that can be mapped. */
bool rndv_get_self(struct gpubind_operation *receive, const struct msg_header *header);
bool rndv_get_ipc(struct gpubind_operation *receive, const struct msg_header *header);
void rndv_gets_progress(void);
/* The memory of a message's sender, mapped here; from: its descriptor, where it is of the node. NULL: it cannot
 * be. */
struct mapping *rndv_get_map(const struct gpubind_operation *receive, struct peer *peer,
                             const struct msg_header *header, struct descriptor *from);

#endif
