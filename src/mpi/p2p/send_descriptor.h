/* The descriptor in shared memory that announces a send, and the eager buffer of its data. */
#ifndef GPUBIND_MPI_P2P_SEND_DESCRIPTOR_H
#define GPUBIND_MPI_P2P_SEND_DESCRIPTOR_H

#include "core/msg/msg_header.h"
#include "mpi/core/request.h"

struct descriptor *send_descriptor_of(const struct gpubind_operation *send);
/* Takes a descriptor of this rank; false: none is free for messages to that rank. */
bool send_descriptor_take(struct gpubind_operation *send);
/* Gives it back, and an eager buffer that another descriptor has lent. */
void send_descriptor_give(struct gpubind_operation *send);
/* Fills in the header and the state, RTS. true: the data are in an eager buffer already, and the
 * state is EAGER_READY. */
bool send_descriptor_fill(struct gpubind_operation *send);

/* Fills in an RTS header that is all zero, as far as it is the same on a node and between nodes. */
void send_header_fill(const struct gpubind_operation *send, struct msg_header *header);

/* The message is small enough for an eager buffer. */
bool send_may_be_eager(const struct gpubind_operation *send);
/* Takes an eager buffer for its data, which another descriptor lends if need be. */
bool send_take_eager_buffer(struct gpubind_operation *send);
/* Copies the data of an announced message to its eager buffer, and completes the send, unless a
 * receiver has matched it meanwhile. */
void send_copy_to_eager(struct gpubind_operation *send);
/* The eager buffer that it has. */
char *send_eager_buffer(const struct gpubind_operation *send);
/* The stream has put the data there (eager_by_stream). */
void send_is_in_eager_buffer(struct gpubind_operation *send);
/* An eager buffer of this rank, by its descriptor, for other data; -1: there are few. domain_give_descriptor gives
 * it back. */
int eager_buffer_lend(struct domain *domain);

#endif
