/* Which rank of MPI_COMM_WORLD a rank of a communicator is. One thread at a time. */
#ifndef GPUBIND_AWARE_WORLD_RANKS_H
#define GPUBIND_AWARE_WORLD_RANKS_H

#include <mpi.h>
#include <stdbool.h>

/* Before the first world_rank. */
bool world_ranks_start(void);
void world_ranks_end(void);
/* Of the remote group of an intercommunicator. MPI_UNDEFINED: it is of another MPI_COMM_WORLD, or no rank. */
int world_rank(MPI_Comm comm, int rank);

#endif
