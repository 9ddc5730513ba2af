/* The table of transports, and the walks over it. */
#ifndef GPUBIND_MPI_P2P_TRANSPORTS_H
#define GPUBIND_MPI_P2P_TRANSPORTS_H

#include "gpu/core/mem_query.h"
#include "mpi/core/domain.h"
#include "mpi/core/transport.h"

extern const struct transport transports[TRANSPORTS];

/* Receiver: the first transport that can get the data does. header: of the message. */
void transports_get(struct gpubind_operation *receive, const struct msg_header *header);
/* Sender: the first transport that finds an advertised buffer writes to it; false: none does. */
bool transports_put(struct gpubind_operation *send);
/* mpi: this thread may call MPI now. */
void transports_progress(bool mpi);
/* Allocates and page-locks what messages with that peer may need, as long as that is possible:
 * while a stream waits for the library it is not, see gpu/README.md. memory: on a GPU. */
void transports_prepare(struct domain *domain, const struct peer *peer,
                        const struct memory *memory);

#endif
