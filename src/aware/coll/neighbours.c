#include "aware/coll/neighbours.h"

#include <stdlib.h>
#include <string.h>

static int kind_of(MPI_Comm comm)
{
    int kind = MPI_UNDEFINED;

    PMPI_Topo_test(comm, &kind);
    return kind;
}

void neighbours_count(MPI_Comm comm, int *in, int *out)
{
    int weighted, rank;

    *in = *out = 0;
    switch (kind_of(comm)) {
    case MPI_CART:
        PMPI_Cartdim_get(comm, in);
        *in *= 2;
        *out = *in;
        break;
    case MPI_GRAPH:
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, in);
        *out = *in;
        break;
    case MPI_DIST_GRAPH:
        PMPI_Dist_graph_neighbors_count(comm, in, out, &weighted);
        break;
    default:
        break;
    }
}

static int list_cartesian(MPI_Comm comm, int n, int ranks[])
{
    int result = MPI_SUCCESS;

    for (int i = 0; i < n && result == MPI_SUCCESS; i += 2)
        result = PMPI_Cart_shift(comm, i / 2, 1, &ranks[i], &ranks[i + 1]);
    return result;
}

static int list_graph(MPI_Comm comm, int n, int ranks[])
{
    int rank;

    PMPI_Comm_rank(comm, &rank);
    return PMPI_Graph_neighbors(comm, rank, n, ranks);
}

/* The weights of a graph that has them are asked for, too. */
static int list_distributed(MPI_Comm comm, int in, int sources[], int out, int destinations[])
{
    int *weights = malloc(((size_t)in + (size_t)out + 1) * sizeof *weights), result;

    if (!weights)
        return MPI_ERR_NO_MEM;
    result = PMPI_Dist_graph_neighbors(comm, in, sources, weights, out, destinations, weights + in);
    free(weights);
    return result;
}

int neighbours_list(MPI_Comm comm, int in, int sources[], int out, int destinations[])
{
    int result;

    switch (kind_of(comm)) {
    case MPI_CART:
        result = list_cartesian(comm, in, sources);
        break;
    case MPI_GRAPH:
        result = list_graph(comm, in, sources);
        break;
    case MPI_DIST_GRAPH:
        return list_distributed(comm, in, sources, out, destinations);
    default:
        return MPI_ERR_TOPOLOGY;
    }
    memcpy(destinations, sources, (size_t)in * sizeof *sources);
    return result;
}

bool neighbours_are_opposite(MPI_Comm comm)
{
    return kind_of(comm) == MPI_CART;
}
