/* A program for a CUDA-aware MPI: it passes GPU memory to plain MPI functions. With the launcher's
 * option it runs on an MPI that knows nothing of GPUs, not recompiled:
 *
 *     mpicc gpu_aware.c -o gpu_aware
 *     mpirun -np 4 gpubind --gpu-aware ./gpu_aware
 *
 * Without the launcher, the library is linked before MPI:
 *
 *     mpicc gpu_aware.c -o gpu_aware -lgpubind-aware
 *     mpirun -np 4 ./gpu_aware
 */
#include <mpi.h>
#include <stdio.h>

#include "device.h"

enum { ROWS = 1000, COLUMNS = 16 };

static int rank, size;

static double first_of(const double *gpu)
{
    double value;

    device_read(&value, gpu, sizeof value);
    return value;
}

/* Everybody passes a column of its table to the right, and gets one from the left. */
static int pass_column(double *gpu)
{
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Datatype column;
    MPI_Request requests[2];

    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Irecv(gpu + COLUMNS - 1, 1, column, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(gpu, 1, column, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&column);
    return first_of(gpu + COLUMNS - 1) != left;
}

/* The sum of all tables, in their place. */
static int add_up(double *gpu)
{
    MPI_Allreduce(MPI_IN_PLACE, gpu, ROWS * COLUMNS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return first_of(gpu) != size * (size - 1) / 2.0;
}

int main(int argc, char **argv)
{
    static double table[ROWS * COLUMNS];
    int wrong, all_wrong;
    double *gpu;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    gpu = device_alloc(sizeof table);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        table[i] = rank;
    device_write(gpu, table, sizeof table);

    wrong = pass_column(gpu) + add_up(gpu);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %d results are wrong\n", size, all_wrong);
    device_free(gpu);
    MPI_Finalize();
    return all_wrong > 0;
}
