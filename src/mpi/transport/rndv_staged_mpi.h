/* Data in MPI messages of the library's communicator: straight from and to the
 * buffers (host memory; GPU memory when MPI knows CUDA), or through page-locked
 * chunks, whose copies and messages overlap. */
#ifndef GPUBIND_MPI_TRANSPORT_RNDV_STAGED_MPI_H
#define GPUBIND_MPI_TRANSPORT_RNDV_STAGED_MPI_H

#include "mpi/core/request.h"

/* The sender's side, as the receiver has answered: MPI messages of chunk bytes each; straight: the
 * buffer itself is handed to MPI. Ends the send. */
void rndv_mpi_send(struct gpubind_operation *send, int tag, uint64_t chunk, bool straight);
/* struct transport's get: MPI gets the pointers of both sides; GPU memory goes through
 * page-locked memory. */
bool rndv_mpi_direct_get(struct gpubind_operation *receive, const struct msg_header *header);
bool rndv_mpi_get(struct gpubind_operation *receive, const struct msg_header *header);
void rndv_mpi_progress(void);
/* Some are under way, so that MPI has to be called. */
bool rndv_mpi_busy(void);

#endif
