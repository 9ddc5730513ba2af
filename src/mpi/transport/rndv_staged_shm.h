/* Messages between ranks of a node whose GPUs cannot reach each other, or between a GPU and host
 * memory: in chunks through the sender's bounce buffer. The sender copies into the bounce buffer
 * while the receiver copies out of it. The bounce buffer is page-locked shared memory; or, for GPU
 * memory that has no IPC handle, memory of the sender's GPU that has. */
#ifndef GPUBIND_MPI_TRANSPORT_RNDV_STAGED_SHM_H
#define GPUBIND_MPI_TRANSPORT_RNDV_STAGED_SHM_H

#include "mpi/core/request.h"

/* struct transport's get: the receive asks its sender to start. */
bool rndv_staged_shm_get(struct gpubind_operation *receive, const struct msg_header *header);
void rndv_staged_shm_progress(void);
/* Its sender is gone: it ends with an error once its copies have. false: it is none. */
bool staged_receive_abandon(const struct gpubind_operation *receive);

/* The receiver has asked. Waits for a bounce buffer if need be. */
void staged_send_start(struct gpubind_operation *send, struct descriptor *descriptor);
/* Copies of its messages are under way. */
bool staged_busy(const struct domain *domain);
/* No copy of it is under way. */
bool staged_send_rests(const struct gpubind_operation *send);
/* The receiver has all of it. */
void staged_send_end(struct gpubind_operation *send);

#endif
