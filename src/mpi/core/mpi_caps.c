#include "mpi/core/mpi_caps.h"

#include <dlfcn.h>

/* Open MPI and MPICH say so through an extension, which is looked up so that the
 * library need not be built for the MPI that has it. */
bool mpi_is_aware(void)
{
    static int aware = -1;
    int (*query)(void);

    if (aware >= 0)
        return aware;
    *(void **)&query = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    aware = query && query() == 1;
    return aware;
}
