/* What ranks of this node announce. */
#ifndef GPUBIND_MPI_P2P_INCOMING_H
#define GPUBIND_MPI_P2P_INCOMING_H

#include "mpi/core/domain.h"

/* Takes what ranks of the domain have announced, and moves nothing. */
void incoming_read(struct domain *domain);
/* The same of all domains. */
void incoming_read_all(void);
/* Closes mappings that their owners want closed, as soon as no copy uses them. */
void incoming_close_mappings(void);
/* One of the domain's is still used. */
bool incoming_closes_for(const struct domain *domain);

#endif
