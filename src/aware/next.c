#include "aware/next.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

__thread bool is_behind;

void *next_function(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found) {
        fprintf(stderr, "gpubind: the MPI library that is loaded has no %s\n", name);
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_OTHER);
    }
    return found;
}
