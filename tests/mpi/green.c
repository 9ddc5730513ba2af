/* Streams of green contexts, and programs that have one current: a part of a GPU's multiprocessors for the program's
 * work. Memory and modules are the primary context's. For two ranks. */
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"
#include "tests/mpi/windows.h"

enum { LARGEST = 3 << 20, SMS = 8, RESOURCE_SM = 1, WITH_DEFAULT_STREAM = 1 };

static const int sizes[] = {8, 5000, 65536, LARGEST};
#define SIZES (sizeof sizes / sizeof *sizes)

/* An opaque struct of the driver's, with room for what later versions add. */
struct resource {
    _Alignas(16) unsigned char bytes[1024];
};

static struct CUgreenCtx_st *green;
static struct CUctx_st *whole, *part; /* the primary context, and the green one */
static struct CUstream_st *own;       /* of the green one */
static struct CUstream_st *used;
static struct buffer out, in;

static bool make_green(void)
{
    struct resource all, parts[2], rest;
    struct CUdevResourceDesc_st *desc;
    unsigned n = 1;
    int device = 0;

    cuda.cuCtxGetCurrent(&whole);
    cuda.cuCtxGetDevice(&device);
    return cuda.cuGreenCtxCreate &&
           !cuda.cuDeviceGetDevResource(device, (void *)&all, RESOURCE_SM) &&
           !cuda.cuDevSmResourceSplitByCount((void *)parts, &n, (void *)&all, (void *)&rest, 0,
                                             SMS) &&
           !cuda.cuDevResourceGenerateDesc(&desc, (void *)parts, 1) &&
           !cuda.cuGreenCtxCreate(&green, desc, device, WITH_DEFAULT_STREAM) &&
           !cuda.cuCtxFromGreenCtx(&part, green) &&
           !cuda.cuGreenCtxStreamCreate(&own, green, CUDA_STREAM_NON_BLOCKING, 0);
}

static void begin(void)
{
    buffer_fill(&out, 0, LARGEST, 40 + (uint64_t)job.rank);
    buffer_reset(&in);
    job_barrier();
}

static void ends(int nbytes, const char *what)
{
    expect(cuda.cuStreamSynchronize(used) == CUDA_OK, "%s: the stream fails", what);
    received(&in, (size_t)nbytes, 40 + (uint64_t)!job.rank, what);
}

static void ping_pong(int nbytes, bool receives)
{
    for (int turn = 0; turn < 2; turn++)
        if (turn == receives)
            succeeds(gpubind_send_on_stream(out.at, nbytes, MPI_BYTE, !job.rank, 1, MPI_COMM_WORLD,
                                            used),
                     "send_on_stream");
        else
            succeeds(
                gpubind_recv_on_stream(in.at, nbytes, MPI_BYTE, !job.rank, 1, MPI_COMM_WORLD, used),
                "recv_on_stream");
}

static void exchange(int nbytes)
{
    succeeds(gpubind_irecv_on_stream(in.at, nbytes, MPI_BYTE, !job.rank, 2, MPI_COMM_WORLD, used),
             "irecv_on_stream");
    succeeds(gpubind_isend_on_stream(out.at, nbytes, MPI_BYTE, !job.rank, 2, MPI_COMM_WORLD, used),
             "isend_on_stream");
    succeeds(gpubind_quiet_on_stream(used), "quiet");
}

static void blocking(int nbytes)
{
    succeeds(gpubind_sendrecv(out.at, nbytes, MPI_BYTE, !job.rank, 3, in.at, nbytes, MPI_BYTE,
                              !job.rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "sendrecv");
}

static void messages(void)
{
    for (size_t i = 0; i < SIZES; i++) {
        begin();
        ping_pong(sizes[i], job.rank == 1);
        ends(sizes[i], "a ping-pong");
        begin();
        exchange(sizes[i]);
        ends(sizes[i], "an exchange");
        begin();
        blocking(sizes[i]);
        ends(sizes[i], "without a stream");
    }
}

static void persistent(void)
{
    gpubind_request requests[2];

    for (size_t i = 0; i < SIZES; i++) {
        succeeds(gpubind_send_init(out.at, sizes[i], MPI_BYTE, !job.rank, 4, MPI_COMM_WORLD,
                                   &requests[0]),
                 "send_init");
        succeeds(gpubind_recv_init(in.at, sizes[i], MPI_BYTE, !job.rank, 4, MPI_COMM_WORLD,
                                   &requests[1]),
                 "recv_init");
        for (int turn = 0; turn < 3; turn++) {
            begin();
            succeeds(gpubind_startall_on_stream(2, requests, used), "startall_on_stream");
            ends(sizes[i], "persistent messages");
        }
        for (int j = 0; j < 2; j++)
            succeeds(gpubind_request_free(&requests[j]), "free");
    }
}

/* The library's kernels cannot be launched there. */
static void persistent_refused(void)
{
    gpubind_request request;

    succeeds(gpubind_send_init(out.at, 8, MPI_BYTE, !job.rank, 4, MPI_COMM_WORLD, &request),
             "send_init");
    expect(gpubind_startall_on_stream(1, &request, used) == MPI_ERR_OTHER &&
               strstr(gpubind_error_text(), "the default stream of a green context"),
           "'%s'", gpubind_error_text());
    succeeds(gpubind_request_free(&request), "free");
}

static void puts_to_window(void)
{
    gpubind_win win = window_make(MPI_COMM_WORLD, LARGEST, 1);

    for (size_t i = 0; i < SIZES; i++) {
        begin();
        succeeds(gpubind_put_signal_on_stream(out.at, (size_t)sizes[i], 0, i + 1, !job.rank, 0, win,
                                              used),
                 "put_signal_on_stream");
        succeeds(gpubind_wait_signal_on_stream(0, i + 1, win, used), "wait_signal_on_stream");
        succeeds(gpubind_get_on_stream(in.at, (size_t)sizes[i], job.rank, 0, win, used), "get");
        ends(sizes[i], "a put");
    }
    job_barrier();
    window_discard(&win);
}

static void with(const char *what, struct CUctx_st *context, struct CUstream_st *its)
{
    job_test("%s", what);
    cuda.cuCtxSetCurrent(context);
    used = its;
    messages();
    if (its == own)
        persistent();
    else
        persistent_refused();
    puts_to_window();
    cuda.cuCtxSetCurrent(whole);
    job_result();
}

void test_green(void)
{
    if (!make_green()) {
        job_test("a stream of a green context");
        job_skip("no green contexts");
        job_result();
        return;
    }
    need_buffer(&out, MEMORY_DEVICE, LARGEST);
    need_buffer(&in, MEMORY_DEVICE, LARGEST);
    with("a stream of a green context", whole, own);
    with("the same, and the green context is current", part, own);
    with("a green context is current, and its default stream", part, NULL);
    with("its legacy stream by name", part, CUDA_LEGACY_STREAM);
    buffer_clear(&out);
    buffer_clear(&in);
    cuda.cuStreamDestroy_v2(own);
    cuda.cuGreenCtxDestroy(green);
}
