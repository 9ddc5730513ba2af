/* Whether MPI itself takes GPU pointers. */
#ifndef GPUBIND_MPI_CORE_MPI_CAPS_H
#define GPUBIND_MPI_CORE_MPI_CAPS_H

#include <stdbool.h>

bool mpi_is_aware(void);

#endif
