/* Operations of accumulates to GPU memory, which MPI does on this rank by MPI_Reduce_local. */
#ifndef GPUBIND_AWARE_WINDOW_OP_H
#define GPUBIND_AWARE_WINDOW_OP_H

#include <mpi.h>

/* MPI_ERR_OP, where MPI would not do it on the elements of that type, of which there are some: it calls an error
 * handler of MPI_COMM_WORLD's then, or of MPI_COMM_SELF's, and the error is the window's. */
int window_check_op(MPI_Op op, MPI_Count count, MPI_Datatype type);

#endif
