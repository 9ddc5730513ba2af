/* Counts the ranks that share the CPUs of this one. */
#include "mpi/shm/oversubscribed.h"

#include <sched.h>
#include <stdlib.h>

static bool oversubscribed;

/* a is a subset of b. */
static bool is_within(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;

    CPU_AND(&both, a, b);
    return CPU_EQUAL(&both, a);
}

void oversubscribed_detect(MPI_Comm node)
{
    cpu_set_t mine, *all;
    int n, me, within = 0;

    PMPI_Comm_size(node, &n);
    PMPI_Comm_rank(node, &me);
    all = calloc((size_t)n, sizeof *all);
    if (!all)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM); /* the other ranks wait in the call below */
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) /* more CPUs than cpu_set_t holds */
        CPU_ZERO(&mine);
    PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, node);
    for (int rank = 0; rank < n; rank++)
        within += CPU_COUNT(&all[rank]) > 0 && is_within(&all[rank], &mine);
    oversubscribed = within > CPU_COUNT(&mine);
    free(all);
}

bool is_oversubscribed(void)
{
    return oversubscribed;
}
