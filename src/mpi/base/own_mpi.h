/* Whether the process runs with the MPI that this library was built for. */
#ifndef GPUBIND_MPI_BASE_OWN_MPI_H
#define GPUBIND_MPI_BASE_OWN_MPI_H

#include "core/base/error.h"

/* MPI is initialised. -1: a program of another ABI has loaded this library, whose handles its MPI does not know: no
 * function of MPI that takes one may be called. */
int own_mpi_check(struct gpubind_error *err);

#endif
