/* Neighbourhood collectives in which a rank is a neighbour more than once: blocks of GPU memory come to the places
 * to which the MPI puts them in host memory. Rank 0 prints the results. */
#include <mpi.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

enum { N = 4, BLOCK = 40000, ALL = N * BLOCK };
static const char *const names[] = {"MPI_Neighbor_alltoall", "MPI_Neighbor_alltoallv",
                                    "MPI_Neighbor_alltoallw"};

static void call(int which, const char *out, char *in, MPI_Comm comm)
{
    const int counts[N] = {BLOCK, BLOCK, BLOCK, BLOCK}, at[N] = {0, BLOCK, 2 * BLOCK, 3 * BLOCK};
    const MPI_Aint bytes[N] = {0, BLOCK, 2 * BLOCK, 3 * BLOCK};
    const MPI_Datatype types[N] = {MPI_BYTE, MPI_BYTE, MPI_BYTE, MPI_BYTE};

    if (which == 0)
        MPI_Neighbor_alltoall(out, BLOCK, MPI_BYTE, in, BLOCK, MPI_BYTE, comm);
    else if (which == 1)
        MPI_Neighbor_alltoallv(out, counts, at, MPI_BYTE, in, counts, at, MPI_BYTE, comm);
    else
        MPI_Neighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, comm);
}

static void check(const char *topology, MPI_Comm comm)
{
    static char out[ALL], wanted[ALL], got[ALL];
    char *gpu_out = device_alloc(ALL), *gpu_in = device_alloc(ALL);
    char text[100];

    for (int i = 0; i < ALL; i++)
        out[i] = (char)(16 * rank + i / BLOCK);
    for (int which = 0; which < 3; which++) {
        memset(wanted, 0x70, ALL);
        device_write(gpu_out, out, ALL);
        device_write(gpu_in, wanted, ALL);
        call(which, out, wanted, comm);
        call(which, gpu_out, gpu_in, comm);
        device_read(got, gpu_in, ALL);
        wrong += memcmp(got, wanted, ALL) != 0;
        snprintf(text, sizeof text, "%s, %s", topology, names[which]);
        result(text);
    }
    device_free(gpu_out);
    device_free(gpu_in);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    const int periods[2] = {1, 1}, weights[N] = {1, 1, 1, 1};
    int sizes[2], edges[N];
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    sizes[0] = size;
    sizes[1] = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &comm);
    check("a ring, each rank also its own neighbour", comm);
    for (int i = 0; i < N; i++)
        edges[i] = i < 3 ? size - 1 - rank : rank;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, N, edges, weights, N, edges, weights,
                                   MPI_INFO_NULL, 0, &comm);
    check("edges that a graph has three times", comm);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
