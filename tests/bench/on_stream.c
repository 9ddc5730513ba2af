/* One way of a message between ranks 0 and 1, in microseconds: half a ping-pong of calls on
 * a stream, queued ahead, and of blocking calls. By hand, on a machine with two GPUs:
 *
 *     make tests/bench/on_stream && mpirun -np 2 tests/bench/on_stream
 */
#include <mpi.h>
#include <stdio.h>

#include "gpubind.h"
#include "tests/mpi/gpu.h"

enum { TURNS = 100, REPEATS = 7, LARGEST = 1 << 20 };

static int rank;
static struct CUstream_st *stream;
static void *buffer;

static void turn_on_stream(int nbytes)
{
    for (int step = 0; step < 2; step++)
        if (step == rank)
            gpubind_send_on_stream(buffer, nbytes, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, stream);
        else
            gpubind_recv_on_stream(buffer, nbytes, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, stream);
}

static void turn_with_wait(int nbytes)
{
    turn_on_stream(nbytes);
    cuda.cuStreamSynchronize(stream);
}

static void turn_blocking(int nbytes)
{
    for (int step = 0; step < 2; step++)
        if (step == rank)
            MPI_GPUSend(buffer, nbytes, MPI_BYTE, !rank, 1, MPI_COMM_WORLD);
        else
            MPI_GPURecv(buffer, nbytes, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The best of some: the machine is not ours alone. */
static double measure(void (*turn)(int), int nbytes)
{
    double best = 1e9;

    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double before;

        MPI_Barrier(MPI_COMM_WORLD);
        before = MPI_Wtime();
        for (int i = 0; i < TURNS; i++)
            turn(nbytes);
        cuda.cuStreamSynchronize(stream);
        before = (MPI_Wtime() - before) / (2 * TURNS) * 1e6;
        best = before < best ? before : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    gpu_start(rank);
    if (size != 2 || !gpu_count) {
        fprintf(stderr, "on_stream: two ranks with a GPU each are needed\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    gpubind_alloc(&buffer, LARGEST);
    if (rank == 0)
        printf("%9s %12s %12s %12s\n", "bytes", "on a stream", "... waiting", "blocking");
    for (int nbytes = 8; nbytes <= LARGEST; nbytes *= 8) {
        const double blocking = measure(turn_blocking, nbytes);
        const double queued = measure(turn_on_stream, nbytes);
        const double waiting = measure(turn_with_wait, nbytes);

        if (rank == 0)
            printf("%9d %12.1f %12.1f %12.1f\n", nbytes, queued, waiting, blocking);
        fflush(stdout);
    }
    gpubind_free(buffer);
    cuda.cuStreamDestroy_v2(stream);
    gpu_end();
    MPI_Finalize();
    return 0;
}
