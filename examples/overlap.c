/* Communication behind computation: the rows at the edges travel while the inner rows
 * are computed. At the end the same with counts of 64 bits.
 *
 *     mpicc overlap.c -o overlap $(pkg-config --cflags --libs gpubind)
 *     mpirun -np 4 gpubind ./overlap
 */
#include <gpubind.h>
#include <mpi.h>
#include <stdio.h>

#include "device.h"

enum { NORTH, SOUTH, SIDES };
enum { WIDTH = 4096 };

static int rank, to[SIDES]; /* neighbours in the ring */

/* Stands for a kernel launched on a stream that does not block. */
static void compute_a_piece(void)
{
}

/* A row that came from a rank is full of its number. */
static int wrong_row(const double *gpu, int from)
{
    static double row[WIDTH];
    int wrong = 0;

    device_read(row, gpu, sizeof row);
    for (int i = 0; i < WIDTH; i++)
        wrong += row[i] != from;
    return wrong;
}

static int exchange(const double *mine, double *halo[SIDES])
{
    gpubind_request sends[SIDES], receives[SIDES];
    int which, ended, wrong = 0;

    for (int side = 0; side < SIDES; side++) {
        gpubind_irecv(halo[side], WIDTH, MPI_DOUBLE, to[side], side, MPI_COMM_WORLD,
                      &receives[side]);
        gpubind_isend(mine, WIDTH, MPI_DOUBLE, to[side], 1 - side, MPI_COMM_WORLD, &sends[side]);
    }
    for (int i = 0; i < 10; i++) {
        compute_a_piece();
        gpubind_progress(); /* messages move in calls of gpubind */
    }
    /* Each halo as it comes. */
    for (;;) {
        gpubind_waitany(SIDES, receives, &which, MPI_STATUS_IGNORE);
        if (which == MPI_UNDEFINED)
            break;
        wrong += wrong_row(halo[which], to[which]);
    }
    gpubind_test(&sends[NORTH], &ended, MPI_STATUS_IGNORE);
    gpubind_waitall(SIDES, sends, MPI_STATUSES_IGNORE); /* an ended one is no obstacle */
    return wrong;
}

/* Counts may be above 2^31; here they are not. */
static int exchange_large(const double *mine, double *halo)
{
    const MPI_Count count = WIDTH;
    gpubind_request send, receive;
    MPI_Status status;
    int wrong;

    gpubind_irecv_c(halo, count, MPI_DOUBLE, to[NORTH], 2, MPI_COMM_WORLD, &receive);
    gpubind_isend_c(mine, count, MPI_DOUBLE, to[SOUTH], 2, MPI_COMM_WORLD, &send);
    gpubind_wait(&receive, &status);
    gpubind_wait(&send, MPI_STATUS_IGNORE);
    wrong = wrong_row(halo, status.MPI_SOURCE);

    gpubind_sendrecv_c(mine, count, MPI_DOUBLE, to[NORTH], 3, halo, count, MPI_DOUBLE, to[SOUTH], 3,
                       MPI_COMM_WORLD, &status);
    wrong += wrong_row(halo, to[SOUTH]);

    if (rank == 0)
        MPI_GPUSend_c(mine, count, MPI_DOUBLE, to[SOUTH], 4, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_GPURecv_c(halo, count, MPI_DOUBLE, to[NORTH], 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return wrong + (rank == 1 ? wrong_row(halo, 0) : 0);
}

int main(int argc, char **argv)
{
    static double row[WIDTH];
    void *mine, *halo[SIDES];
    int size, wrong, all_wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    to[NORTH] = (rank + size - 1) % size;
    to[SOUTH] = (rank + 1) % size;

    device_start();
    gpubind_alloc(&mine, sizeof row);
    gpubind_alloc(&halo[NORTH], sizeof row);
    gpubind_alloc(&halo[SOUTH], sizeof row);
    for (int i = 0; i < WIDTH; i++)
        row[i] = rank;
    device_write(mine, row, sizeof row);

    wrong = exchange(mine, (double *[]){halo[NORTH], halo[SOUTH]});
    wrong += exchange_large(mine, halo[NORTH]);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %d numbers are wrong\n", size, all_wrong);
    gpubind_free(halo[NORTH]);
    gpubind_free(halo[SOUTH]);
    gpubind_free(mine);
    MPI_Finalize();
    return all_wrong > 0;
}
