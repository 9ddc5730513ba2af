/* The simulated driver: copies of all kinds, and kernels. */
#include <stdatomic.h>

#include "gpu/copy/copy_agent_kernel.h"
#include "gpu/copy/copy_kernel.h"
#include "gpu/exchange/exchange_flag.h"
#include "gpu/exchange/exchange_kernel.h"
#include "gpu/exchange/signal_kernel.h"
#include "tests/sim/check.h"

static struct CUstream_st *new_stream(unsigned flags)
{
    struct CUstream_st *stream = NULL;

    WANT(cu.cuStreamCreate(&stream, flags), CUDA_OK);
    return stream;
}

/* A host function that lets no later work of its stream begin. */
static void pass(void *gate)
{
    while (!atomic_load((atomic_int *)gate))
        usleep(100);
}

static void shut(struct CUstream_st *stream, atomic_int *gate)
{
    atomic_store(gate, 0);
    WANT(cu.cuLaunchHostFunc(stream, pass, gate), CUDA_OK);
}

static void host_memory(void)
{
    struct CUstream_st *stream;
    char pageable[100], *page_locked;
    cuda_address from_pageable, from_locked;
    atomic_int gate;

    start_driver(0);
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    from_pageable = allocate(100);
    from_locked = allocate(100);
    page_locked = locked(100, 'a');
    memset(pageable, 'a', 100);
    shut(stream, &gate);
    WANT(cu.cuMemcpyHtoDAsync_v2(from_pageable, pageable, 100, stream), CUDA_OK);
    WANT(cu.cuMemcpyHtoDAsync_v2(from_locked, page_locked, 100, stream), CUDA_OK);
    memset(pageable, 'b', 100);
    memset(page_locked, 'b', 100);
    WANT(cu.cuStreamQuery(stream), CUDA_NOT_READY);
    atomic_store(&gate, 1);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(byte_at(from_pageable), 'a');
    WANT(byte_at(from_locked), 'b');
    WANT(cu.cuMemcpyAsync(host(pageable), from_pageable, 100, stream), CUDA_OK);
    WANT(pageable[99], 'a'); /* done when the call returned */
    WANT(cu.cuMemcpyDtoDAsync_v2(from_locked, host(pageable), 100, stream), CUDA_INVALID_VALUE);
}

static void batch(void)
{
    enum { N = 20 };
    struct cuda_copy_attributes attributes = {.order = CUDA_COPY_IN_STREAM_ORDER};
    cuda_address to[N], from[N], a, b;
    size_t nbytes[N], first = 0;
    struct CUstream_st *stream;

    start_driver(0);
    stream = new_stream(0);
    a = allocate(N * 100);
    b = allocate(N * 100);
    for (int i = 0; i < N; i++) {
        to[i] = a + 100 * (unsigned)i;
        from[i] = b + 100 * (unsigned)i;
        nbytes[i] = 100;
        WANT(cu.cuMemsetD8Async(from[i], (unsigned char)i, 100, stream), CUDA_OK);
    }
    WANT(cu.cuMemcpyBatchAsync_v2(to, from, nbytes, N, &attributes, &first, 1, NULL), 1);
    WANT(cu.cuMemcpyBatchAsync_v2(to, from, nbytes, N, &attributes, &first, 1, CUDA_LEGACY_STREAM),
         1);
    WANT(cu.cuMemcpyBatchAsync_v2(to, from, nbytes, N, &attributes, &first, 0, stream), 1);
    WANT(cu.cuMemcpyBatchAsync_v2(to, from, nbytes, 0, &attributes, &first, 1, stream), 1);
    WANT(cu.cuMemcpyBatchAsync_v2(to, from, nbytes, N, &attributes, &first, 1, stream), 0);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    for (int i = 0; i < N; i++)
        WANT(byte_at(to[i] + 99), i);
    nbytes[3] = 0;
    WANT(cu.cuMemcpyBatchAsync_v2(to, from, nbytes, N, &attributes, &first, 1, stream), 1);
}

static void planes(void)
{
    struct cuda_copy_2d shape = {.from_type = CUDA_MEMORY_DEVICE,
                                 .from_pitch = 100,
                                 .from_x = 8,
                                 .to_type = CUDA_MEMORY_DEVICE,
                                 .to_pitch = 8,
                                 .width = 8,
                                 .height = 10};
    char bytes[1000];
    cuda_address column;

    start_driver(0);
    for (int i = 0; i < 1000; i++)
        bytes[i] = (char)(i % 100 < 8 || i % 100 >= 16 ? 'x' : '0' + i / 100);
    shape.from_device = allocate(1000);
    shape.to_device = column = allocate(80);
    WANT(cu.cuMemcpyHtoD_v2(shape.from_device, bytes, 1000), CUDA_OK);
    WANT(cu.cuMemcpy2DAsync_v2(&shape, NULL), CUDA_OK);
    WANT(cu.cuStreamSynchronize(NULL), CUDA_OK);
    for (unsigned i = 0; i < 80; i++)
        WANT(byte_at(column + i), '0' + (int)i / 8);
    shape.to_pitch = 7;
    WANT(cu.cuMemcpy2DAsync_v2(&shape, NULL), CUDA_INVALID_VALUE);
    shape.to_pitch = 0; /* adjacent rows */
    WANT(cu.cuMemcpy2DAsync_v2(&shape, NULL), CUDA_OK);
    shape.from_y = 1; /* past the end */
    WANT(cu.cuMemcpy2DAsync_v2(&shape, NULL), CUDA_INVALID_VALUE);
    shape.from_y = 0;
    shape.to_type = CUDA_MEMORY_HOST;
    shape.to_host = bytes;
    WANT(cu.cuMemcpy2DAsync_v2(&shape, NULL), CUDA_OK);
    WANT(bytes[79], '9');
}

static struct CUfunc_st *load_kernel(void)
{
    struct CUmod_st *module = NULL;
    struct CUfunc_st *function = NULL;

    WANT(cu.cuModuleLoadData(&module, "an image"), CUDA_OK);
    WANT(cu.cuModuleGetFunction(&function, module, COPY_KERNEL_NAME), CUDA_OK);
    return function;
}

static int launch(struct CUfunc_st *kernel, struct copy_kernel_job *job, struct CUstream_st *stream)
{
    void *parameters[] = {job};

    job->chunks_before[0] = 0;
    for (unsigned i = 0; i < job->n; i++)
        job->chunks_before[i + 1] = job->chunks_before[i] +
                                    (unsigned)((job->nbytes[i] + COPY_KERNEL_CHUNK - 1) /
                                               COPY_KERNEL_CHUNK);
    return cu.cuLaunchKernel(kernel, 8, 1, 1, COPY_KERNEL_THREADS, 1, 1, 0, stream, parameters,
                             NULL);
}

static void kernels(void)
{
    struct copy_kernel_job job = {.n = 2};
    struct CUfunc_st *kernel;
    struct CUstream_st *stream;
    struct CUctx_st *context = start_driver(1), *other;
    char *page_locked = locked(9000, 'l'), pageable[10];
    cuda_address a = allocate(9000), far;

    kernel = load_kernel();
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    job.to[0] = a;
    job.from[0] = host(page_locked);
    job.nbytes[0] = 5000;
    job.to[1] = a + 5000;
    job.from[1] = host(page_locked);
    job.nbytes[1] = 4000;
    WANT(launch(kernel, &job, stream), CUDA_OK);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(byte_at(a + 8999), 'l');
    job.from[1] = host(pageable);
    WANT(launch(kernel, &job, stream), CUDA_OK);
    WANT(cu.cuStreamSynchronize(stream), 700);
    WANT(cu.cuDevicePrimaryCtxRetain(&other, 0), CUDA_OK);
    WANT(cu.cuCtxPushCurrent_v2(other), CUDA_OK);
    far = allocate(4000);
    WANT(cu.cuCtxPopCurrent_v2(&other), CUDA_OK);
    job.from[1] = far;
    WANT(launch(kernel, &job, stream), CUDA_OK);
    WANT(cu.cuStreamSynchronize(stream), 700);
    WANT(cu.cuCtxEnablePeerAccess(other, 0), CUDA_OK);
    WANT(launch(kernel, &job, stream), CUDA_OK);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(byte_at(a + 5000), 0);
    WANT(context != other, 1);
}

/* An H200's driver, 580.159: whichever context is current. */
static void other_gpu(void)
{
    struct CUctx_st *other;
    struct CUstream_st *stream;
    cuda_address a, far;

    start_driver(1);
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    a = allocate(100);
    WANT(cu.cuDevicePrimaryCtxRetain(&other, 0), CUDA_OK);
    WANT(cu.cuCtxPushCurrent_v2(other), CUDA_OK);
    far = allocate(100);
    WANT(cu.cuMemsetD8Async(a, 7, 100, stream), CUDA_OK);
    WANT(cu.cuMemsetD8Async(far, 1, 100, stream), CUDA_INVALID_VALUE);
    WANT(cu.cuMemcpyAsync(far, a, 100, stream), CUDA_OK);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(byte_at(far), 7);
    WANT(cu.cuCtxPopCurrent_v2(&other), CUDA_OK);
    WANT(cu.cuCtxEnablePeerAccess(other, 0), CUDA_OK);
    WANT(cu.cuMemsetD8Async(far, 1, 100, stream), CUDA_OK);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(byte_at(far), 1);
}

static int start_exchange(struct CUfunc_st *kernel, struct exchange_kernel_job *job,
                          struct CUstream_st *stream)
{
    void *parameters[] = {job};

    return cu.cuLaunchKernel(kernel, 2, 1, 1, EXCHANGE_KERNEL_THREADS, 1, 1, 0, stream, parameters,
                             NULL);
}

/* 100 bytes in two parts, from one stream to another. */
static void exchanges(void)
{
    struct exchange_kernel_job send = {.nsends = 1},
                               receive = {.nreceives = 1, .posts = 1, .waits = 1};
    struct CUmod_st *module = NULL;
    struct CUfunc_st *kernel = NULL;
    struct CUstream_st *streams[2];
    cuda_address a, words;

    start_driver(0);
    WANT(cu.cuModuleLoadData(&module, "an image"), CUDA_OK);
    WANT(cu.cuModuleGetFunction(&kernel, module, "another"), 500);
    WANT(cu.cuModuleGetFunction(&kernel, module, EXCHANGE_KERNEL_NAME), CUDA_OK);
    streams[0] = new_stream(CUDA_STREAM_NON_BLOCKING);
    streams[1] = new_stream(CUDA_STREAM_NON_BLOCKING);
    a = allocate(512);
    words = allocate(4 * EXCHANGE_FLAG);
    WANT(cu.cuMemsetD8Async(words, 0, 4 * EXCHANGE_FLAG, streams[0]), CUDA_OK);
    WANT(cu.cuMemsetD8Async(a, 7, 256, streams[0]), CUDA_OK);
    send.sends[0] = (struct kernel_send){
        .copy = {a + 256, a, 256, 2, KERNEL_CONTIGUOUS, KERNEL_CONTIGUOUS, 1},
        .ready = words,
        .done = words + 2 * EXCHANGE_FLAG};
    receive.receives[0] = (struct kernel_receive){words, words + 2 * EXCHANGE_FLAG, 2};
    WANT(start_exchange(kernel, &send, streams[0]), CUDA_OK);
    WANT(cu.cuStreamQuery(streams[0]), CUDA_NOT_READY);
    WANT(start_exchange(kernel, &receive, streams[1]), CUDA_OK);
    WANT(cu.cuStreamSynchronize(streams[1]), CUDA_OK);
    WANT(cu.cuStreamSynchronize(streams[0]), CUDA_OK);
    WANT(byte_at(a + 511), 7);
    WANT(byte_at(words), 0);
    WANT(byte_at(words + 3 * EXCHANGE_FLAG), 0);
    send.sends[0].done = words + 3 * EXCHANGE_FLAG; /* the second part's lies behind the memory */
    WANT(start_exchange(kernel, &send, streams[0]), CUDA_OK);
    WANT(cu.cuStreamSynchronize(streams[0]), 700);
    send.sends[0].done = words + 2 * EXCHANGE_FLAG;
    send.sends[0].copy.to = a + 257;
    WANT(start_exchange(kernel, &send, streams[0]), CUDA_OK);
    WANT(cu.cuStreamSynchronize(streams[0]), 700);
}

static int fill_multiprocessors(struct CUfunc_st *kernel, cuda_address memory, unsigned blocks,
                                struct CUstream_st *stream)
{
    struct signal_kernel_job job = {
        .shared = memory + 512,
        .turn = 1,
        .parts = blocks,
        .n = 1,
        .first_wait = 1,
        .items = {{.wait = memory, .wait_value = 1, .parts = (unsigned short)blocks}}};
    void *parameters[] = {&job};

    return cu.cuLaunchKernel(kernel, blocks, 1, 1, SIGNAL_KERNEL_THREADS, 1, 1, 0, stream,
                             parameters, NULL);
}

static int launch_test(struct CUfunc_st *kernel, unsigned shared, struct CUstream_st *stream)
{
    void *parameters[] = {NULL};

    return cu.cuLaunchKernel(kernel, 1, 1, 1, SIGNAL_KERNEL_THREADS, 1, 1, shared, stream,
                             parameters, NULL);
}

/* The copy agent's, told to exit, which it does when all of its blocks are there. */
static int launch_agent(struct CUfunc_st *kernel, unsigned blocks, struct CUstream_st *stream)
{
    struct agent_ring *ring = (void *)locked(sizeof *ring, 0);
    struct agent_kernel_job job = {host(ring), allocate(sizeof(struct agent_state)), 0};
    void *parameters[] = {&job};

    ring->tail = UINT64_C(1) << 32;
    return cu.cuLaunchKernel(kernel, blocks, 1, 1, AGENT_KERNEL_THREADS, 1, 1, 0, stream,
                             parameters, NULL);
}

/* A kernel that waits on all multiprocessors keeps others waiting that need all of one, or more than is left. */
static void multiprocessors(void)
{
    enum { SHARED = 227 << 10, OF_FUNCTION = 8 };
    struct CUmod_st *module = NULL;
    struct CUfunc_st *signal = NULL, *test = NULL, *agent = NULL;
    struct CUstream_st *streams[3];
    cuda_address memory;

    start_driver(0);
    WANT(cu.cuModuleLoadData(&module, "an image"), CUDA_OK);
    WANT(cu.cuModuleGetFunction(&signal, module, SIGNAL_KERNEL_NAME), CUDA_OK);
    WANT(cu.cuModuleGetFunction(&test, module, "gpubind_test_nothing"), CUDA_OK);
    WANT(cu.cuModuleGetFunction(&agent, module, AGENT_KERNEL_NAME), CUDA_OK);
    for (int i = 0; i < 3; i++)
        streams[i] = new_stream(CUDA_STREAM_NON_BLOCKING);
    memory = allocate(512 + sizeof(struct signal_kernel_shared));
    WANT(cu.cuMemsetD8Async(memory, 0, 512 + sizeof(struct signal_kernel_shared), streams[0]),
         CUDA_OK);
    WANT(launch_test(test, SHARED, streams[1]), CUDA_INVALID_VALUE);
    WANT(cu.cuFuncSetAttribute(test, OF_FUNCTION, SHARED + 1), CUDA_INVALID_VALUE);
    WANT(cu.cuFuncSetAttribute(test, OF_FUNCTION, SHARED), CUDA_OK);
    WANT(launch_test(test, SHARED, streams[1]), CUDA_OK); /* it is loaded now */
    WANT(launch_agent(agent, 1, streams[2]), CUDA_OK);    /* likewise */
    WANT(fill_multiprocessors(signal, memory, 131, streams[0]), CUDA_OK);
    WANT(launch_agent(agent, 2, streams[2]), CUDA_OK);
    usleep(20000);
    WANT(cu.cuStreamQuery(streams[2]), CUDA_NOT_READY);
    WANT(cu.cuMemsetD8Async(memory, 1, 4, NULL), CUDA_OK);
    WANT(cu.cuStreamSynchronize(streams[2]), CUDA_OK);
    WANT(cu.cuStreamSynchronize(streams[0]), CUDA_OK);
    WANT(cu.cuMemsetD8Async(memory, 0, 512 + sizeof(struct signal_kernel_shared), streams[0]),
         CUDA_OK);
    WANT(fill_multiprocessors(signal, memory, 131, streams[0]), CUDA_OK);
    WANT(launch_agent(agent, 1, streams[2]), CUDA_OK);
    WANT(cu.cuStreamSynchronize(streams[2]), CUDA_OK);
    WANT(launch_test(test, SHARED, streams[1]), CUDA_OK);
    WANT(cu.cuStreamSynchronize(streams[1]), CUDA_OK);
    WANT(fill_multiprocessors(signal, memory, 1, streams[1]), CUDA_OK);
    WANT(launch_test(test, 0, streams[2]), CUDA_OK);
    WANT(cu.cuStreamSynchronize(streams[2]), CUDA_OK);
    WANT(launch_test(test, SHARED, streams[2]), CUDA_OK);
    usleep(20000);
    WANT(cu.cuStreamQuery(streams[2]), CUDA_NOT_READY);
    WANT(cu.cuMemsetD8Async(memory, 1, 4, NULL), CUDA_OK);
    for (int i = 0; i < 3; i++)
        WANT(cu.cuStreamSynchronize(streams[i]), CUDA_OK);
}

static void no_kernels(void)
{
    struct CUmod_st *module;

    start_driver(0);
    WANT(cu.cuModuleLoadData(&module, "an image"), 801);
}

static void uses_freed(void)
{
    cuda_address a, b;

    start_driver(0);
    a = allocate(100);
    b = allocate(200);
    WANT(cu.cuMemFree_v2(a), CUDA_OK);
    cu.cuMemcpyDtoDAsync_v2(b, a, 100, NULL);
}

static void unregisters_early(void)
{
    static char bytes[4096];
    struct CUstream_st *stream;
    cuda_address a;

    start_driver(0);
    a = allocate(4096);
    stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    WANT(cu.cuMemHostRegister_v2(bytes, sizeof bytes, 0), CUDA_OK);
    WANT(cu.cuMemcpyHtoDAsync_v2(a, bytes, sizeof bytes, stream), CUDA_OK);
    WANT(cu.cuMemHostUnregister(bytes), CUDA_OK);
    cu.cuStreamSynchronize(stream);
}

int main(void)
{
    static const struct check_case cases[] = {
        {.what = "host memory is read early or late", .body = host_memory},
        {.what = "batched copies", .body = batch},
        {.what = "copies of two dimensions", .body = planes},
        {.what = "memory of another GPU", .body = other_gpu},
        {.what = "the copy kernel", .body = kernels, .environment = {"GPUBIND_SIM_KERNELS=1"}},
        {.what = "the kernel of exchanges",
         .body = exchanges,
         .environment = {"GPUBIND_SIM_KERNELS=1"}},
        {.what = "multiprocessors",
         .body = multiprocessors,
         .environment = {"GPUBIND_SIM_KERNELS=1"}},
        {.what = "no kernels", .body = no_kernels},
        {.what = "a copy from freed memory",
         .body = uses_freed,
         .dies = "use after free: cuMemcpyDtoDAsync_v2 of 100 bytes"},
        {.what = "memory unregistered too early",
         .body = unregisters_early,
         .environment = {"GPUBIND_SIM_LATENCY=20000"},
         .dies = "was unregistered before"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case(&cases[i]);
    return tap_done();
}
