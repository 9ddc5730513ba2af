/* Start: whether GPU buffers are staged at all. */
#include "aware/base/start.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aware/base/next.h"
#include "aware/base/setting.h"

bool mpi_is_cuda_aware(void)
{
    int (*query)(void);

    *(void **)&query = dlsym(RTLD_NEXT, "MPIX_Query_cuda_support");
    return query && query() == 1;
}

bool aware_is_on(void)
{
    static atomic_int on = -1;
    int now = atomic_load_explicit(&on, memory_order_relaxed);
    const char *mode;

    if (now >= 0)
        return now;
    next_find_mpi();
    mode = getenv("GPUBIND_GPU_AWARE");
    now = mode && strcmp(mode, "off") == 0  ? 0
          : mode && strcmp(mode, "on") == 0 ? 1
                                            : !mpi_is_cuda_aware();
    atomic_store(&on, now);
    return now;
}

void aware_tell(void)
{
    static _Atomic int verbose = SETTING_UNKNOWN;
    const char *mode = getenv("GPUBIND_GPU_AWARE");
    int rank = 0;

    if (aware_is_on() || (mode && strcmp(mode, "off") == 0) ||
        !setting_switch("GPUBIND_VERBOSE", false, &verbose))
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "gpubind: GPU-aware steps aside: this MPI takes GPU memory by itself\n");
}
