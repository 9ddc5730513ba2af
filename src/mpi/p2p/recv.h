/* A receive from the moment its message is known: waits until the sender and the GPU are ready,
 * then has a transport get the data. */
#ifndef GPUBIND_MPI_P2P_RECV_H
#define GPUBIND_MPI_P2P_RECV_H

#include "mpi/p2p/tag_match.h"

/* The message matches the receive, which owns its data from now on. */
void receive_start(struct gpubind_operation *receive, const struct incoming_msg *incoming);
/* Continues a receive whose message matched before one of the two was ready. */
void receive_again(struct gpubind_operation *receive);
/* A stream gets the data of its early message, of a rank of the node, by itself, and receive_finish ends it. false:
 * the sender is copying them to an eager buffer at this moment. */
bool receive_claim(struct gpubind_operation *receive);
/* The stream does not get the data of such a receive after all. */
void receive_resume(struct gpubind_operation *receive);
/* The sender has died: completes the receive with an error, unless the rest needs no sender. */
void receive_abandon(struct gpubind_operation *receive);
/* Drops a message that no receive gets; its sender completes as usual. */
void receive_drop(const struct incoming_msg *incoming);
/* Starts receives that wait for their sender, or for earlier work of the GPU. */
void receives_progress(void);

#endif
