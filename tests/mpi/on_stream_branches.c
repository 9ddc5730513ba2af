/* Several exchanges of captures at once, whose first launches wait for ranks that have not captured theirs: as branches
 * of one graph, and as graphs of their own. Each rank sends to the next and receives from the one before. */
#include <unistd.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { MOST = 15, THREAD_LOCAL = 1, LAUNCHES = 3 };

static struct CUstream_st *streams[MOST];
static struct CUevent_st *begun, *ended[MOST];
static struct buffer from[MOST], to[MOST];
static int next, before;

/* Even ranks launch before odd ones capture. */
static void be_late(void)
{
    if (job.rank % 2)
        usleep(50000);
}

static void capture_begins(struct CUstream_st *stream)
{
    is_int(cuda.cuStreamBeginCapture_v2(stream, THREAD_LOCAL), CUDA_OK, "the capture's begin");
}

static void exchange(int i, int nbytes)
{
    succeeds(gpubind_sendrecv_on_stream(from[i].at, nbytes, MPI_BYTE, next, i, to[i].at, nbytes,
                                        MPI_BYTE, before, i, MPI_COMM_WORLD, streams[i]),
             "sendrecv %d", i);
}

static uint64_t seed_of(int rank, int launch, int i)
{
    return (uint64_t)(1000 * launch + MOST * rank + i);
}

/* Launches all the graphs, or the one of all branches, with other data each time. */
static void launch(struct CUgraphExec_st **graphs, int ngraphs, int n, size_t nbytes)
{
    for (int at = 0; at < LAUNCHES; at++) {
        for (int i = 0; i < n; i++) {
            buffer_fill(&from[i], 0, nbytes, seed_of(job.rank, at, i));
            buffer_reset(&to[i]);
        }
        for (int i = 0; i < ngraphs; i++)
            is_int(cuda.cuGraphLaunch(graphs[i], streams[i]), CUDA_OK, "cuGraphLaunch");
        for (int i = 0; i < ngraphs; i++)
            stream_ends(streams[i]);
        for (int i = 0; i < n; i++)
            expect(buffer_holds(&to[i], 0, nbytes, seed_of(before, at, i), NULL),
                   "launch %d: other bytes came by exchange %d", at, i);
    }
    for (int i = 0; i < ngraphs && nargs == 0; i++)
        is_int(cuda.cuGraphExecDestroy(graphs[i]), CUDA_OK, "cuGraphExecDestroy");
}

static void branches(int n, int nbytes)
{
    struct CUgraphExec_st *graph;

    job_test("%d branches of a graph, %d bytes each", n, nbytes);
    be_late();
    capture_begins(streams[0]);
    cuda.cuEventRecord(begun, streams[0]);
    for (int i = 1; i < n; i++)
        cuda.cuStreamWaitEvent(streams[i], begun, 0);
    for (int i = 0; i < n; i++)
        exchange(i, nbytes);
    for (int i = 1; i < n; i++) {
        cuda.cuEventRecord(ended[i], streams[i]);
        cuda.cuStreamWaitEvent(streams[0], ended[i], 0);
    }
    graph = graph_captured(streams[0]);
    launch(&graph, 1, n, (size_t)nbytes);
    job_result();
}

static void graphs(int n, int nbytes)
{
    struct CUgraphExec_st *graphs[MOST];

    job_test("%d graphs, %d bytes each", n, nbytes);
    be_late();
    for (int i = 0; i < n; i++) {
        capture_begins(streams[i]);
        exchange(i, nbytes);
        graphs[i] = graph_captured(streams[i]);
    }
    launch(graphs, n, n, (size_t)nbytes);
    job_result();
}

/* `ranks on_stream_branches [kept]`: kept: the graphs are left to the end. */
void test_on_stream_branches(void)
{
    next = (job.rank + 1) % job.size;
    before = (job.rank + job.size - 1) % job.size;
    for (int i = 0; i < MOST; i++) {
        need_buffer(&from[i], MEMORY_DEVICE, ON_STREAM_LARGEST);
        need_buffer(&to[i], MEMORY_DEVICE, ON_STREAM_LARGEST);
        cuda.cuStreamCreate(&streams[i], CUDA_STREAM_NON_BLOCKING);
        cuda.cuEventCreate(&ended[i], CUDA_EVENT_NO_TIMING);
    }
    cuda.cuEventCreate(&begun, CUDA_EVENT_NO_TIMING);
    branches(8, 500000);
    branches(MOST, 1 << 20);
    graphs(4, ON_STREAM_LARGEST);
    graphs(MOST, 500000);
    cuda.cuEventDestroy_v2(begun);
    for (int i = 0; i < MOST; i++) {
        cuda.cuEventDestroy_v2(ended[i]);
        cuda.cuStreamDestroy_v2(streams[i]);
        buffer_clear(&from[i]);
        buffer_clear(&to[i]);
    }
}
