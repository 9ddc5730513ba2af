/* The ends of operations, as the application hears of them. */
#ifndef GPUBIND_MPI_P2P_REQUEST_FINISH_H
#define GPUBIND_MPI_P2P_REQUEST_FINISH_H

#include "mpi/core/request.h"

/* What a finished operation returns: an MPI error class, with its sentence in err.
 * Fills the status (unless ignored) and forgets the operation; a persistent one is
 * inactive. */
int request_finish(struct gpubind_operation *operation, MPI_Status *status,
                   struct gpubind_error *err);
/* The status of a finished operation, which stays as it is. */
void request_status(struct gpubind_operation *operation, MPI_Status *status);
/* The status of a request that there is none of. */
void request_empty_status(MPI_Status *status);

#endif
