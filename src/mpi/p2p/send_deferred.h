/* Sends that are announced before their data are ready: strided data that a GPU is packing, and
 * calls that a stream has not reached. They have their place in MPI's order; ORDER_DEFERRED says
 * that the data are not ready. */
#ifndef GPUBIND_MPI_P2P_SEND_DEFERRED_H
#define GPUBIND_MPI_P2P_SEND_DEFERRED_H

#include "mpi/core/request.h"

/* Starts packing a send's strided data. The send is deferred until the GPU has packed them. -1 with
 * a sentence: they cannot be packed; the send is not deferred. */
int deferred_send_pack(struct gpubind_operation *send, struct gpubind_error *err);
/* Lets the progress thread finish the packing while this rank makes no call, if that needs no
 * MPI. */
void deferred_send_serve(const struct gpubind_operation *send);
/* Sends are being packed; may be called without the lock. */
bool deferred_sends_pending(void);
/* The data are ready, or (good false) packing has failed: tells the receiver. */
void deferred_send_release(struct gpubind_operation *send, bool good);
/* Releases those that are packed; mpi: also those to other nodes. */
void deferred_sends_progress(bool mpi);

#endif
