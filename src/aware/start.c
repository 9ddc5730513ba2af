/* Start: whether GPU buffers are staged at all, and what programs ask. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "aware/gpu_buffer.h"
#include "aware/next.h"
#include "mpi/gpubind.h"

/* What MPI says of itself. */
static bool mpi_is_cuda_aware(void)
{
    int (*query)(void);

    *(void **)&query = dlsym(RTLD_NEXT, "MPIX_Query_cuda_support");
    return query && query() == 1;
}

static bool is_on(void)
{
    const char *mode = getenv("GPUBIND_GPU_AWARE");

    if (mode && strcmp(mode, "off") == 0)
        return false;
    return (mode && strcmp(mode, "on") == 0) || !mpi_is_cuda_aware();
}

static void started(void)
{
    if (is_on())
        gpubind_init(); /* which scatters strided data */
    else
        buffers_leave_to_mpi();
}

NEXT(MPI_Init)
AWARE_PUBLIC int MPI_Init(int *argc, char ***argv)
{
    const int result = next_of_MPI_Init()(argc, argv);

    if (result == MPI_SUCCESS)
        started();
    return result;
}

NEXT(MPI_Init_thread)
AWARE_PUBLIC int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int result = next_of_MPI_Init_thread()(argc, argv, required, provided);

    if (result == MPI_SUCCESS)
        started();
    return result;
}

/* Open MPI's and MPICH's extension. */
int MPIX_Query_cuda_support(void);
AWARE_PUBLIC int MPIX_Query_cuda_support(void)
{
    return is_on() || mpi_is_cuda_aware();
}
