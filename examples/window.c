/* A window: each rank passes a piece of GPU memory on to the next one, in the order of a
 * stream, without a message. Signals say that data are there, and that they were used.
 * Where the stream cannot reach the next GPU, on another node say, the library does it, for
 * which MPI has to allow threads.
 *
 *     mpicc window.c -o window $(pkg-config --cflags --libs gpubind)
 *     mpirun -np 2 gpubind ./window
 */
#include <gpubind.h>
#include <mpi.h>
#include <stdio.h>

#include "device.h"

enum { N = 4096, STEPS = 5 };
enum { CAME, USED, SIGNALS };

/* What a rank passes on in a step. */
static void fill(double *numbers, int rank, int step)
{
    for (int i = 0; i < N; i++)
        numbers[i] = 1000.0 * rank + step + 1e-6 * i;
}

static int count_wrong(const double *numbers, int rank, int step)
{
    int wrong = 0;

    for (int i = 0; i < N; i++)
        wrong += numbers[i] != 1000.0 * rank + step + 1e-6 * i;
    return wrong;
}

int main(int argc, char **argv)
{
    static double numbers[N];
    const struct gpubind_device_win *device; /* what a kernel would be given */
    void *mine, *came, *theirs;
    size_t nbytes;
    gpubind_win win;
    int rank, size, level, next, before, themselves, wrong = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    device_start();
    gpubind_alloc(&mine, sizeof numbers);
    gpubind_alloc(&came, sizeof numbers);

    gpubind_win_allocate(MPI_COMM_WORLD, sizeof numbers, SIGNALS, &win);
    gpubind_win_device(win, &device);
    gpubind_win_pointer(win, next, &theirs, &nbytes);
    themselves = theirs && nbytes == sizeof numbers;

    for (int step = 1; step <= STEPS; step++) {
        fill(numbers, rank, step);
        device_write(mine, numbers, sizeof numbers); /* a kernel's place */
        gpubind_put_signal_on_stream(mine, sizeof numbers, CAME, (unsigned)step, next, 0, win,
                                     NULL);
        gpubind_wait_signal_on_stream(CAME, (unsigned)step, win, NULL);
        gpubind_get_on_stream(came, sizeof numbers, rank, 0, win, NULL); /* and another's */
        gpubind_signal_on_stream(USED, (unsigned)step, before, win, NULL);
        gpubind_wait_signal_on_stream(USED, (unsigned)step, win, NULL);
        device_read(numbers, came, sizeof numbers); /* waits for the stream */
        wrong += count_wrong(numbers, before, step);
    }

    numbers[0] = rank; /* a put of one number, and all see it after a barrier */
    device_write(mine, numbers, sizeof(double));
    gpubind_put_on_stream(mine, sizeof(double), next, 8, win, NULL);
    device_read(numbers, mine, sizeof(double));
    MPI_Barrier(MPI_COMM_WORLD);
    gpubind_get_on_stream(came, sizeof(double), rank, 8, win, NULL);
    device_read(numbers, came, sizeof(double));
    wrong += numbers[0] != before;

    gpubind_win_free(&win);
    gpubind_free(came);
    gpubind_free(mine);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &themselves, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d of them wrote to the next one's GPU themselves\n", themselves);
        printf("%d ranks: %d numbers are wrong\n", size, wrong);
    }
    MPI_Finalize();
    return wrong > 0;
}
