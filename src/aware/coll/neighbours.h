/* The neighbours of a rank in the topology of its communicator, in the order of the blocks of neighbourhood
 * collectives (MPI 4.1, section 8.6). */
#ifndef GPUBIND_AWARE_NEIGHBOURS_H
#define GPUBIND_AWARE_NEIGHBOURS_H

#include <mpi.h>
#include <stdbool.h>

/* in: who sends to this rank; out: whom it sends to. Both 0: there is no topology. */
void neighbours_count(MPI_Comm comm, int *in, int *out);
/* The ranks, MPI_PROC_NULL among them. An MPI error class. */
int neighbours_list(MPI_Comm comm, int in, int sources[], int out, int destinations[]);
/* Of a Cartesian topology. */
bool neighbours_are_opposite(MPI_Comm comm);

#endif
