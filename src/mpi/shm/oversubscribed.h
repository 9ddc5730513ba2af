/* Whether the ranks of this node have a CPU each, or share CPUs. */
#ifndef GPUBIND_MPI_SHM_OVERSUBSCRIBED_H
#define GPUBIND_MPI_SHM_OVERSUBSCRIBED_H

#include <mpi.h>
#include <stdbool.h>

/* Collective over node, the ranks of this node: compares the CPUs that each may use. */
void oversubscribed_detect(MPI_Comm node);
/* More ranks than CPUs are confined to this rank's CPUs: a rank that polls keeps others, for one
 * of which it may wait, from running. */
bool is_oversubscribed(void);

#endif
