/* The communicators of matched messages: an error of their receive is for its error handler, and
 * a trace tells their ranks. */
#ifndef GPUBIND_AWARE_MATCHED_H
#define GPUBIND_AWARE_MATCHED_H

#include <mpi.h>

/* A direct message was matched, or any while calls are traced. */
void matched_add(MPI_Message message, MPI_Comm comm);
/* It is received. MPI_COMM_SELF: it was not added. */
MPI_Comm matched_take(MPI_Message message);
/* The communicator is freed: its messages are MPI_COMM_SELF's from now on. */
void matched_comm_freed(MPI_Comm comm);

#endif
