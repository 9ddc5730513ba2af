/* A code of old: a plate whose rows are spread over the ranks, in GPU memory; each step
 * needs a row of both neighbours, which goes through host memory by hand.
 * `diff legacy_before.c legacy_after.c` shows what gpubind takes off it.
 *
 *     mpicc legacy_before.c -o legacy_before
 *     mpirun -np 4 gpubind ./legacy_before
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum { ROWS = 16, COLUMNS = 256, STEPS = 50 }; /* of one rank, beside a row above and below */
#define ROW_BYTES (COLUMNS * sizeof(double))

/* Row 0 from the rank above, row ROWS + 1 from the one below. */
static void exchange(double *plate, int above, int below)
{
    double sent[COLUMNS], received[COLUMNS];

    device_read(sent, plate + ROWS * COLUMNS, ROW_BYTES);
    MPI_Send(sent, COLUMNS, MPI_DOUBLE, below, 0, MPI_COMM_WORLD);
    MPI_Recv(received, COLUMNS, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (above != MPI_PROC_NULL)
        device_write(plate, received, ROW_BYTES);

    device_read(sent, plate + COLUMNS, ROW_BYTES);
    MPI_Send(sent, COLUMNS, MPI_DOUBLE, above, 0, MPI_COMM_WORLD);
    MPI_Recv(received, COLUMNS, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (below != MPI_PROC_NULL)
        device_write(plate + (ROWS + 1) * COLUMNS, received, ROW_BYTES);
}

/* Every inner element becomes the mean of its four neighbours. */
static void smooth(const double *old, double *new, int rows)
{
    memcpy(new, old, (size_t)(rows + 2) * ROW_BYTES);
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j < COLUMNS - 1; j++)
            new[i * COLUMNS + j] = 0.25 * (old[(i - 1) * COLUMNS + j] + old[(i + 1) * COLUMNS + j] +
                                           old[i * COLUMNS + j - 1] + old[i * COLUMNS + j + 1]);
}

/* In a real code a kernel; here the host does the arithmetic, so that the example
 * needs no compiler for the GPU. */
static void step_on_gpu(double *plate)
{
    static double old[(ROWS + 2) * COLUMNS], new[(ROWS + 2) * COLUMNS];

    device_read(old, plate, sizeof old);
    smooth(old, new, ROWS);
    device_write(plate, new, sizeof new);
}

/* Row i of the whole plate as it is at first: its upper edge is hot. */
static void first_row(int i, double *row)
{
    for (int j = 0; j < COLUMNS; j++)
        row[j] = i == 0 ? 100.0 : 0.0;
}

/* The largest difference to what one process computes alone. */
static double error_of(const double *plate, int rank, int size)
{
    int rows = ROWS * size;
    double *old = malloc((size_t)(rows + 2) * ROW_BYTES);
    double *new = malloc((size_t)(rows + 2) * ROW_BYTES);
    double mine[ROWS * COLUMNS], error = 0;

    if (!old || !new)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < rows + 2; i++)
        first_row(i, old + i * COLUMNS);
    for (int i = 0; i < STEPS; i++) {
        smooth(old, new, rows);
        memcpy(old, new, (size_t)(rows + 2) * ROW_BYTES);
    }
    device_read(mine, plate + COLUMNS, sizeof mine);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        double difference = mine[i] - old[(rank * ROWS + 1) * COLUMNS + i];

        if (difference < 0)
            difference = -difference;
        if (difference > error)
            error = difference;
    }
    free(old);
    free(new);
    return error;
}

int main(int argc, char **argv)
{
    int rank, size, above, below;
    double row[COLUMNS], *plate, error, largest;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

    device_start();
    plate = device_alloc((ROWS + 2) * ROW_BYTES);
    for (int i = 0; i < ROWS + 2; i++) {
        first_row(rank * ROWS + i, row);
        device_write(plate + i * COLUMNS, row, ROW_BYTES);
    }
    for (int i = 0; i < STEPS; i++) {
        exchange(plate, above, below);
        step_on_gpu(plate);
    }

    error = error_of(plate, rank, size);
    MPI_Allreduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %d x %d elements, %d steps: the largest error is %g\n", size, ROWS * size,
               COLUMNS, STEPS, largest);
    device_free(plate);
    MPI_Finalize();
    return largest > 0;
}
