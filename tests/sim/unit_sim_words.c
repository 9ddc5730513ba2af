/* The simulated driver: streams that wait for words in memory. */
#include "tests/sim/check.h"
#include "tests/sim/pair.h"

static struct CUstream_st *new_stream(void)
{
    struct CUstream_st *stream = NULL;

    WANT(cu.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING), CUDA_OK);
    return stream;
}

/* Zeroed. */
static cuda_address words(size_t n)
{
    cuda_address a = allocate(4 * n);

    WANT(cu.cuMemsetD8Async(a, 0, 4 * n, NULL), CUDA_OK);
    WANT(cu.cuStreamSynchronize(NULL), CUDA_OK);
    return a;
}

static uint32_t word_at(cuda_address address)
{
    uint32_t word = 0;

    WANT(cu.cuMemcpyDtoH_v2(&word, address, sizeof word), CUDA_OK);
    return word;
}

static void comparisons(void)
{
    struct CUstream_st *first, *second;
    cuda_address a;

    start_driver(0);
    first = new_stream();
    second = new_stream();
    a = words(2);
    WANT(cu.cuStreamWriteValue32_v2(first, a, 5, 0), CUDA_OK); /* the write comes first */
    WANT(cu.cuStreamSynchronize(first), CUDA_OK);
    WANT(cu.cuStreamWaitValue32_v2(second, a, 5, CUDA_WAIT_EQ), CUDA_OK);
    WANT(cu.cuStreamWaitValue32_v2(second, a, 4, CUDA_WAIT_GEQ), CUDA_OK);
    WANT(cu.cuStreamWaitValue32_v2(second, a, 0xfffffff0, CUDA_WAIT_GEQ), CUDA_OK); /* cyclic */
    WANT(cu.cuStreamSynchronize(second), CUDA_OK);
    WANT(cu.cuStreamWaitValue32_v2(second, a, 4, CUDA_WAIT_EQ), CUDA_OK); /* the wait does */
    WANT(cu.cuMemsetD8Async(a + 4, 9, 1, second), CUDA_OK);
    WANT(cu.cuStreamQuery(second), CUDA_NOT_READY);
    WANT(byte_at(a + 4), 0);
    WANT(cu.cuStreamWriteValue32_v2(first, a, 3, 0), CUDA_OK);
    WANT(cu.cuStreamSynchronize(first), CUDA_OK);
    WANT(cu.cuStreamQuery(second), CUDA_NOT_READY);
    WANT(cu.cuStreamWriteValue32_v2(first, a, 4, 0), CUDA_OK);
    WANT(cu.cuStreamSynchronize(second), CUDA_OK);
    WANT(byte_at(a + 4), 9);
    WANT(cu.cuStreamWaitValue32_v2(second, a, 6, CUDA_WAIT_GEQ), CUDA_OK);
    WANT(cu.cuStreamQuery(second), CUDA_NOT_READY);
    WANT(cu.cuStreamWriteValue32_v2(first, a, 7, 0), CUDA_OK);
    WANT(cu.cuStreamSynchronize(second), CUDA_OK);
}

/* Words of 64 bits: both halves count. */
static void wide(void)
{
    const uint64_t large = (uint64_t)5 << 32;
    struct CUstream_st *first, *second;
    cuda_address a;

    start_driver(0);
    first = new_stream();
    second = new_stream();
    a = words(4);
    WANT(cu.cuStreamWaitValue64_v2(second, a, large, CUDA_WAIT_GEQ), CUDA_OK);
    WANT(cu.cuStreamWriteValue64_v2(first, a, large - 1, 0), CUDA_OK);
    WANT(cu.cuStreamSynchronize(first), CUDA_OK);
    WANT(word_at(a + 4), 4);
    WANT(cu.cuStreamQuery(second), CUDA_NOT_READY);
    WANT(cu.cuStreamWriteValue64_v2(first, a, large, 0), CUDA_OK);
    WANT(cu.cuStreamSynchronize(second), CUDA_OK);
    WANT(word_at(a), 0);
    WANT(cu.cuStreamWaitValue64_v2(second, a, UINT64_MAX, CUDA_WAIT_GEQ), CUDA_OK); /* cyclic */
    WANT(cu.cuStreamWaitValue64_v2(second, a, large, CUDA_WAIT_EQ), CUDA_OK);
    WANT(cu.cuStreamSynchronize(second), CUDA_OK);
    WANT(cu.cuStreamWriteValue64_v2(first, a + 4, 0, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuStreamWaitValue64_v2(first, a + 12, 0, 0), CUDA_INVALID_VALUE);
}

/* Two streams hand a word to each other, each with one batch. */
static void batches(void)
{
    struct CUstream_st *streams[2];
    struct cuda_memory_operation to[5], from[5];
    cuda_address a;

    start_driver(0);
    streams[0] = new_stream();
    streams[1] = new_stream();
    a = words(1);
    for (uint32_t i = 0; i < 5; i++) {
        const bool even = i % 2 == 0;

        to[i] = (struct cuda_memory_operation){.operation = even ? CUDA_OPERATION_WRITE
                                                                 : CUDA_OPERATION_WAIT,
                                               .address = a,
                                               .value = i + 1,
                                               .flags = even ? 0 : CUDA_WAIT_EQ};
        from[i] = (struct cuda_memory_operation){.operation = even ? CUDA_OPERATION_WAIT
                                                                   : CUDA_OPERATION_WRITE,
                                                 .address = a,
                                                 .value = i + 1,
                                                 .flags = even ? CUDA_WAIT_EQ : 0};
    }
    WANT(cu.cuStreamBatchMemOp_v2(streams[0], 5, to, 0), CUDA_OK);
    WANT(cu.cuStreamQuery(streams[0]), CUDA_NOT_READY);
    WANT(cu.cuStreamBatchMemOp_v2(streams[1], 5, from, 0), CUDA_OK);
    WANT(cu.cuStreamSynchronize(streams[1]), CUDA_OK);
    WANT(cu.cuStreamSynchronize(streams[0]), CUDA_OK);
    WANT(word_at(a), 5);
    WANT(cu.calls("cuStreamBatchMemOp_v2"), 2);
}

/* The CPU writes, and asks nobody. */
static void registered(void)
{
    struct CUstream_st *stream;
    uint32_t *word = aligned_alloc(4096, 4096);
    volatile char *seen;

    start_driver(0);
    stream = new_stream();
    *word = 0;
    WANT(cu.cuStreamWaitValue32_v2(stream, host(word), 1, CUDA_WAIT_EQ), CUDA_INVALID_VALUE);
    WANT(cu.cuMemHostRegister_v2(word, 4096, CUDA_REGISTER_PORTABLE), CUDA_OK);
    seen = locked(1, 0);
    WANT(cu.cuStreamWaitValue32_v2(stream, host(word), 1, CUDA_WAIT_EQ), CUDA_OK);
    WANT(cu.cuMemsetD8Async((uintptr_t)seen, 7, 1, stream), CUDA_OK);
    WANT(cu.cuStreamQuery(stream), CUDA_NOT_READY);
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    for (int n = 0; n < 10000 && *seen != 7; n++)
        usleep(1000);
    WANT(*seen, 7);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(cu.cuMemHostUnregister(word), CUDA_OK);
    free(word);
}

static void refusals(void)
{
    struct CUstream_st *stream;
    struct cuda_memory_operation batch[2] = {{.operation = CUDA_OPERATION_WRITE, .value = 1}};
    cuda_address a, managed;

    start_driver(0);
    stream = new_stream();
    a = words(2);
    WANT(cu.cuStreamWaitValue32_v2(stream, a + 2, 0, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuStreamWaitValue32_v2(stream, a, 0, 8), CUDA_INVALID_VALUE);
    WANT(cu.cuStreamWaitValue32_v2(stream, a, 0, CUDA_WAIT_FLUSH), 801);
    WANT(cu.cuStreamWriteValue32_v2(stream, a, 0, 1), CUDA_INVALID_VALUE);
    WANT(cu.cuMemAllocManaged(&managed, 100, 1), CUDA_OK);
    WANT(cu.cuStreamWriteValue32_v2(stream, managed, 0, 0), CUDA_INVALID_VALUE);
    batch[0].address = a;
    WANT(cu.cuStreamWaitValue32_v2(stream, a + 6, 0, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuStreamBatchMemOp_v2(stream, 0, batch, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuStreamBatchMemOp_v2(stream, 256, batch, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuStreamBatchMemOp_v2(stream, 1, batch, 1), CUDA_INVALID_VALUE);
    WANT(cu.cuStreamBatchMemOp_v2(stream, 2, batch, 0), CUDA_INVALID_VALUE); /* the second */
    WANT(word_at(a), 0);
    WANT(cu.cuStreamBatchMemOp_v2(stream, 1, batch, 0), CUDA_OK);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(word_at(a), 1);
}

/* Another device's word only with peer access. */
static void peers(void)
{
    struct CUctx_st *near = start_driver(0), *far;
    struct CUstream_st *stream = new_stream();
    cuda_address a;

    WANT(cu.cuDevicePrimaryCtxRetain(&far, 1), CUDA_OK);
    WANT(cu.cuCtxPushCurrent_v2(far), CUDA_OK);
    a = words(1);
    WANT(cu.cuStreamWriteValue32_v2(stream, a, 1, 0), CUDA_INVALID_VALUE);
    WANT(cu.cuCtxPushCurrent_v2(near), CUDA_OK);
    WANT(cu.cuCtxEnablePeerAccess(far, 0), CUDA_OK);
    WANT(cu.cuStreamWriteValue32_v2(stream, a, 1, 0), CUDA_OK);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(word_at(a), 1);
}

static void captured(void)
{
    struct CUstream_st *stream;
    struct CUgraph_st *graph;
    struct cuda_memory_operation wait = {.operation = CUDA_OPERATION_WAIT, .value = 1};
    cuda_address a;

    start_driver(0);
    stream = new_stream();
    wait.address = a = words(1);
    WANT(cu.cuStreamBeginCapture_v2(stream, 0), CUDA_OK);
    WANT(cu.cuStreamBatchMemOp_v2(stream, 1, &wait, 0), CUDA_OK);
    WANT(cu.cuStreamWriteValue32_v2(stream, a, 9, 0), CUDA_OK);
    WANT(cu.cuStreamEndCapture(stream, &graph), CUDA_OK);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(word_at(a), 0);
}

/* The first wait fails, the second's work is not done and leaves an error. */
static void failures(void)
{
    struct CUstream_st *stream;
    cuda_address a;

    start_driver(0);
    stream = new_stream();
    a = words(1);
    WANT(cu.cuStreamWaitValue32_v2(stream, a, 1, CUDA_WAIT_EQ), 801);
    WANT(cu.cuStreamWaitValue32_v2(stream, a, 1, CUDA_WAIT_EQ), CUDA_OK);
    WANT(cu.cuStreamSynchronize(stream), 719);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
}

/* A word that is pulled from under a stream that waits for it. */
static void closed(void)
{
    struct pair pair = pair_fork();
    struct cuda_ipc_handle handle;
    cuda_address a;

    if (!pair.peer) {
        start_driver(0);
        handle = handle_of(words(1));
        tell(&pair, &handle, sizeof handle);
        await(&pair);
        _exit(0);
    }
    start_driver(1);
    hear(&pair, &handle, sizeof handle);
    a = open_handle(handle);
    WANT(cu.cuStreamWaitValue32_v2(NULL, a, 1, CUDA_WAIT_EQ), CUDA_OK);
    WANT(cu.cuIpcCloseMemHandle(a), CUDA_OK);
    cu.cuStreamSynchronize(NULL);
}

enum { ROUNDS = 50 };

/* Each side's stream waits for its own word, clears it and sets the other's, all queued
 * before anybody waits; meanwhile the second process does not call the driver. */
static void processes(void)
{
    struct pair pair = pair_fork();
    struct CUstream_st *stream;
    struct cuda_ipc_handle handle;
    volatile char *seen;
    cuda_address own, other;

    start_driver(pair.peer ? 0 : 1);
    stream = new_stream();
    own = words(1);
    seen = locked(1, 0);
    handle = handle_of(own);
    tell(&pair, &handle, sizeof handle);
    hear(&pair, &handle, sizeof handle);
    other = open_handle(handle);
    for (int i = 0; i < ROUNDS; i++) {
        if (pair.peer)
            WANT(cu.cuStreamWriteValue32_v2(stream, other, 1, 0), CUDA_OK);
        WANT(cu.cuStreamWaitValue32_v2(stream, own, 1, CUDA_WAIT_EQ), CUDA_OK);
        WANT(cu.cuStreamWriteValue32_v2(stream, own, 0, 0), CUDA_OK);
        if (!pair.peer)
            WANT(cu.cuStreamWriteValue32_v2(stream, other, 1, 0), CUDA_OK);
    }
    WANT(cu.cuMemsetD8Async((uintptr_t)seen, 7, 1, stream), CUDA_OK);
    if (pair.peer)
        WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    for (int n = 0; n < 10000 && *seen != 7; n++)
        usleep(1000);
    WANT(*seen, 7);
    WANT(word_at(own), 0);
    turn(&pair);
    await(&pair);
    pair_join(&pair);
}

/* A stream that waits for ever does not keep the process. */
static void abandoned(void)
{
    cuda_address a;

    start_driver(0);
    a = words(1);
    WANT(cu.cuStreamWaitValue32_v2(new_stream(), a, 1, CUDA_WAIT_EQ), CUDA_OK);
    exit(check_failed ? 1 : 0);
}

/* The context of a stream, whatever is current. */
static void contexts(void)
{
    struct CUctx_st *first = start_driver(0), *second, *found = NULL;
    struct CUstream_st *stream = new_stream();

    WANT(cu.cuDevicePrimaryCtxRetain(&second, 1), CUDA_OK);
    WANT(cu.cuCtxPushCurrent_v2(second), CUDA_OK);
    WANT(cu.cuStreamGetCtx(stream, &found), CUDA_OK);
    WANT(found == first, 1);
    for (uintptr_t special = 0; special <= 2; special++) {
        found = NULL;
        WANT(cu.cuStreamGetCtx((struct CUstream_st *)special, &found), CUDA_OK);
        WANT(found == second, 1);
    }
    WANT(cu.cuStreamDestroy_v2(stream), CUDA_OK);
    WANT(cu.cuStreamGetCtx(stream, &found), 400);
}

/* 2 x 2 x 3 bytes of a box of 4 x 3 x 5 to one of 3 x 2 x 7. */
static void boxes(void)
{
    struct cuda_copy_3d shape = {.from_x = 1,
                                 .from_y = 1,
                                 .from_type = CUDA_MEMORY_DEVICE,
                                 .from_pitch = 4,
                                 .from_height = 3,
                                 .to_z = 1,
                                 .to_type = CUDA_MEMORY_DEVICE,
                                 .to_pitch = 3,
                                 .to_height = 2,
                                 .width = 2,
                                 .height = 2,
                                 .depth = 3};
    unsigned char from[60], to[42];
    int wrong = 0;

    start_driver(0);
    for (unsigned char i = 0; i < 60; i++)
        from[i] = i;
    shape.from_device = allocate(60);
    shape.to_device = allocate(42);
    WANT(cu.cuMemcpyHtoD_v2(shape.from_device, from, 60), CUDA_OK);
    WANT(cu.cuMemcpy3DAsync_v2(&shape, NULL), CUDA_OK);
    WANT(cu.cuMemcpyDtoH_v2(to, shape.to_device, 42), CUDA_OK);
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 2; x++)
                wrong += to[((z + 1) * 2 + y) * 3 + x] != from[(z * 3 + y + 1) * 4 + x + 1];
    WANT(wrong, 0);
    shape.depth = 7;
    WANT(cu.cuMemcpy3DAsync_v2(&shape, NULL), CUDA_INVALID_VALUE); /* it leaves both */
    shape.depth = 3;
    shape.to_height = 1;
    WANT(cu.cuMemcpy3DAsync_v2(&shape, NULL), CUDA_INVALID_VALUE);
    shape.to_height = 2;
    shape.to_pitch = 1;
    WANT(cu.cuMemcpy3DAsync_v2(&shape, NULL), CUDA_INVALID_VALUE);
}

int main(void)
{
    static const struct check_case cases[] = {
        {.what = "words are compared", .body = comparisons},
        {.what = "the same with latency",
         .body = comparisons,
         .environment = {"GPUBIND_SIM_LATENCY=500"}},
        {.what = "words of 64 bits", .body = wide},
        {.what = "batches", .body = batches},
        {.what = "batches with latency",
         .body = batches,
         .environment = {"GPUBIND_SIM_LATENCY=500"}},
        {.what = "a word in registered host memory", .body = registered},
        {.what = "what is refused", .body = refusals},
        {.what = "a word of another device", .body = peers},
        {.what = "captured", .body = captured},
        {.what = "failures",
         .body = failures,
         .environment = {"GPUBIND_SIM_FAIL=cuStreamWaitValue32_v2:1=801,"
                         "cuStreamWaitValue32_v2:2=719late"}},
        {.what = "a mapping is closed under a wait",
         .body = closed,
         .dies = "cuStreamWaitValue32_v2 waits for memory that was closed"},
        {.what = "two processes", .body = processes},
        {.what = "two processes with latency",
         .body = processes,
         .environment = {"GPUBIND_SIM_LATENCY=100"}},
        {.what = "a wait without an end", .body = abandoned},
        {.what = "the context of a stream", .body = contexts},
        {.what = "copies of boxes", .body = boxes},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case(&cases[i]);
    return tap_done();
}
