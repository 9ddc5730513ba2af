/* Host data of a rank of this node: the receiver reads them from the sender's process by
 * process_vm_readv, without help of the sender and without MPI. */
#ifndef GPUBIND_MPI_TRANSPORT_RNDV_GET_HOST_H
#define GPUBIND_MPI_TRANSPORT_RNDV_GET_HOST_H

#include "mpi/core/request.h"

/* struct transport's get; staged where the kernel turns out to refuse. */
bool rndv_get_host(struct gpubind_operation *receive, const struct msg_header *header);
void rndv_gets_host_progress(void);

#endif
