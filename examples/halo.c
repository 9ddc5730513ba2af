/* Ghost cells of a grid in two dimensions that is spread over GPUs, and whose borders meet:
 * two arrays that are exchanged in turn, as a code has them that reads one and writes the
 * other.
 *
 *     mpicc halo.c -o halo $(pkg-config --cflags --libs gpubind)
 *     mpirun -np 4 gpubind ./halo
 */
#include <gpubind.h>
#include <mpi.h>
#include <stdio.h>

#include "device.h"

enum { ROWS = 30, COLUMNS = 50, STEPS = 6 }; /* of a rank */

static double host[ROWS + 2][COLUMNS + 2];

/* Stands for a kernel that reads one array with its ghost cells and writes the cells of
 * the other: here, the number of the rank and of the step. */
static void compute(double *to, int rank, int step)
{
    for (int row = 1; row <= ROWS; row++)
        for (int column = 1; column <= COLUMNS; column++)
            host[row][column] = 100 * rank + step;
    for (int row = 1; row <= ROWS; row++) /* ghost cells are the neighbours' to write */
        device_write(&to[row * (COLUMNS + 2) + 1], &host[row][1], COLUMNS * sizeof(double));
}

/* In the middle of each side stands what the neighbour there has written. */
static int count_wrong(gpubind_halo halo, const double *array, int step)
{
    static const int offsets[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    int wrong = 0, rank;

    device_read(host, array, sizeof host);
    for (int side = 0; side < 4; side++) {
        const int row = offsets[side][0], column = offsets[side][1];

        gpubind_halo_neighbor(halo, offsets[side], &rank);
        wrong += host[row < 0   ? 0
                      : row > 0 ? ROWS + 1
                                : ROWS / 2][column < 0   ? 0
                                            : column > 0 ? COLUMNS + 1
                                                         : COLUMNS / 2] != 100 * rank + step;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    struct gpubind_halo_grid grid = {
        .ndims = 2,
        .periodic = {1, 1},
        .cells = {ROWS, COLUMNS},
        .width = {1, 1},
        .element = MPI_DOUBLE,
        .flags = GPUBIND_HALO_IN_TURN,
    };
    int rank, size, ranks[2], wrong = 0, all_wrong;
    gpubind_halo halo;
    void *arrays[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    gpubind_alloc(&arrays[0], sizeof host);
    gpubind_alloc(&arrays[1], sizeof host);

    gpubind_halo_create(MPI_COMM_WORLD, &grid, 2, arrays, &halo);
    gpubind_halo_place(halo, NULL, ranks);
    for (int step = 0; step < STEPS; step++) {
        double *array = arrays[step % 2];

        compute(array, rank, step);
        if (step < STEPS / 2) {
            gpubind_halo_start(halo, step % 2);
            gpubind_halo_wait(halo);
        } else { /* the host need not wait: what reads the array comes later in the stream */
            gpubind_halo_exchange_on_stream(halo, step % 2, NULL);
        }
        wrong += count_wrong(halo, array, step);
    }
    gpubind_halo_free(&halo);

    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks as %d x %d: %d numbers are wrong\n", size, ranks[0], ranks[1], all_wrong);
    gpubind_free(arrays[0]);
    gpubind_free(arrays[1]);
    MPI_Finalize();
    return all_wrong > 0;
}
