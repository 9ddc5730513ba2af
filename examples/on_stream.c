/* Steps of a computation that the host only queues: each rank's row goes to its southern
 * neighbour, in the order of the stream that computes; the host waits once, at the end.
 *
 *     mpicc on_stream.c -o on_stream $(pkg-config --cflags --libs gpubind)
 *     mpirun -np 4 gpubind ./on_stream
 */
#include <gpubind.h>
#include <mpi.h>
#include <stdio.h>

#include "device.h"

enum { WIDTH = 4096 };

static int rank, size, north, south;
static const gpubind_stream stream; /* the default one; any cudaStream_t will do */

/* Stands for a kernel: the halo becomes the row. */
static void launch_a_step(double *row, const double *halo)
{
    int (*copy)(void *, const void *, size_t, gpubind_stream);

    *(void **)&copy = device_call("cuMemcpyDtoDAsync_v2");
    device_check(copy(row, halo, WIDTH * sizeof *row, stream), "cuMemcpyDtoDAsync");
}

/* After as many steps as there are ranks each row is home again. */
static void go_round(double *row, double *halo)
{
    for (int step = 0; step < size; step++) {
        gpubind_sendrecv_on_stream(row, WIDTH, MPI_DOUBLE, south, 0, halo, WIDTH, MPI_DOUBLE, north,
                                   0, MPI_COMM_WORLD, stream);
        launch_a_step(row, halo);
    }
}

/* Half of the row to either side, and back again. */
static void to_both_sides(double *row, double *halo)
{
    enum { HALF = WIDTH / 2 };

    for (int step = 0; step < 2; step++) {
        /* All at once: without this a send leaves now, and what is launched before the quiet runs meanwhile. */
        gpubind_group_on_stream(stream);
        gpubind_irecv_on_stream(halo, HALF, MPI_DOUBLE, south, 2, MPI_COMM_WORLD, stream);
        gpubind_irecv_on_stream(halo + HALF, HALF, MPI_DOUBLE, north, 3, MPI_COMM_WORLD, stream);
        gpubind_isend_on_stream(row, HALF, MPI_DOUBLE, south, 3, MPI_COMM_WORLD, stream);
        gpubind_isend_on_stream(row + HALF, HALF, MPI_DOUBLE, north, 2, MPI_COMM_WORLD, stream);
        gpubind_quiet_on_stream(stream);
        launch_a_step(row, halo);
    }
}

/* The row of rank 0 goes from rank to rank. */
static void pass_on(double *row)
{
    if (rank > 0)
        gpubind_recv_on_stream(row, WIDTH, MPI_DOUBLE, north, 1, MPI_COMM_WORLD, stream);
    if (rank < size - 1)
        gpubind_send_on_stream(row, WIDTH, MPI_DOUBLE, south, 1, MPI_COMM_WORLD, stream);
}

static int wrong_numbers(const double *gpu, int wanted)
{
    static double row[WIDTH];
    int wrong = 0;

    device_read(row, gpu, sizeof row); /* waits for the default stream */
    for (int i = 0; i < WIDTH; i++)
        wrong += row[i] != wanted;
    return wrong;
}

int main(int argc, char **argv)
{
    static double numbers[WIDTH];
    void *row, *halo;
    int wrong, all_wrong;

    MPI_Init(&argc, &argv); /* MPI_THREAD_MULTIPLE for more than one node */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    north = (rank + size - 1) % size;
    south = (rank + 1) % size;

    device_start();
    row = device_alloc(sizeof numbers);
    halo = device_alloc(sizeof numbers);
    for (int i = 0; i < WIDTH; i++)
        numbers[i] = rank;
    device_write(row, numbers, sizeof numbers);

    go_round(row, halo);
    to_both_sides(row, halo);
    wrong = wrong_numbers(row, rank);
    pass_on(row);
    wrong += wrong_numbers(row, 0);
    /* Sends and receives are over when the stream is: what went wrong is said here. */
    if (gpubind_quiet_on_stream(stream) != MPI_SUCCESS)
        fprintf(stderr, "%s\n", gpubind_error_text());

    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %d numbers are wrong\n", size, all_wrong);
    device_free(row);
    device_free(halo);
    MPI_Finalize();
    return all_wrong > 0;
}
