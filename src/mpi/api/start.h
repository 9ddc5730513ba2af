/* The library's start and end. */
#ifndef GPUBIND_MPI_API_START_H
#define GPUBIND_MPI_API_START_H

#include "core/base/error.h"

/* Collective over MPI_COMM_WORLD. An MPI error class. */
int library_start(struct gpubind_error *err);
void library_stop(void);

#endif
