/* Sends to ranks of the same node, through descriptors in shared memory. */
#ifndef GPUBIND_MPI_P2P_SEND_SHM_H
#define GPUBIND_MPI_P2P_SEND_SHM_H

#include "mpi/core/request.h"

/* Announces the message, or queues it until a descriptor is free. */
void send_shm(struct gpubind_operation *send);
/* What receivers did to our descriptors. */
void send_shm_progress(struct domain *domain);
/* Somebody waits for it: makes the data ready; a small message that nobody takes is
 * stashed, so that the wait ends. */
void send_shm_nudge(struct gpubind_operation *send);
/* It is gated no more. not good: its data cannot be had. */
void send_shm_ready(struct gpubind_operation *send, bool good);

#endif
