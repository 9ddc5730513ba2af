/* Who can reach whom, who is whose neighbour, and which way the bytes would take.
 *
 *     mpicc neighbors.c -o neighbors $(pkg-config --cflags --libs gpubind)
 *     mpirun -np 4 gpubind ./neighbors
 */
#include <gpubind.h>
#include <mpi.h>
#include <stdio.h>

#include "device.h"

/* The number of each rank moves one rank on, from GPU to GPU. Returns 1 when it is
 * not the right one that arrives. */
static int shift(MPI_Comm ring, int rank, int north, int south)
{
    void *out, *in;
    int number = -1;

    gpubind_alloc(&out, sizeof number);
    gpubind_alloc(&in, sizeof number);
    device_write(out, &rank, sizeof rank);
    gpubind_sendrecv(out, 1, MPI_INT, south, 0, in, 1, MPI_INT, north, 0, ring, MPI_STATUS_IGNORE);
    device_read(&number, in, sizeof number);
    gpubind_free(in);
    gpubind_free(out);
    printf("rank %d: north %d, south %d, received %d\n", rank, north, south, number);
    return number != north;
}

int main(int argc, char **argv)
{
    struct gpubind_peers peers;
    MPI_Request made;
    MPI_Comm ring;
    int rank, size, north, south, first, wrong, all_wrong;

    MPI_Init(&argc, &argv);
    gpubind_init(); /* only where the library was loaded after MPI_Init */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();

    gpubind_enable_peer_access(MPI_COMM_WORLD, &peers);
    if (rank == 0) {
        printf("peer access:\n");
        gpubind_peers_print(&peers, stdout);
        gpubind_paths_print(MPI_COMM_WORLD, stdout);
    }
    gpubind_peers_clear(&peers);

    /* Where the library does not see who makes a communicator, this attaches it. Duplicates
     * are attached already, and once more does no harm. */
    MPI_Comm_idup(MPI_COMM_WORLD, &ring, &made);
    MPI_Wait(&made, MPI_STATUS_IGNORE);
    gpubind_comm_attach(ring);

    gpubind_neighbors(ring, 1, &north, &south);
    gpubind_rank_at(ring, 0, 0, &first);
    if (rank == 0)
        printf("GPU 0 of node 0 is rank %d's\n", first);
    wrong = shift(ring, rank, north, south);

    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_free(&ring);
    gpubind_finalize(); /* MPI_Finalize does it */
    MPI_Finalize();
    return all_wrong > 0;
}
