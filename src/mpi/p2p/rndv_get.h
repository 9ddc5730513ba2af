/* Copies straight from the sender's memory: those that come together go together. */
#ifndef GPUBIND_MPI_P2P_RNDV_GET_H
#define GPUBIND_MPI_P2P_RNDV_GET_H

#include "mpi/core/request.h"

/* The receive's data lie at from, for its GPU or (device false) host memory is one end.
 * Where device is true, a strided receive's data go straight to where they belong. */
void pull_add(struct gpubind_operation *receive, cuda_address from, bool device);
void pulls_progress(void);

#endif
