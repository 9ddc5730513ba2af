/* legacy_before.c with gpubind: GPU memory goes from rank to rank by the calls that
 * host memory did, under new names; the copies and the host's buffers are gone.
 *
 *     mpicc legacy_after.c -o legacy_after $(pkg-config --cflags --libs gpubind)
 *     mpirun -np 4 gpubind ./legacy_after
 */
#include <gpubind.h>
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
    MPI_GPUSend(plate + ROWS * COLUMNS, COLUMNS, MPI_DOUBLE, below, 0, MPI_COMM_WORLD);
    MPI_GPURecv(plate, COLUMNS, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    MPI_GPUSend(plate + COLUMNS, COLUMNS, MPI_DOUBLE, above, 0, MPI_COMM_WORLD);
    MPI_GPURecv(plate + (ROWS + 1) * COLUMNS, COLUMNS, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE);
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
    gpubind_release(plate); /* before memory that was sent from is freed */
    device_free(plate);
    MPI_Finalize();
    return largest > 0;
}
