/* The simulated driver: streams, events, capture. */
#include <pthread.h>

#include "tests/sim/check_streams.h"

static void legacy(void)
{
    struct CUstream_st *blocking, *other, *apart;
    atomic_int gate;
    cuda_address a;

    start_driver(0);
    blocking = new_stream(0);
    other = new_stream(0);
    apart = new_stream(CUDA_STREAM_NON_BLOCKING);
    a = allocate(100);
    shut(blocking, &gate);
    WANT(cu.cuStreamQuery(NULL), CUDA_NOT_READY);
    WANT(cu.cuStreamQuery(other), CUDA_OK);
    WANT(cu.cuStreamQuery(apart), CUDA_OK);
    WANT(cu.cuMemsetD8Async(a, 1, 1, NULL), CUDA_OK);      /* waits for blocking, */
    WANT(cu.cuMemsetD8Async(a + 1, 1, 1, other), CUDA_OK); /* this for the legacy stream */
    WANT(cu.cuMemsetD8Async(a + 2, 1, 1, apart), CUDA_OK);
    WANT(cu.cuStreamQuery(other), CUDA_NOT_READY);
    WANT(cu.cuStreamSynchronize(apart), CUDA_OK);
    atomic_store(&gate, 1);
    WANT(cu.cuStreamSynchronize(CUDA_LEGACY_STREAM), CUDA_OK);
    WANT(cu.cuStreamSynchronize(other), CUDA_OK);
    WANT(byte_at(a + 1), 1);
    shut(apart, &gate);
    WANT(cu.cuStreamQuery(NULL), CUDA_OK);
    WANT(byte_at(a), 1); /* a copy in the legacy stream, past apart */
    atomic_store(&gate, 1);
    WANT(cu.cuCtxSynchronize(), CUDA_OK);
    WANT(cu.cuStreamQuery(CUDA_PER_THREAD_STREAM), CUDA_OK);
    shut(CUDA_PER_THREAD_STREAM, &gate);
    WANT(cu.cuStreamQuery(CUDA_PER_THREAD_STREAM), CUDA_NOT_READY);
    WANT(cu.cuStreamQuery(NULL), CUDA_NOT_READY);
    atomic_store(&gate, 1);
    WANT(cu.cuStreamSynchronize(CUDA_PER_THREAD_STREAM), CUDA_OK);
    WANT(cu.cuStreamCreate(&apart, 8), CUDA_INVALID_VALUE);
}

static void events(void)
{
    struct CUstream_st *first, *second;
    struct CUevent_st *event, *elsewhere;
    struct CUctx_st *context, *other;
    atomic_int gate, later;

    context = start_driver(0);
    first = new_stream(CUDA_STREAM_NON_BLOCKING);
    second = new_stream(CUDA_STREAM_NON_BLOCKING);
    event = new_event();
    WANT(cu.cuEventQuery(event), CUDA_OK);
    WANT(cu.cuStreamWaitEvent(first, event, 0), CUDA_OK);
    shut(first, &gate);
    WANT(cu.cuEventRecord(event, first), CUDA_OK);
    WANT(cu.cuEventQuery(event), CUDA_NOT_READY);
    WANT(cu.cuStreamWaitEvent(second, event, 0), CUDA_OK);
    shut(first, &later);
    WANT(cu.cuEventRecord(event, first), CUDA_OK);
    WANT(cu.cuStreamQuery(second), CUDA_NOT_READY);
    atomic_store(&gate, 1);
    WANT(cu.cuStreamSynchronize(second), CUDA_OK); /* it waits for the earlier record */
    WANT(cu.cuEventQuery(event), CUDA_NOT_READY);
    atomic_store(&later, 1);
    WANT(cu.cuStreamSynchronize(first), CUDA_OK);
    WANT(cu.cuEventQuery(event), CUDA_OK);
    WANT(cu.cuDevicePrimaryCtxRetain(&other, 1), CUDA_OK);
    WANT(cu.cuCtxPushCurrent_v2(other), CUDA_OK);
    elsewhere = new_event();
    WANT(cu.cuEventRecord(elsewhere, first), 400);
    WANT(cu.cuEventRecord(event, NULL), 400);
    WANT(cu.cuCtxPopCurrent_v2(&other), CUDA_OK);
    WANT(cu.cuCtxPopCurrent_v2(&other), CUDA_OK);
    WANT(other == context, 1);
    WANT(cu.cuEventRecord(event, first), CUDA_OK); /* no context is current */
    WANT(cu.cuStreamWaitEvent(second, event, 0), CUDA_OK);
    WANT(cu.cuEventDestroy_v2(event), CUDA_OK);
    WANT(cu.cuStreamQuery(NULL), 201);
}

/* An event of the context comes after the work of all its streams, and none of theirs after it. */
static void context_events(void)
{
    struct CUctx_st *context = start_driver(0);
    struct CUstream_st *const held[] = {NULL, new_stream(0), new_stream(CUDA_STREAM_NON_BLOCKING)};
    struct CUevent_st *event = new_event();
    struct CUgraph_st *graph;
    atomic_int gate;

    for (int i = 0; i < 3; i++) {
        struct CUstream_st *apart = new_stream(CUDA_STREAM_NON_BLOCKING);

        shut(held[i], &gate);
        WANT(cu.cuCtxRecordEvent(context, event), CUDA_OK);
        WANT(cu.cuEventQuery(event), CUDA_NOT_READY);
        WANT(cu.cuStreamQuery(apart), CUDA_OK);
        atomic_store(&gate, 1);
        WANT(cu.cuStreamSynchronize(held[i]), CUDA_OK);
        WANT(cu.cuCtxSynchronize(), CUDA_OK);
        WANT(cu.cuEventQuery(event), CUDA_OK);
    }
    WANT(cu.cuCtxRecordEvent(NULL, event), 201);
    WANT(cu.cuCtxRecordEvent(context, NULL), 400);
    WANT(cu.cuStreamBeginCapture_v2(held[2], 2), CUDA_OK);
    WANT(cu.cuCtxRecordEvent(context, event), CUDA_CAPTURE_UNSUPPORTED);
    WANT(cu.cuStreamEndCapture(held[2], &graph), 901);
}

/* Nobody asks, yet the work is done, and not at once. */
static void latency(void)
{
    struct CUstream_st *stream;
    volatile char *seen;
    cuda_address a;
    int n = 0;

    start_driver(0);
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    a = allocate(100);
    seen = locked(100, 0);
    WANT(cu.cuMemsetD8Async(a, 7, 100, stream), CUDA_OK);
    for (int i = 0; i < 10; i++)
        WANT(cu.cuMemcpyDtoHAsync_v2((void *)(uintptr_t)seen, a, 100, stream), CUDA_OK);
    WANT(cu.cuStreamQuery(stream), CUDA_NOT_READY);
    for (; n < 10000 && seen[99] != 7; n++)
        usleep(1000);
    WANT(n < 10000, 1);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(cu.cuMemFree_v2(a), CUDA_OK);
}

/* The capture of stream is in that state (0 none, 1 active, 2 invalid); ends it. */
static void ends_capture(struct CUstream_st *stream, int state)
{
    struct CUgraph_st *graph = NULL;
    int is = -1;

    WANT(cu.cuStreamIsCapturing(stream, &is), CUDA_OK);
    WANT(is, state);
    WANT(cu.cuStreamEndCapture(stream, &graph), state == 1 ? CUDA_OK : 901);
    WANT(graph != NULL, state == 1);
}

static void capture(void)
{
    struct CUstream_st *stream, *other;
    struct CUevent_st *inside, *outside;
    cuda_address a, b;
    int state, mode = CUDA_CAPTURE_RELAXED;

    start_driver(0);
    stream = new_stream(0);
    other = new_stream(CUDA_STREAM_NON_BLOCKING);
    inside = new_event();
    outside = new_event();
    a = allocate(100);
    WANT(cu.cuEventRecord(outside, other), CUDA_OK);
    WANT(cu.cuStreamBeginCapture_v2(NULL, 0), CUDA_CAPTURE_UNSUPPORTED);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), 401);
    WANT(cu.cuStreamIsCapturing(NULL, &state), CUDA_CAPTURE_IMPLICIT);
    WANT(cu.cuMemsetD8Async(a, 5, 100, stream), CUDA_OK);
    WANT(cu.cuMemsetD8Async(a + 1, 5, 1, other), CUDA_OK);
    WANT(cu.cuEventRecord(inside, stream), CUDA_OK);
    ends_capture(stream, 1);
    WANT(byte_at(a), 0); /* captured, not done */
    WANT(byte_at(a + 1), 5);
    WANT(cu.cuEventQuery(inside), CUDA_INVALID_VALUE);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuMemsetD8Async(a, 5, 100, NULL), CUDA_CAPTURE_IMPLICIT);
    WANT(cu.cuMemsetD8Async(a, 5, 100, stream), 901);
    ends_capture(stream, 2);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuStreamQuery(other), CUDA_CAPTURE_UNSUPPORTED);
    ends_capture(stream, 2);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuMemAlloc_v2(&b, 8), CUDA_CAPTURE_UNSUPPORTED);
    ends_capture(stream, 2);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuStreamWaitEvent(stream, outside, 0), 905);
    ends_capture(stream, 2);
    WANT(cu.cuThreadExchangeStreamCaptureMode(&mode), CUDA_OK);
    WANT(mode, 0);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuStreamQuery(other), CUDA_OK);
    WANT(cu.cuMemAlloc_v2(&b, 8), CUDA_OK);
    WANT(cu.cuEventRecord(inside, stream), CUDA_OK);
    WANT(cu.cuStreamWaitEvent(other, inside, 0), CUDA_OK);
    WANT(cu.cuStreamIsCapturing(other, &state), CUDA_OK);
    WANT(state, 1);
    WANT(cu.cuEventQuery(inside), 907);
    ends_capture(stream, 1);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuStreamQuery(stream), CUDA_CAPTURE_UNSUPPORTED);
    ends_capture(stream, 2);
    WANT(cu.cuStreamBeginCapture_v2(other, CUDA_CAPTURE_RELAXED), CUDA_OK);
    WANT(cu.cuCtxSetFlags(CUDA_CONTEXT_SYNC_MEMOPS), CUDA_CAPTURE_UNSUPPORTED);
    ends_capture(other, 2);
    WANT(cu.cuCtxSetFlags(CUDA_CONTEXT_SYNC_MEMOPS), CUDA_OK);
    WANT(cu.cuStreamBeginCapture_v2(other, CUDA_CAPTURE_RELAXED), CUDA_OK);
    WANT(cu.cuCtxSetFlags(CUDA_CONTEXT_SYNC_MEMOPS), CUDA_OK);
    WANT(cu.cuCtxSetFlags(0), CUDA_OK);
    ends_capture(other, 1);
}

static int called_back;

static void call_back(void *unused)
{
    size_t nbytes, total;

    (void)unused;
    called_back = cu.cuMemGetInfo_v2(&nbytes, &total);
}

static void callbacks(void)
{
    start_driver(0);
    WANT(cu.cuLaunchHostFunc(NULL, call_back, NULL), CUDA_OK);
    WANT(cu.cuStreamSynchronize(NULL), CUDA_OK);
    WANT(called_back, 800);
}

/* Freeing waits for work; pool memory goes in the stream's order. */
static void frees(void)
{
    struct CUstream_st *stream;
    cuda_address a, b, pool;

    start_driver(0);
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    for (int i = 0; i < 20; i++) {
        a = allocate(4096);
        b = allocate(4096);
        WANT(cu.cuMemAllocAsync(&pool, 4096, stream), CUDA_OK);
        WANT(cu.cuMemcpyDtoDAsync_v2(a, b, 4096, stream), CUDA_OK);
        WANT(cu.cuMemcpyDtoDAsync_v2(pool, b, 4096, stream), CUDA_OK);
        WANT(cu.cuMemFreeAsync(pool, stream), CUDA_OK);
        WANT(cu.cuMemFree_v2(a), CUDA_OK);
        WANT(cu.cuMemFree_v2(b), CUDA_OK);
    }
    WANT(cu.cuStreamDestroy_v2(stream), CUDA_OK);
    WANT(cu.cuStreamQuery(stream), 400);
}

static size_t free_bytes(void)
{
    size_t nbytes = 0, total;

    WANT(cu.cuMemGetInfo_v2(&nbytes, &total), CUDA_OK);
    return nbytes;
}

/* Of cuMemAlloc: as an H200's driver, which knows nothing of the memory from the call on, and has
 * it free only once somebody waits for the stream. */
static void frees_in_stream(void)
{
    const size_t large = 1 << 20;
    struct CUstream_st *stream;
    atomic_int gate;
    cuda_address a, b;
    size_t before;
    unsigned type = 0;
    int attribute = CUDA_POINTER_MEMORY_TYPE;
    void *value = &type;

    start_driver(0);
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    before = free_bytes();
    a = allocate(large);
    b = allocate(large);
    shut(stream, &gate);
    WANT(cu.cuMemFreeAsync(a, stream), CUDA_OK);
    WANT(cu.cuPointerGetAttributes(1, &attribute, &value, a), CUDA_OK);
    WANT(type, 0);
    WANT(cu.cuMemFreeAsync(a, stream), CUDA_INVALID_VALUE);
    atomic_store(&gate, 1);
    while (cu.cuStreamQuery(stream) == CUDA_NOT_READY)
        usleep(100);
    WANT(before - free_bytes() >= 2 * large, true);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(before - free_bytes() < 2 * large, true);
    WANT(cu.cuMemFreeAsync(b, stream), CUDA_OK);
    WANT(cu.cuCtxSynchronize(), CUDA_OK);
    WANT(free_bytes(), before);
}

static void copies_what_is_freed(void)
{
    struct CUstream_st *stream;
    atomic_int gate;
    cuda_address a;
    char byte;

    start_driver(0);
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    a = allocate(100);
    shut(stream, &gate);
    WANT(cu.cuMemFreeAsync(a, stream), CUDA_OK);
    cu.cuMemcpyDtoHAsync_v2(&byte, a, 1, stream);
}

#define THREADS 4

static struct CUctx_st *shared_context;

static void *use_streams(void *unused)
{
    struct CUstream_st *streams[3];
    struct CUevent_st *event;
    cuda_address a;
    int failed = 0;

    failed += cu.cuCtxPushCurrent_v2(shared_context) != CUDA_OK;
    for (unsigned i = 0; i < 3; i++)
        failed += cu.cuStreamCreate(&streams[i], i % 2) != CUDA_OK;
    failed += cu.cuEventCreate(&event, 2) != CUDA_OK;
    for (int i = 0; i < 100; i++) {
        unsigned char seen = 0;

        failed += cu.cuMemAlloc_v2(&a, 5000) != CUDA_OK;
        failed += cu.cuMemsetD8Async(a, (unsigned char)i, 5000, streams[i % 3]) != CUDA_OK;
        failed += cu.cuEventRecord(event, streams[i % 3]) != CUDA_OK;
        failed += cu.cuStreamWaitEvent(streams[(i + 1) % 3], event, 0) != CUDA_OK;
        failed += cu.cuMemcpyDtoHAsync_v2(&seen, a + 4999, 1, streams[(i + 1) % 3]) != CUDA_OK;
        failed += seen != i;
        failed += cu.cuMemFree_v2(a) != CUDA_OK;
    }
    return failed ? unused : NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    void *failed = NULL;

    shared_context = start_driver(0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, use_streams, thread);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &failed);
        WANT(failed == NULL, 1);
    }
}

static void times(void)
{
    struct CUstream_st *stream;
    struct CUevent_st *from, *to, *untimed = NULL;
    atomic_int gate;
    float ms = -1;

    start_driver(0);
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    WANT(cu.cuEventCreate(&from, 0), CUDA_OK);
    WANT(cu.cuEventCreate(&to, 0), CUDA_OK);
    untimed = new_event();
    WANT(cu.cuEventElapsedTime(&ms, from, to), 400);
    WANT(cu.cuEventRecord(from, stream), CUDA_OK);
    WANT(cu.cuEventRecord(untimed, stream), CUDA_OK);
    shut(stream, &gate);
    WANT(cu.cuEventRecord(to, stream), CUDA_OK);
    WANT(cu.cuEventElapsedTime(&ms, from, to), CUDA_NOT_READY);
    atomic_store(&gate, 1);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(cu.cuEventElapsedTime(&ms, from, to), CUDA_OK);
    WANT(ms > 0, true);
    WANT(cu.cuEventElapsedTime(&ms, to, from), CUDA_OK);
    WANT(ms < 0, true);
    WANT(cu.cuEventElapsedTime(&ms, from, untimed), 400);
}

int main(void)
{
    static const struct check_case cases[] = {
        {.what = "the legacy stream and the others", .body = legacy},
        {.what = "the same with latency",
         .body = legacy,
         .environment = {"GPUBIND_SIM_LATENCY=500"}},
        {.what = "events", .body = events},
        {.what = "events with latency", .body = events, .environment = {"GPUBIND_SIM_LATENCY=500"}},
        {.what = "events of a context", .body = context_events},
        {.what = "times", .body = times},
        {.what = "times with latency", .body = times, .environment = {"GPUBIND_SIM_LATENCY=500"}},
        {.what = "work is done by itself",
         .body = latency,
         .environment = {"GPUBIND_SIM_LATENCY=5000"}},
        {.what = "capture", .body = capture},
        {.what = "a host function calls the driver", .body = callbacks},
        {.what = "freeing waits", .body = frees, .environment = {"GPUBIND_SIM_LATENCY=300"}},
        {.what = "freed in a stream", .body = frees_in_stream},
        {.what = "a copy of what a stream will free",
         .body = copies_what_is_freed,
         .dies = "use after free"},
        {.what = "threads", .body = threads, .environment = {"GPUBIND_SIM_LATENCY=20"}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case(&cases[i]);
    return tap_done();
}
