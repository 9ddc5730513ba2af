/* The simulated driver: graphs of what was captured. */
#include "tests/sim/check_streams.h"

static struct CUgraphExec_st *instantiate(struct CUgraph_st *graph)
{
    struct CUgraphExec_st *exec = NULL;

    WANT(cu.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_OK);
    WANT(cu.cuGraphDestroy(graph), CUDA_OK); /* the executable one needs it no more */
    return exec;
}

static struct CUgraphExec_st *end_capture(struct CUstream_st *stream)
{
    struct CUgraph_st *graph = NULL;

    WANT(cu.cuStreamEndCapture(stream, &graph), CUDA_OK);
    return instantiate(graph);
}

static void count_up(void *counter)
{
    atomic_fetch_add((atomic_int *)counter, 1);
}

/* Work of one stream is done at each launch, in its order, and after what the stream had. */
static void launches(void)
{
    struct CUstream_st *stream;
    struct CUgraphExec_st *exec;
    cuda_address a;
    atomic_int gate, counter = 0;

    start_driver(0);
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    a = allocate(8);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuMemcpyDtoDAsync_v2(a + 4, a, 4, stream), CUDA_OK);
    WANT(cu.cuMemsetD8Async(a, 7, 4, stream), CUDA_OK);
    WANT(cu.cuLaunchHostFunc(stream, count_up, &counter), CUDA_OK);
    exec = end_capture(stream);
    shut(stream, &gate);
    WANT(cu.cuMemsetD8Async(a, 3, 4, stream), CUDA_OK);
    WANT(cu.cuGraphLaunch(exec, stream), CUDA_OK);
    WANT(cu.cuStreamQuery(stream), CUDA_NOT_READY);
    WANT(atomic_load(&counter), 0);
    atomic_store(&gate, 1);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(byte_at(a), 7);
    WANT(byte_at(a + 4), 3);
    WANT(cu.cuGraphLaunch(exec, stream), CUDA_OK);
    WANT(cu.cuGraphLaunch(exec, NULL), CUDA_OK);
    WANT(cu.cuGraphExecDestroy(exec), CUDA_OK);
    WANT(cu.cuStreamSynchronize(NULL), CUDA_OK);
    WANT(byte_at(a + 4), 7);
    WANT(atomic_load(&counter), 3);
}

/* Another stream's work comes after the event that let it in, and before the one that let it out. */
static void branches(void)
{
    struct CUstream_st *stream, *other;
    struct CUevent_st *out, *back;
    struct CUgraphExec_st *exec;
    struct CUgraph_st *graph;
    cuda_address a;

    start_driver(0);
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    other = new_stream(CUDA_STREAM_NON_BLOCKING);
    out = new_event();
    back = new_event();
    a = allocate(3);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuMemsetD8Async(a, 5, 1, stream), CUDA_OK);
    WANT(cu.cuEventRecord(out, stream), CUDA_OK);
    WANT(cu.cuStreamWaitEvent(other, out, 0), CUDA_OK);
    WANT(cu.cuMemcpyDtoDAsync_v2(a + 1, a, 1, other), CUDA_OK);
    WANT(cu.cuStreamEndCapture(stream, &graph), 904); /* not joined */
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuMemsetD8Async(a, 5, 1, stream), CUDA_OK);
    WANT(cu.cuEventRecord(out, stream), CUDA_OK);
    WANT(cu.cuStreamWaitEvent(other, out, 0), CUDA_OK);
    WANT(cu.cuMemcpyDtoDAsync_v2(a + 1, a, 1, other), CUDA_OK);
    WANT(cu.cuEventRecord(back, other), CUDA_OK);
    WANT(cu.cuStreamWaitEvent(stream, back, 0), CUDA_OK);
    WANT(cu.cuMemcpyDtoDAsync_v2(a + 2, a + 1, 1, stream), CUDA_OK);
    exec = end_capture(stream);
    for (int i = 0; i < 20; i++) {
        WANT(cu.cuMemsetD8Async(a, 0, 3, stream), CUDA_OK);
        WANT(cu.cuGraphLaunch(exec, stream), CUDA_OK);
        WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
        WANT(byte_at(a + 2), 5);
    }
}

static void refusals(void)
{
    struct CUstream_st *stream;
    struct CUgraphExec_st *exec;
    struct CUgraph_st *graph = NULL;

    start_driver(0);
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    WANT(cu.cuGraphInstantiateWithFlags(&exec, NULL, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuGraphLaunch(NULL, stream), CUDA_INVALID_VALUE);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    exec = end_capture(stream);
    WANT(cu.cuGraphLaunch(exec, stream), CUDA_OK); /* of nothing */
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuGraphLaunch(exec, stream), 801); /* not simulated */
    WANT(cu.cuStreamEndCapture(stream, &graph), CUDA_OK);
}

static void uses_freed(void)
{
    struct CUstream_st *stream;
    struct CUgraphExec_st *exec;
    cuda_address a;

    start_driver(0);
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    a = allocate(100);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuMemsetD8Async(a, 1, 100, stream), CUDA_OK);
    exec = end_capture(stream);
    WANT(cu.cuMemFree_v2(a), CUDA_OK);
    cu.cuGraphLaunch(exec, stream);
    cu.cuStreamSynchronize(stream);
}

int main(void)
{
    static const struct check_case cases[] = {
        {.what = "graphs of one stream", .body = launches},
        {.what = "the same, late", .body = launches, .environment = {"GPUBIND_SIM_LATENCY=2000"}},
        {.what = "graphs of two streams",
         .body = branches,
         .environment = {"GPUBIND_SIM_LATENCY=2000"}},
        {.what = "graphs that are refused", .body = refusals},
        {.what = "a graph that writes freed memory", .body = uses_freed, .dies = "use after free"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case(&cases[i]);
    return tap_done();
}
