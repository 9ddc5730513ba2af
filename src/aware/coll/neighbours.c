#include "aware/coll/neighbours.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "aware/base/creations.h"
#include "aware/base/next.h"

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

/* ---- several blocks between two ranks */

/* Of the MPI's calls: two blocks of a rank for itself, as neighbours of a periodic dimension, arrive each at the
 * other one's place, and those of two edges of a graph at their own. */
static struct {
    bool crosses, keeps;
} mpi_calls[NEIGHBOURS_CALLS];

/* The two blocks have changed places. */
static bool are_crossed(MPI_Comm comm, enum neighbours_call call)
{
    static const int out[2] = {0, 1}, ones[2] = {1, 1}, displs[2] = {0, 1};
    static const MPI_Aint bytes[2] = {0, sizeof(int)};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    int in[2] = {0, 1};

    if (call == NEIGHBOURS_ALLTOALL)
        CALL_MPI(PMPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
    else if (call == NEIGHBOURS_ALLTOALLV)
        CALL_MPI(
            PMPI_Neighbor_alltoallv(out, ones, displs, MPI_INT, in, ones, displs, MPI_INT, comm));
    else
        CALL_MPI(PMPI_Neighbor_alltoallw(out, ones, bytes, types, in, ones, bytes, types, comm));
    return in[0] == 1;
}

static void ask_mpi(void)
{
    const int one = 1, self[2] = {0, 0}, weights[2] = {1, 1};
    MPI_Comm ring = MPI_COMM_NULL, graph = MPI_COMM_NULL;

    if (CALL_MPI(PMPI_Cart_create(MPI_COMM_SELF, 1, &one, &one, 0, &ring)) != MPI_SUCCESS)
        return;
    if (CALL_MPI(PMPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 2, self, weights, 2, self, weights,
                                                 MPI_INFO_NULL, 0, &graph)) == MPI_SUCCESS) {
        for (enum neighbours_call call = 0; call < NEIGHBOURS_CALLS; call++) {
            mpi_calls[call].crosses = are_crossed(ring, call);
            mpi_calls[call].keeps = !are_crossed(graph, call);
        }
        CALL_MPI(PMPI_Comm_free(&graph));
    }
    CALL_MPI(PMPI_Comm_free(&ring));
}

/* false: the application makes a communicator now, for which ask_mpi might have to wait. */
static bool is_asked(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool asked;
    bool done;

    pthread_mutex_lock(&lock);
    if (!asked && creation_own_begin()) {
        ask_mpi();
        creation_own_end();
        asked = true;
    }
    done = asked;
    pthread_mutex_unlock(&lock);
    return done;
}

bool neighbours_are_as_mpi_has_them(MPI_Comm comm, enum neighbours_call call, const int ranks[],
                                    int n)
{
    const bool opposite = neighbours_are_opposite(comm);

    if (!is_asked())
        return false;
    if (mpi_calls[call].crosses && mpi_calls[call].keeps)
        return true;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i && ranks[i] != MPI_PROC_NULL; j++)
            if (ranks[i] == ranks[j] && !(opposite && j == (i ^ 1) && mpi_calls[call].crosses))
                return false;
    return true;
}
