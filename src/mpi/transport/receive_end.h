/* The end of a receive from a rank of the node, whichever transport got the data. */
#ifndef GPUBIND_MPI_TRANSPORT_RECEIVE_END_H
#define GPUBIND_MPI_TRANSPORT_RECEIVE_END_H

#include "mpi/core/request.h"

/* For a transport that copies bytes in order: a receive of strided data gets a dense buffer,
 * which is unpacked when the receive has ended. false: there is no memory for it, and the receive
 * has ended with the error. */
bool receive_make_dense(struct gpubind_operation *receive);
/* The data are there, or (status -1) will not be: closes what the receive has mapped, tells the
 * sender, and ends the receive. */
void receive_finish(struct gpubind_operation *receive, int status, const struct gpubind_error *err);

#endif
