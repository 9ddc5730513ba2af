/* Which rank of MPI_COMM_WORLD a rank of a communicator is. Any thread may call these. */
#ifndef GPUBIND_AWARE_WORLD_RANKS_H
#define GPUBIND_AWARE_WORLD_RANKS_H

#include <mpi.h>
#include <stdbool.h>

/* Before the others; each user of them calls it, and, where it returned true, world_ranks_end. */
bool world_ranks_start(void);
void world_ranks_end(void);
/* Of the remote group of an intercommunicator. MPI_UNDEFINED: it is of another MPI_COMM_WORLD, or no rank. */
int world_rank(MPI_Comm comm, int rank);

/* A communicator that libgpubind has made for its messages. */
bool world_ranks_are_hidden(MPI_Comm comm);

/* Those of a communicator, which may be freed meanwhile; or of a group, which is taken over. NULL: out of
 * memory, or it cannot be asked. */
struct world_ranks;
struct world_ranks *world_ranks_of(MPI_Comm comm);
struct world_ranks *world_ranks_of_group(MPI_Group group);
/* NULL is of no world. */
int world_ranks_at(struct world_ranks *ranks, int rank);
void world_ranks_release(struct world_ranks *ranks);

#endif
