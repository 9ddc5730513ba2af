/* Reads what ranks of this node have announced: messages, and mappings that are to be closed. */
#ifndef GPUBIND_MPI_P2P_INCOMING_H
#define GPUBIND_MPI_P2P_INCOMING_H

#include "mpi/core/domain.h"

/* Reads the announcements of the domain's ranks; matches messages, but makes no other progress. */
void incoming_read(struct domain *domain);
/* The same for all domains. */
void incoming_read_all(void);
/* Closes mappings that their owners have asked to be closed, when no copy uses them any more. */
void incoming_close_mappings(void);
/* A copy still uses such a mapping of the domain. */
bool incoming_closes_for(const struct domain *domain);

#endif
