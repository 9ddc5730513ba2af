/* What puts and gets on streams take, by whatever way two ranks reach each other. From the
 * build folder:
 *   make tests/bench/window && mpirun -np 2 bin/gpubind tests/bench/window
 * and the same with GPUBIND_PATH=shared or =network. One line for each size, in us, the
 * median of 11 measurements: put_signal and wait_signal to and fro, one way; a put, and a
 * get, one after the other in a stream. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpubind.h"
#include "tests/mpi/gpu.h"

#define LARGEST (16u << 20)
#define MEASUREMENTS 11
#define QUEUED 100 /* calls until the host waits for the stream */

static int rank;
static size_t nbytes;
static void *mine;
static gpubind_win win;
static struct CUstream_st *stream;

static void check(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "window: %s: %d %s\n", what, status, gpubind_error_text());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- what is measured: n times */

static void to_and_fro(int n)
{
    static unsigned long long turn;

    for (int i = 0; i < n; i++) {
        turn++;
        if (rank == 1)
            check(gpubind_wait_signal_on_stream(0, turn, win, stream), "wait_signal");
        check(gpubind_put_signal_on_stream(mine, nbytes, 0, turn, !rank, 0, win, stream),
              "put_signal");
        if (rank == 0)
            check(gpubind_wait_signal_on_stream(0, turn, win, stream), "wait_signal");
    }
}

static void put(int n)
{
    for (int i = 0; i < n && rank == 0; i++)
        check(gpubind_put_on_stream(mine, nbytes, 1, 0, win, stream), "put");
}

static void get(int n)
{
    for (int i = 0; i < n && rank == 0; i++)
        check(gpubind_get_on_stream(mine, nbytes, 1, 0, win, stream), "get");
}

/* ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double measure(void (*repeat)(int))
{
    double times[MEASUREMENTS];

    for (int i = -1; i < MEASUREMENTS; i++) { /* the first one makes all ready */
        double before;

        MPI_Barrier(MPI_COMM_WORLD);
        before = MPI_Wtime();
        repeat(QUEUED);
        check(cuda.cuStreamSynchronize(stream), "cuStreamSynchronize");
        if (i >= 0)
            times[i] = 1e6 * (MPI_Wtime() - before) / QUEUED;
    }
    qsort(times, MEASUREMENTS, sizeof *times, compare);
    return times[MEASUREMENTS / 2];
}

int main(int argc, char **argv)
{
    void *theirs;
    int level, size;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    gpu_start(rank);
    if (size != 2 || !gpu_count) {
        fprintf(stderr, "window: takes two ranks with a GPU each\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    check(gpubind_alloc(&mine, LARGEST), "alloc");
    check(gpubind_win_allocate(MPI_COMM_WORLD, LARGEST, 1, &win), "win_allocate");
    check(gpubind_win_pointer(win, !rank, &theirs, NULL), "win_pointer");
    if (rank == 0)
        printf("%s\n%10s %12s %10s %10s\n", theirs ? "by the streams" : "by the library", "bytes",
               "put_signal", "put", "get");
    for (nbytes = 8; nbytes <= LARGEST; nbytes *= 8) {
        const double signal = measure(to_and_fro) / 2, in = measure(put), out = measure(get);

        if (rank == 0)
            printf("%10zu %12.1f %10.1f %10.1f\n", nbytes, signal, in, out);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check(gpubind_win_free(&win), "win_free");
    check(gpubind_free(mine), "free");
    cuda.cuStreamDestroy_v2(stream);
    gpu_end();
    MPI_Finalize();
    return 0;
}
