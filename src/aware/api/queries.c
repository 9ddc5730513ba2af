/* What programs ask about GPU memory. */
#include <dlfcn.h>
#include <mpi.h>

#include "aware/base/next.h"
#include "aware/base/start.h"

/* Open MPI's and MPICH's extension. */
int MPIX_Query_cuda_support(void);
NEXT_SYMBOL(MPIX_Query_cuda_support)
AWARE_PUBLIC int MPIX_Query_cuda_support(void)
{
    return aware_is_on() || mpi_is_cuda_aware();
}

#ifndef OPEN_MPI
#define CUDA 0 /* MPICH's MPIX_GPU_SUPPORT_CUDA */

/* MPICH's MPIX_Query_cuda_support calls the other one, also for libgpubind, which asks MPI alone. */
static bool mpi_asks(const void *caller)
{
    static const char name[] = NEXT_PREFIX "MPIX_GPU_query_support";
    Dl_info from, mpi;

    return is_behind || (next_has(name) && dladdr(next_function(name), &mpi) &&
                         dladdr(caller, &from) && from.dli_fbase == mpi.dli_fbase);
}

int MPIX_GPU_query_support(int gpu, int *is_supported);
NEXT(MPIX_GPU_query_support)
AWARE_PUBLIC int MPIX_GPU_query_support(int gpu, int *is_supported)
{
    if (gpu != CUDA || mpi_asks(__builtin_return_address(0)) || !aware_is_on())
        return BEHIND(MPIX_GPU_query_support, gpu, is_supported);
    *is_supported = 1;
    return MPI_SUCCESS;
}
#endif
