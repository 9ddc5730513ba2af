/* Host data of a rank of this node: the receiver reads them from the sender's process by
 * process_vm_readv, without help of the sender and without MPI. */
#ifndef GPUBIND_MPI_P2P_RNDV_GET_HOST_H
#define GPUBIND_MPI_P2P_RNDV_GET_HOST_H

#include "mpi/core/request.h"

/* Ends the receive; through the sender's lane where the kernel refuses to read. */
void host_read_add(struct gpubind_operation *receive);
void host_reads_progress(void);

#endif
