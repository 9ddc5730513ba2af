/* What a receive does once its message is known: which path, and the copies on it. */
#ifndef GPUBIND_MPI_P2P_RECV_H
#define GPUBIND_MPI_P2P_RECV_H

#include "mpi/p2p/tag_match.h"

/* The receive gets that message. The incoming_msg's data change hands. */
void receive_start(struct gpubind_operation *receive, const struct incoming_msg *incoming);
/* The same, for one that got its message too early for one of the two. */
void receive_again(struct gpubind_operation *receive);
/* Its sender is gone: ends it with an error, unless it can go on alone. */
void receive_abandon(struct gpubind_operation *receive);
/* Nobody gets it; the sender does not notice. */
void receive_drop(const struct incoming_msg *incoming);
/* Starts receives that wait for their sender, or for earlier work of the GPU. */
void receives_progress(void);

#endif
