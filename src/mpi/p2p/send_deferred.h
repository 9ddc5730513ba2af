/* Sends that are announced before their data can be had: strided data that a GPU packs, and
 * calls that a stream has not got to. They have taken their place in the order of messages;
 * ORDER_DEFERRED says that their data are still to come. */
#ifndef GPUBIND_MPI_P2P_SEND_DEFERRED_H
#define GPUBIND_MPI_P2P_SEND_DEFERRED_H

#include "mpi/core/request.h"

/* Queues the packing of a send's strided data; the send is gated until they are packed, if
 * a GPU does it. -1 with a sentence: they cannot be; it is not gated. */
int deferred_send_pack(struct gpubind_operation *send, struct gpubind_error *err);
/* It is packed, and opened, also while this rank makes no call, if MPI is not needed. */
void deferred_send_serve(const struct gpubind_operation *send);
/* Some are being packed; without the lock. */
bool deferred_sends_pending(void);
/* The data are there, or (not good) cannot be had: says so to the receiver. */
void deferred_send_release(struct gpubind_operation *send, bool good);
/* Opens those that are packed; mpi: also those to other nodes. */
void deferred_sends_progress(bool mpi);

#endif
