/* Requests that the application has freed while they were active: they come to their ends,
 * of which nobody hears. */
#ifndef GPUBIND_MPI_API_FREED_REQUESTS_H
#define GPUBIND_MPI_API_FREED_REQUESTS_H

#include "mpi/core/modules.h"
#include "mpi/core/request.h"

/* The request is active, and the application's no more. */
void freed_add(struct gpubind_operation *request);

extern const struct module freed_module;

#endif
