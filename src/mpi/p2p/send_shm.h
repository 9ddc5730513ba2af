/* Sends to ranks of the same node, through descriptors in shared memory. */
#ifndef GPUBIND_MPI_P2P_SEND_SHM_H
#define GPUBIND_MPI_P2P_SEND_SHM_H

#include "mpi/core/request.h"

/* Announces the message (RTS), or queues it until a descriptor is free. */
void send_shm(struct gpubind_operation *send);
/* Handles the states that receivers have set in this rank's descriptors. */
void send_shm_progress(struct domain *domain);
/* A call waits for the send: makes the data ready; a small message that no receive has matched is
 * copied to an eager buffer, so that the wait ends. */
void send_shm_nudge(struct gpubind_operation *send);
/* The stream has reached a deferred send, or its data are packed. good false: packing failed. */
void send_shm_ready(struct gpubind_operation *send, bool good);

#endif
