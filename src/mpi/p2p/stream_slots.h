/* Slots of the receiver's GPU (gpu_slots.h) that a sender may write to at any time, for sends in a stream that come
 * before their receives. A small one puts its data into its eager buffer, too, from where they are taken if the receive
 * is not a stream's; a larger nonblocking one only into the slot, from where all take them. */
#ifndef GPUBIND_MPI_P2P_STREAM_SLOTS_H
#define GPUBIND_MPI_P2P_STREAM_SLOTS_H

#include "mpi/core/request.h"

/* ---- the receiver */

/* Lets the peer of a receive, which has a slot itself, use some; once. */
void stream_slots_grant(const struct gpubind_operation *receive);
/* The GPU's context is gone: what peers were let use is no more. */
void stream_slots_forget(const struct gpu *gpu);
/* The slot of the peer's message, if it is one of that GPU (NULL: of any); else 0. */
gpu_address stream_slot_of(const struct peer *peer, const struct descriptor *from,
                           const struct gpu *gpu);
/* Takes the data of a message that is in_slot, not by a stream: the receive is complete then. */
void stream_slot_receive(struct gpubind_operation *receive);

/* ---- the sender */

/* Takes a slot for a send, if there is one (slot_at), and tells the receiver by the descriptor. */
void stream_slot_take(struct gpubind_operation *send, struct descriptor *descriptor);
/* The slot of the receive that the send has matched; 0: it cannot be mapped. The mapping is the send's. */
gpu_address stream_slot_map_landing(struct gpubind_operation *send);
/* The send's descriptor is free. */
void stream_slot_give(struct gpubind_operation *send);

#endif
