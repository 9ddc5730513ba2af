/* What persistent messages between two GPUs of a node take. From the build folder:
 *   make tests/bench/persistent && mpirun -np 2 bin/gpubind tests/bench/persistent
 * One line for each size: one way, as half a ping-pong, by MPI_GPUSend and by start and
 * wait; an exchange of both directions by startall and waitall, on a stream, and in a
 * graph of 20. In us, the median of 11 measurements. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpubind.h"
#include "tests/mpi/gpu.h"

#define LARGEST (16u << 20)
#define MEASUREMENTS 11
#define IN_GRAPH 20

static int rank, nbytes;
static char *out, *in;
static gpubind_request requests[2]; /* the receive, the send */
static struct CUstream_st *stream;
static struct CUgraphExec_st *graph;

static void check(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "persistent: %s: %d %s\n", what, status, gpubind_error_text());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- what is measured: n times */

static void by_send(int n)
{
    for (int i = 0; i < n; i++)
        for (int turn = 0; turn < 2; turn++)
            if (turn == rank)
                MPI_GPUSend(out, nbytes, MPI_BYTE, !rank, 1, MPI_COMM_WORLD);
            else
                MPI_GPURecv(in, nbytes, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void by_start(int n)
{
    for (int i = 0; i < n; i++)
        for (int turn = 0; turn < 2; turn++) {
            gpubind_request *request = &requests[turn == rank];

            check(gpubind_start(request), "start");
            check(gpubind_wait(request, MPI_STATUS_IGNORE), "wait");
        }
}

static void both_ways(int n)
{
    for (int i = 0; i < n; i++) {
        check(gpubind_startall(2, requests), "startall");
        check(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    }
}

static void on_stream(int n)
{
    for (int i = 0; i < n; i++)
        check(gpubind_startall_on_stream(2, requests, stream), "startall_on_stream");
    check(cuda.cuStreamSynchronize(stream), "cuStreamSynchronize");
}

static void in_graph(int n)
{
    for (int i = 0; i < n; i += IN_GRAPH)
        check(cuda.cuGraphLaunch(graph, stream), "cuGraphLaunch");
    check(cuda.cuStreamSynchronize(stream), "cuStreamSynchronize");
}

/* ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double measure(void (*repeat)(int), int n)
{
    double times[MEASUREMENTS];

    repeat(n); /* all is mapped */
    for (int i = 0; i < MEASUREMENTS; i++) {
        double before;

        MPI_Barrier(MPI_COMM_WORLD);
        before = MPI_Wtime();
        repeat(n);
        times[i] = 1e6 * (MPI_Wtime() - before) / n;
    }
    qsort(times, MEASUREMENTS, sizeof *times, compare);
    return times[MEASUREMENTS / 2];
}

static void make_graph(void)
{
    struct CUgraph_st *made = NULL;

    graph = NULL;
    if (!cuda.cuGraphLaunch)
        return;
    check(cuda.cuStreamBeginCapture_v2(stream, CUDA_CAPTURE_RELAXED), "cuStreamBeginCapture");
    for (int i = 0; i < IN_GRAPH; i++)
        check(gpubind_startall_on_stream(2, requests, stream), "startall_on_stream in a capture");
    check(cuda.cuStreamEndCapture(stream, &made), "cuStreamEndCapture");
    check(cuda.cuGraphInstantiateWithFlags(&graph, made, 0), "cuGraphInstantiate");
    cuda.cuGraphDestroy(made);
}

static void measure_size(void)
{
    const int n = nbytes <= 65536 ? 1000 : 100;
    double send, start, both, streamed, graphed = 0;

    check(gpubind_recv_init(in, nbytes, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, &requests[0]),
          "recv_init");
    check(gpubind_send_init(out, nbytes, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, &requests[1]),
          "send_init");
    send = measure(by_send, n) / 2;
    start = measure(by_start, n) / 2;
    both = measure(both_ways, n);
    streamed = measure(on_stream, n);
    make_graph();
    if (graph)
        graphed = measure(in_graph, n);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%9d %10.2f %10.2f %10.2f %10.2f %10.2f\n", nbytes, send, start, both, streamed,
               graphed);
    for (int i = 0; i < 2; i++)
        check(gpubind_request_free(&requests[i]), "request_free");
}

int main(int argc, char **argv)
{
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    gpu_start(rank);
    if (size != 2 || gpu_count == 0) {
        fprintf(stderr, "persistent: for 2 ranks with a GPU each\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    check(gpubind_alloc((void **)&out, LARGEST), "alloc");
    check(gpubind_alloc((void **)&in, LARGEST), "alloc");
    check(cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING), "cuStreamCreate");
    if (rank == 0)
        printf("    bytes    GPUSend start+wait   exchange  on stream   in graph (us)\n");
    for (nbytes = 8; nbytes <= (int)LARGEST; nbytes = nbytes == 8 ? 1024 : 4 * nbytes)
        measure_size();
    gpubind_free(out);
    gpubind_free(in);
    MPI_Finalize();
    return 0;
}
