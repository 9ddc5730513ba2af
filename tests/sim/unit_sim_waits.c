/* The simulated driver: calls that wait for streams, or for other threads' calls. */
#include <pthread.h>

#include "gpu/exchange/signal_kernel.h"
#include "tests/sim/check_streams.h"

/* ---- calls that wait for all streams of the context, and calls that do not */

static struct held {
    struct CUstream_st *stream;
    atomic_int gate;
    atomic_bool opened;
    pthread_t opener;
} held;

static void *open_late(void *unused)
{
    (void)unused;
    usleep(5000); /* the call has begun, or waits all the same */
    atomic_store(&held.opened, true);
    atomic_store(&held.gate, 1);
    return NULL;
}

static void hold(void)
{
    atomic_store(&held.opened, false);
    held.stream = new_stream(CUDA_STREAM_NON_BLOCKING);
    shut(held.stream, &held.gate);
}

static void begin_waiting(void)
{
    hold();
    pthread_create(&held.opener, NULL, open_late, NULL);
}

static void waited(const char *what)
{
    check_want(atomic_load(&held.opened), true, what, __LINE__);
    pthread_join(held.opener, NULL);
    WANT(cu.cuStreamSynchronize(held.stream), CUDA_OK);
}

static void waits(void)
{
    static char bytes[100];
    char job[4096] = {0};
    void *parameters[] = {job};
    struct CUstream_st *apart;
    struct CUfunc_st *function = NULL;
    struct CUmod_st *module = NULL;
    cuda_address a;

    start_driver(0);
    apart = new_stream(CUDA_STREAM_NON_BLOCKING);
    a = allocate(100);
    WANT(cu.cuMemHostRegister_v2(bytes, sizeof bytes, 0), CUDA_OK);
    begin_waiting();
    WANT(cu.cuMemHostUnregister(bytes), CUDA_OK);
    waited("unregistered");
    begin_waiting();
    WANT(cu.cuMemFree_v2(a), CUDA_OK);
    waited("freed");
    begin_waiting();
    WANT(cu.cuModuleLoadData(&module, "an image"), CUDA_OK);
    waited("loaded");
    WANT(cu.cuModuleGetFunction(&function, module, "gpubind_copy"), CUDA_OK);
    begin_waiting();
    WANT(cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, apart, parameters, NULL), CUDA_OK);
    waited("launched first");
    hold();
    WANT(cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, apart, parameters, NULL), CUDA_OK);
    atomic_store(&held.gate, 1);
    begin_waiting();
    WANT(cu.cuModuleUnload(module), CUDA_OK);
    waited("unloaded");
}

static void waits_not(void)
{
    static char bytes[100];
    struct cuda_ipc_handle handle;
    struct CUstream_st *apart;
    struct CUevent_st *event;
    cuda_address a, pool;

    start_driver(0);
    apart = new_stream(CUDA_STREAM_NON_BLOCKING);
    WANT(cu.cuMemAllocAsync(&pool, 100, apart), CUDA_OK);
    hold();
    a = allocate(100);
    event = new_event();
    WANT(cu.cuIpcGetMemHandle(&handle, a), CUDA_OK);
    WANT(cu.cuMemHostRegister_v2(bytes, sizeof bytes, 0), CUDA_OK);
    WANT(cu.cuEventRecord(event, CUDA_LEGACY_STREAM), CUDA_OK);
    WANT(cu.cuMemFree_v2(pool), CUDA_OK);
    WANT(cu.cuMemFreeAsync(a, apart), CUDA_OK);
    WANT(cu.cuEventDestroy_v2(event), CUDA_OK);
    WANT(cu.cuStreamDestroy_v2(apart), CUDA_OK);
    WANT(cu.cuStreamQuery(held.stream), CUDA_NOT_READY);
    atomic_store(&held.gate, 1);
}

/* ---- calls that wait for a thread that waits in the driver */

static cuda_address locked_from;

static void *read_synchronously(void *context)
{
    char byte;

    WANT(cu.cuCtxPushCurrent_v2(context), CUDA_OK);
    WANT(cu.cuMemcpyDtoH_v2(&byte, locked_from, 1), CUDA_OK); /* behind the legacy stream */
    return NULL;
}

static void locks(void)
{
    struct CUctx_st *context = start_driver(0);
    struct CUstream_st *apart = new_stream(CUDA_STREAM_NON_BLOCKING);
    struct CUevent_st *event = new_event();
    pthread_t reader;
    cuda_address a = allocate(100);

    locked_from = allocate(100);
    held.stream = CUDA_LEGACY_STREAM;
    shut(CUDA_LEGACY_STREAM, &held.gate);
    pthread_create(&reader, NULL, read_synchronously, context);
    while (cu.calls("cuMemcpyDtoH_v2") < 1)
        usleep(100);
    WANT(cu.cuStreamQuery(CUDA_LEGACY_STREAM), CUDA_NOT_READY);
    WANT(cu.cuEventQuery(event), CUDA_OK);
    atomic_store(&held.opened, false);
    pthread_create(&held.opener, NULL, open_late, NULL);
    WANT(cu.cuMemsetD8Async(a, 1, 1, apart), CUDA_OK);
    waited("a copy");
    pthread_join(reader, NULL);
}

/* ---- work that is kept back by that of another stream */

static int launch_waiting(cuda_address word, struct CUfunc_st *kernel, struct CUstream_st *stream)
{
    struct signal_kernel_job job = {.parts = 1, .n = 1, .items = {{.wait = word, .wait_value = 1}}};
    void *parameters[] = {&job};

    return cu.cuLaunchKernel(kernel, 1, 1, 1, SIGNAL_KERNEL_WAITERS, 1, 1, 0, stream, parameters,
                             NULL);
}

/* What is behind the stream's work is kept back, or not, until the word is written. */
static void keeps_back(int kept, cuda_address word, struct CUstream_st *stream)
{
    struct CUstream_st *other = new_stream(CUDA_STREAM_NON_BLOCKING);
    cuda_address a = allocate(100);

    WANT(cu.cuMemsetD8Async(a, 1, 100, other), CUDA_OK);
    WANT(cu.cuStreamSynchronize(other), CUDA_OK);
    WANT(cu.cuMemsetD8Async(a, 2, 100, CUDA_LEGACY_STREAM), CUDA_OK);
    WANT(cu.cuStreamQuery(CUDA_LEGACY_STREAM), kept ? CUDA_NOT_READY : CUDA_OK);
    WANT(cu.cuStreamQuery(stream), CUDA_NOT_READY);
    WANT(cu.cuMemsetD8Async(word, 1, 1, other), CUDA_OK);
    WANT(cu.cuStreamSynchronize(CUDA_LEGACY_STREAM), CUDA_OK);
    WANT(cu.cuStreamSynchronize(stream), CUDA_OK);
    WANT(cu.cuMemsetD8Async(word, 0, 1, other), CUDA_OK);
    WANT(cu.cuStreamSynchronize(other), CUDA_OK);
}

static void channel(void)
{
    struct CUevent_st *event;
    struct CUstream_st *first = NULL;
    struct CUfunc_st *signal = NULL;
    struct CUmod_st *module = NULL;
    cuda_address word;
    int least, greatest;

    start_driver(0);
    word = allocate(4);
    event = new_event();
    WANT(cu.cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_OK);
    WANT(cu.cuStreamCreateWithPriority(&first, CUDA_STREAM_NON_BLOCKING, greatest), CUDA_OK);
    WANT(cu.cuModuleLoadData(&module, "an image"), CUDA_OK);
    WANT(cu.cuModuleGetFunction(&signal, module, SIGNAL_KERNEL_NAME), CUDA_OK);
    WANT(cu.cuMemsetD8Async(word, 1, 1, first), CUDA_OK);
    WANT(launch_waiting(word, signal, first), CUDA_OK); /* it is loaded now */
    WANT(cu.cuMemsetD8Async(word, 0, 4, first), CUDA_OK);
    WANT(cu.cuStreamSynchronize(first), CUDA_OK);
    WANT(cu.cuStreamWaitValue32_v2(first, word, 1, CUDA_WAIT_GEQ), CUDA_OK);
    keeps_back(true, word, first);
    WANT(launch_waiting(word, signal, first), CUDA_OK);
    WANT(cu.cuEventRecord(event, first), CUDA_OK);
    keeps_back(false, word, first);
    WANT(launch_waiting(word, signal, first), CUDA_OK);
    WANT(launch_waiting(word, signal, first), CUDA_OK);
    keeps_back(true, word, first);
}

static struct CUstream_st *new_nonblocking(void)
{
    struct CUstream_st *stream = NULL;

    WANT(cu.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING), CUDA_OK);
    return stream;
}

static void wait_in(struct CUstream_st **streams, int nstreams, cuda_address word, unsigned n)
{
    for (int i = 0; i < nstreams; i++)
        WANT(cu.cuStreamWaitValue32_v2(streams[i], word, n, CUDA_WAIT_GEQ), CUDA_OK);
}

static void channels(void)
{
    enum { CHANNELS = 2 };
    struct CUstream_st *streams[CHANNELS], *other;
    cuda_address a;
    unsigned *word = NULL;

    start_driver(0);
    a = allocate(100);
    WANT(cu.cuMemHostAlloc((void **)&word, sizeof *word, 0), CUDA_OK);
    for (int i = 0; i < CHANNELS; i++)
        streams[i] = new_nonblocking();
    other = new_nonblocking();
    *word = 0;
    wait_in(streams, CHANNELS - 1, (cuda_address)(uintptr_t)word, 1);
    WANT(cu.cuMemsetD8Async(a, 1, 100, other), CUDA_OK);
    WANT(cu.cuStreamQuery(other), CUDA_OK);
    wait_in(streams + CHANNELS - 1, 1, (cuda_address)(uintptr_t)word, 1);
    WANT(cu.cuMemsetD8Async(a, 2, 100, other), CUDA_OK);
    WANT(cu.cuStreamQuery(other), CUDA_NOT_READY);
    WANT(cu.cuStreamQuery(CUDA_LEGACY_STREAM), CUDA_OK);
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    WANT(cu.cuStreamSynchronize(other), CUDA_OK);
    for (int i = 0; i < CHANNELS; i++)
        WANT(cu.cuStreamSynchronize(streams[i]), CUDA_OK);
}

int main(void)
{
    static const struct check_case cases[] = {
        {.what = "calls that wait for all streams",
         .body = waits,
         .environment = {"GPUBIND_SIM_KERNELS=1"}},
        {.what = "calls that wait for none", .body = waits_not},
        {.what = "calls that wait for a thread that waits",
         .body = locks,
         .environment = {"GPUBIND_SIM_LOCKS=1"}},
        {.what = "work behind another stream's in one channel",
         .body = channel,
         .environment = {"GPUBIND_SIM_KERNELS=1", "GPUBIND_SIM_CHANNEL=1"}},
        {.what = "work where streams wait in all channels of MPS",
         .body = channels,
         .environment = {"GPUBIND_SIM_MPS=1"}},
        {.what = "the same without MPS, as many",
         .body = channels,
         .environment = {"CUDA_DEVICE_MAX_CONNECTIONS=2"}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case(&cases[i]);
    return tap_done();
}
