/* Messages that are set up once and started often: each rank passes what it got to the
 * next one, until all numbers are home again; first the host waits for each step, then
 * all steps are queued in a stream.
 *
 *     mpicc persistent.c -o persistent $(pkg-config --cflags --libs gpubind)
 *     mpirun -np 4 gpubind ./persistent
 */
#include <gpubind.h>
#include <mpi.h>
#include <stdio.h>

#include "device.h"

enum { COUNT = 1000 };

static int rank, size;

static void fill(double *gpu, int number)
{
    static double numbers[COUNT];

    for (int i = 0; i < COUNT; i++)
        numbers[i] = number + i;
    device_write(gpu, numbers, sizeof numbers);
}

static int count_wrong(const double *gpu, int number)
{
    static double numbers[COUNT];
    int wrong = 0;

    device_read(numbers, gpu, sizeof numbers);
    for (int i = 0; i < COUNT; i++)
        wrong += numbers[i] != number + i;
    return wrong;
}

/* Two buffers take turns: what comes into one goes on from it in the next step. */
static void set_up(double *buffers[2], gpubind_request steps[2][2])
{
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;

    for (int i = 0; i < 2; i++) {
        gpubind_recv_init(buffers[!i], COUNT, MPI_DOUBLE, left, i, MPI_COMM_WORLD, &steps[i][0]);
        gpubind_send_init(buffers[i], COUNT, MPI_DOUBLE, right, i, MPI_COMM_WORLD, &steps[i][1]);
    }
}

static int round_by_host(double *buffers[2], gpubind_request steps[2][2])
{
    fill(buffers[0], rank);
    for (int step = 0; step < size; step++) {
        gpubind_request *both = steps[step % 2];

        gpubind_start(&both[0]);
        gpubind_start(&both[1]);
        gpubind_waitall(2, both, MPI_STATUSES_IGNORE);
    }
    return count_wrong(buffers[size % 2], rank);
}

static int round_with_startall(double *buffers[2], gpubind_request steps[2][2])
{
    fill(buffers[0], 10 * rank);
    for (int step = 0; step < size; step++) {
        gpubind_startall(2, steps[step % 2]);
        gpubind_waitall(2, steps[step % 2], MPI_STATUSES_IGNORE);
    }
    return count_wrong(buffers[size % 2], 10 * rank);
}

/* To other nodes it needs MPI_THREAD_MULTIPLE; else the call says so. */
static int round_on_stream(double *buffers[2], gpubind_request steps[2][2])
{
    gpubind_stream stream = device_stream();

    fill(buffers[0], 20 * rank);
    for (int step = 0; step < size; step++)
        if (gpubind_startall_on_stream(2, steps[step % 2], stream) != MPI_SUCCESS) {
            fprintf(stderr, "rank %d: %s\n", rank, gpubind_error_text());
            return 0;
        }
    device_wait(stream);
    return count_wrong(buffers[size % 2], 20 * rank);
}

int main(int argc, char **argv)
{
    gpubind_request steps[2][2];
    double *buffers[2];
    void *memory[2];
    int wrong, all_wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    device_start();
    for (int i = 0; i < 2; i++) {
        gpubind_alloc(&memory[i], COUNT * sizeof(double));
        buffers[i] = memory[i];
    }
    set_up(buffers, steps);

    wrong = round_by_host(buffers, steps);
    MPI_Barrier(MPI_COMM_WORLD); /* before buffers are filled again */
    wrong += round_with_startall(buffers, steps);
    MPI_Barrier(MPI_COMM_WORLD);
    wrong += round_on_stream(buffers, steps);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %d numbers are wrong\n", size, all_wrong);

    for (int i = 0; i < 2; i++) {
        gpubind_request_free(&steps[i][0]);
        gpubind_request_free(&steps[i][1]);
    }
    for (int i = 0; i < 2; i++) /* both steps used both */
        gpubind_free(memory[i]);
    MPI_Finalize();
    return all_wrong > 0;
}
