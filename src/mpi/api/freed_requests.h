/* Requests that the application has freed while they were active: progress completes them. */
#ifndef GPUBIND_MPI_API_FREED_REQUESTS_H
#define GPUBIND_MPI_API_FREED_REQUESTS_H

#include "mpi/base/modules.h"
#include "mpi/core/request.h"

/* Takes over a request that is active and that the application has freed. */
void freed_add(struct gpubind_operation *request);

extern const struct module freed_module;

#endif
