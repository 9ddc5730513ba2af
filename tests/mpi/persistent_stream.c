/* Persistent messages in the order of a stream. `ranks persistent_stream [linked]`: linked
 * says that they go from GPU to GPU. Each rank to the next, in a ring. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 300000
#define ROUNDS 6

static int next_rank, previous_rank;
static struct buffer out, in, source, result;
static gpubind_request requests[2];
static struct CUstream_st *stream;

static cuda_address address(const struct buffer *buffer, size_t at)
{
    return (cuda_address)(uintptr_t)buffer->at + at;
}

static void make_pair(void)
{
    need_buffer(&out, MEMORY_DEVICE, BYTES);
    need_buffer(&in, MEMORY_DEVICE, BYTES);
    need_buffer(&source, MEMORY_DEVICE, ROUNDS * BYTES);
    need_buffer(&result, MEMORY_DEVICE, ROUNDS * BYTES);
    succeeds(
        gpubind_recv_init(in.at, BYTES, MPI_BYTE, previous_rank, 1, MPI_COMM_WORLD, &requests[0]),
        "recv_init");
    succeeds(gpubind_send_init(out.at, BYTES, MPI_BYTE, next_rank, 1, MPI_COMM_WORLD, &requests[1]),
             "send_init");
}

static void end_pair(void)
{
    job_barrier();
    for (int i = 0; i < 2; i++)
        succeeds(gpubind_request_free(&requests[i]), "request_free");
    buffer_clear(&out);
    buffer_clear(&in);
    buffer_clear(&source);
    buffer_clear(&result);
}

static uint64_t seed_of(int rank, int round)
{
    return (uint64_t)(rank * 100 + round);
}

static void fill(void)
{
    for (int i = 0; i < ROUNDS; i++)
        buffer_fill(&source, (size_t)i * BYTES, BYTES, seed_of(job.rank, i));
    buffer_reset(&result);
}

static void check(const char *what)
{
    size_t differs;

    for (int i = 0; i < ROUNDS; i++)
        expect(buffer_holds(&result, (size_t)i * BYTES, BYTES, seed_of(previous_rank, i), &differs),
               "%s, round %d: byte %zu is wrong", what, i, differs);
}

static void take_out(int round)
{
    cuda.cuMemcpyDtoDAsync_v2(address(&out, 0), address(&source, (size_t)round * BYTES), BYTES,
                              stream);
}

static void put_in(int round)
{
    cuda.cuMemcpyDtoDAsync_v2(address(&result, (size_t)round * BYTES), address(&in, 0), BYTES,
                              stream);
}

static void in_order(void)
{
    MPI_Status status;

    job_test("%d exchanges between copies in a stream, none waited for", ROUNDS);
    make_pair();
    fill();
    gpu_keep_busy(stream);
    for (int i = 0; i < ROUNDS; i++) {
        take_out(i);
        succeeds(gpubind_startall_on_stream(2, requests, stream), "startall_on_stream");
        put_in(i);
    }
    succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    succeeds(gpubind_wait(&requests[0], &status), "wait");
    status_is(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, "a request that is inactive at once");
    cuda.cuStreamSynchronize(stream);
    check("in order");
    end_pair();
    job_result();
}

/* Ranks of even number start on a stream, the others by the host. */
static void mixed(void)
{
    job_test("on a stream on one side, by the host on the other");
    make_pair();
    fill();
    for (int i = 0; i < ROUNDS; i++) {
        take_out(i);
        if ((job.rank + i / 2) % 2 == 0) {
            succeeds(gpubind_startall_on_stream(2, requests, stream), "startall_on_stream");
        } else {
            cuda.cuStreamSynchronize(stream);
            succeeds(gpubind_startall(2, requests), "startall");
            succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
        }
        put_in(i);
        cuda.cuStreamSynchronize(stream);
    }
    check("mixed");
    end_pair();
    job_result();
}

/* What the capture became; NULL: it was spoilt. */
static struct CUgraph_st *captured(const char *what)
{
    struct CUgraph_st *graph = NULL;
    int status = cuda.cuStreamEndCapture(stream, &graph);

    expect(status == CUDA_OK, "%s: the capture ends with %d", what, status);
    return graph;
}

static void end_graph(struct CUgraph_st *graph)
{
    if (graph && cuda.cuGraphDestroy)
        cuda.cuGraphDestroy(graph);
}

static void run_graph(struct CUgraph_st *graph)
{
    struct CUgraphExec_st *run = NULL;

    if (!graph || !cuda.cuGraphLaunch || !cuda.cuGraphInstantiateWithFlags ||
        cuda.cuGraphInstantiateWithFlags(&run, graph, 0) != CUDA_OK)
        return;
    for (int i = 0; i < ROUNDS; i++) {
        take_out(i);
        expect(cuda.cuGraphLaunch(run, stream) == CUDA_OK, "the graph cannot be launched");
        put_in(i);
    }
    cuda.cuStreamSynchronize(stream);
    cuda.cuGraphExecDestroy(run);
    check("a graph");
}

static void into_graphs(void)
{
    struct CUgraph_st *graph;

    job_test("captured into a graph, not before the first start");
    if (!cuda.cuStreamBeginCapture_v2) {
        job_skip("the driver has no capture");
        return;
    }
    make_pair();
    fill();
    cuda.cuStreamBeginCapture_v2(stream, CUDA_CAPTURE_RELAXED);
    fails(gpubind_startall_on_stream(2, requests, stream), MPI_ERR_OTHER, "not started yet",
          "the first start in a capture");
    end_graph(captured("after the refusal"));
    succeeds(gpubind_startall_on_stream(2, requests, stream), "startall_on_stream");
    cuda.cuStreamSynchronize(stream);
    job_barrier();
    cuda.cuStreamBeginCapture_v2(stream, CUDA_CAPTURE_RELAXED);
    succeeds(gpubind_startall_on_stream(2, requests, stream), "startall_on_stream in a capture");
    graph = captured("after a start");
    run_graph(graph);
    end_graph(graph);
    end_pair();
    job_result();
}

/* Three requests of a tag, which either side starts on its stream in an order of its own. */
static void nth_meets_nth(void)
{
    static const int orders[2][3] = {{2, 0, 1}, {1, 2, 0}};
    struct CUstream_st *streams[3];
    struct buffer buffers[3];
    gpubind_request all[3];

    job_test("on streams the nth send of a tag meets the nth receive");
    for (int i = 0; i < 3; i++) {
        cuda.cuStreamCreate(&streams[i], CUDA_STREAM_NON_BLOCKING);
        need_buffer(&buffers[i], MEMORY_DEVICE, 1000);
        if (job.rank == 0)
            buffer_fill(&buffers[i], 0, 1000, (uint64_t)i);
        if (job.rank == 0)
            succeeds(
                gpubind_send_init(buffers[i].at, 1000, MPI_BYTE, 1, 9, MPI_COMM_WORLD, &all[i]),
                "send_init");
        else if (job.rank == 1)
            succeeds(
                gpubind_recv_init(buffers[i].at, 1000, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &all[i]),
                "recv_init");
    }
    job_barrier(); /* they are set up, so that the first starts connect them */
    for (int i = 0; i < 3 && job.rank < 2; i++) {
        const int which = orders[job.rank][i];

        succeeds(gpubind_startall_on_stream(1, &all[which], streams[which]), "startall_on_stream");
    }
    for (int i = 0; i < 3; i++) {
        cuda.cuStreamSynchronize(streams[i]);
        if (job.rank == 1)
            received(&buffers[i], 1000, (uint64_t)i, "a request's message");
    }
    job_barrier();
    for (int i = 0; i < 3; i++) {
        if (job.rank < 2)
            succeeds(gpubind_request_free(&all[i]), "request_free");
        buffer_clear(&buffers[i]);
        cuda.cuStreamDestroy_v2(streams[i]);
    }
    job_result();
}

static void refused(bool linked)
{
    struct CUstream_st *other = NULL;

    job_test("refused: active requests, a stream of another GPU");
    make_pair();
    succeeds(gpubind_start(&requests[0]), "start");
    fails(gpubind_startall_on_stream(2, requests, stream), MPI_ERR_REQUEST, "active",
          "an active request on a stream");
    succeeds(gpubind_start(&requests[1]), "start");
    succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    if (linked && gpu_count > 1 && gpu_use((job.local + 1) % gpu_count) == CUDA_OK) {
        cuda.cuStreamCreate(&other, CUDA_STREAM_NON_BLOCKING);
        fails(gpubind_startall_on_stream(2, requests, other), MPI_ERR_OTHER, "another GPU",
              "a stream of another GPU");
        gpu_use(job.local % gpu_count);
    }
    end_pair();
    job_result();
}

void test_persistent_stream(void)
{
    int all_have;

    next_rank = (job.rank + 1) % job.size;
    previous_rank = (job.rank + job.size - 1) % job.size;
    MPI_Allreduce(&gpu_count, &all_have, 1, MPI_INT, MPI_MIN, job.plain);
    if (!all_have) {
        job_test("on a stream");
        job_skip("no GPU");
        return;
    }
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    in_order();
    mixed();
    if (nargs > 0)
        into_graphs();
    if (nargs > 0)
        nth_meets_nth();
    refused(nargs > 0);
    cuda.cuStreamDestroy_v2(stream);
}
