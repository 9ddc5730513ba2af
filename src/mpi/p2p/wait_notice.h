/* What is said, once on a node, about messages that wait for long: GPUBIND_WAIT_NOTICE seconds. */
#ifndef GPUBIND_MPI_P2P_WAIT_NOTICE_H
#define GPUBIND_MPI_P2P_WAIT_NOTICE_H

#include "mpi/core/request.h"

/* Somebody has waited for it since its started. */
void wait_notice_check(const struct gpubind_operation *operation);
/* The same for a call that only looks for a message. */
void wait_notice_check_probe(const struct comm *comm, int source, int tag, double since);
/* Small messages that were sent long ago, and are where they were put. */
void wait_notice_check_sent(void);
/* At the end: nobody receives these n messages any more, of which that is the first. */
void wait_notice_left(const struct comm *comm, int n, int source, int tag);

#endif
