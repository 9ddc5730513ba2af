/* Whether the ranks of this node have a CPU each, or take turns. */
#ifndef GPUBIND_MPI_SHM_OVERSUBSCRIBED_H
#define GPUBIND_MPI_SHM_OVERSUBSCRIBED_H

#include <mpi.h>
#include <stdbool.h>

/* Collective over node, the ranks of this node: looks at the CPUs that each may use. */
void oversubscribed_detect(MPI_Comm node);
/* More ranks than CPUs may use nothing but this one's CPUs: a rank that polls keeps others, one
 * of which it may be waiting for, from running. */
bool is_oversubscribed(void);

#endif
