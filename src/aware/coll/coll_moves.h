/* Collective calls that move data, as messages of this library between GPUs (direct_send.h). All ranks have agreed
 * on it (coll_comm.h), and all data is GPU memory. Each returns an MPI error class. */
#ifndef GPUBIND_AWARE_COLL_MOVES_H
#define GPUBIND_AWARE_COLL_MOVES_H

#include <stddef.h>

#include "aware/coll/coll_comm.h"

/* The first nsends of comm->sends and nreceives of comm->receives. Those of a pair of ranks with one tag match
 * in their order; those of no bytes are left out on both sides. What a rank has for itself (the first of
 * it, where it is contiguous) is copied. */
int coll_exchange(struct coll_comm *comm, int nsends, int nreceives);
/* Contiguous data. */
int coll_broadcast(struct coll_comm *comm, char *at, size_t nbytes, int root);

#endif
