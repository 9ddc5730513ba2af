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
/* Of a Cartesian topology: a block for one direction comes from the other one. */
bool neighbours_are_opposite(MPI_Comm comm);

enum neighbours_call {
    NEIGHBOURS_ALLTOALL,
    NEIGHBOURS_ALLTOALLV,
    NEIGHBOURS_ALLTOALLW,
    NEIGHBOURS_CALLS
};

/* Where a rank is a neighbour more than once, the MPI's call puts its blocks where the standard wants them:
 * MPICH 4.0 does not. The ranks are all of in, or of out. false, too: it cannot be asked now. */
bool neighbours_are_as_mpi_has_them(MPI_Comm comm, enum neighbours_call call, const int ranks[],
                                    int n);

#endif
