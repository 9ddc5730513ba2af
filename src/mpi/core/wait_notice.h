/* Prints a notice, once on a node, about messages that have waited for GPUBIND_WAIT_NOTICE
 * seconds. */
#ifndef GPUBIND_MPI_CORE_WAIT_NOTICE_H
#define GPUBIND_MPI_CORE_WAIT_NOTICE_H

#include "mpi/core/request.h"

/* Checks a request that a call waits for. */
void wait_notice_check(const struct gpubind_operation *operation);
/* Checks a probe that has waited since then, seconds. */
void wait_notice_check_probe(const struct comm *comm, int source, int tag, double since);
/* Checks for small messages whose sends are complete but which no receive has matched. */
void wait_notice_check_sent(void);
/* At the end: n messages are left without a receive; source and tag are of the first. */
void wait_notice_left(const struct comm *comm, int n, int source, int tag);

#endif
