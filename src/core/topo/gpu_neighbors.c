#include "core/topo/gpu_neighbors.h"

#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

void job_neighbors(const int *ranks, int nranks, int rank, int *north, int *south)
{
    const int *at = nranks ? bsearch(&rank, ranks, (size_t)nranks, sizeof *ranks, by_number) : NULL;

    *north = at && at > ranks ? at[-1] : -1;
    *south = at && at < ranks + nranks - 1 ? at[1] : -1;
}
