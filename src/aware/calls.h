/* What the functions that take buffers share. */
#ifndef GPUBIND_AWARE_CALLS_H
#define GPUBIND_AWARE_CALLS_H

#include <mpi.h>

#include "aware/next.h"
#include "aware/requests.h"
#include "aware/staged.h"

/* Functions of MPI 4 without large counts, which Open MPI 5 has, too. */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define AWARE_MPI_4
#endif

/* Calls the communicator's error handler. Returns result. */
int call_refused(MPI_Comm comm, int result);
/* A call with n staged buffers has ended with result: copies what it wrote, and ends them. */
int call_ended(struct staged *buffers, int n, int result, MPI_Comm comm);
/* A call with n staged buffers has made a request: they are ended with it. */
int call_started(struct staged *buffers, int n, int result, MPI_Request request, bool persistent,
                 MPI_Comm comm);

#endif
