/* Offers of groups where the driver refuses a call that has nothing to do with them, or while another thread of the
 * process calls the driver, and captured calls that are refused: nothing hangs. For two ranks. */
#include <stdatomic.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

#define LAUNCH_FAILED 719
#define OFFERED 300000
#define ROUNDS 3
#define FULL 4 /* streams that leave no room for waiting blocks */

static struct buffer out, in;
static struct CUstream_st *stream;

static void make(enum memory kind, int nbytes)
{
    need_filled(&out, MEMORY_DEVICE, (size_t)nbytes, (uint64_t)job.rank + 1);
    need_filled(&in, kind, (size_t)nbytes, 7);
    job_barrier();
}

/* Of the quiet, which puts the offer in. */
static int offer(int tag)
{
    succeeds(gpubind_group_on_stream(stream), "group");
    succeeds(gpubind_isend_on_stream(out.at, OFFERED, MPI_BYTE, 1, tag, MPI_COMM_WORLD, stream),
             "isend");
    return gpubind_quiet_on_stream(stream);
}

/* ---- `behind`: launches of rank 0, of offers and of what is behind them, are refused */

/* A call that says what became of an earlier message does nothing else. */
static bool says_of_earlier(int status)
{
    return status != MPI_SUCCESS && strstr(gpubind_error_text(), "an earlier message");
}

static void receive_late(int tag)
{
    usleep(200000);
    while (says_of_earlier(
        gpubind_recv_on_stream(in.at, OFFERED, MPI_BYTE, 0, tag, MPI_COMM_WORLD, stream)))
        continue;
    stream_ends(stream);
}

static void behind(void)
{
    int refused = 0;

    job_test("a launch behind an offer is refused: the receiver's stream goes on");
    make(MEMORY_DEVICE, OFFERED);
    for (int tag = 0; tag < 8; tag += 2) {
        if (job.rank == 0) {
            refused += offer(tag) != MPI_SUCCESS;
            refused += gpubind_send_on_stream(out.at, OFFERED, MPI_BYTE, 1, tag + 1, MPI_COMM_WORLD,
                                              stream) != MPI_SUCCESS;
            stream_ends(stream);
        } else {
            receive_late(tag);
            receive_late(tag + 1);
        }
        job_barrier();
    }
    expect(job.rank != 0 || refused > 0, "nothing was refused");
    job_result();
}

/* ---- `apart`: no room for the blocks of a sendrecv, and a write to rank 0's stream is refused */

static void fill(struct CUstream_st *full[FULL])
{
    for (int i = 0; i < FULL; i++) {
        expect(!cuda.cuStreamCreate(&full[i], CUDA_STREAM_NON_BLOCKING), "no stream");
        succeeds(gpubind_irecv_on_stream((char *)in.at + ((size_t)i << 20), 1 << 20, MPI_BYTE, 1, i,
                                         MPI_COMM_WORLD, full[i]),
                 "irecv");
        succeeds(gpubind_quiet_on_stream(full[i]), "quiet");
    }
}

static void apart(void)
{
    struct CUstream_st *full[FULL];
    char *end;

    job_test("a sendrecv whose write to the stream is refused: an error, and the end");
    make(MEMORY_DEVICE, (FULL + 1) << 20);
    end = (char *)in.at + ((size_t)FULL << 20);
    if (job.rank == 0) {
        fill(full);
        expect(gpubind_sendrecv_on_stream(out.at, 1 << 20, MPI_BYTE, 1, FULL, end, 1 << 20,
                                          MPI_BYTE, 1, FULL, MPI_COMM_WORLD, stream) != MPI_SUCCESS,
               "nothing was refused");
        job_barrier();
        for (int i = 0; i < FULL; i++)
            expect(!cuda.cuStreamSynchronize(full[i]), "a stream fails");
    } else {
        job_barrier();
        for (int i = 0; i < FULL; i++)
            succeeds(MPI_GPUSend(out.at, 1 << 20, MPI_BYTE, 0, i, MPI_COMM_WORLD), "send");
        gpubind_sendrecv(out.at, 1 << 20, MPI_BYTE, 0, FULL, end, 1 << 20, MPI_BYTE, 0, FULL,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    stream_ends(stream);
    job_result();
}

/* ---- `beside`: another thread copies, on a driver whose calls wait for each other */

static atomic_bool stopping;
static struct CUctx_st *context;
static struct buffer small;

static int copy(void *unused)
{
    char bytes[64];

    (void)unused;
    cuda.cuCtxSetCurrent(context);
    while (!stopping)
        cuda.cuMemcpyDtoH_v2(bytes, (cuda_address)small.at, sizeof bytes);
    return 0;
}

static void beside(void)
{
    thrd_t thread;

    job_test(
        "offers of a blocking stream, staged by their sender, beside copies of another thread");
    cuda.cuStreamCreate(&stream, 0);
    cuda.cuCtxGetCurrent(&context);
    need_buffer(&small, MEMORY_DEVICE, 64);
    make(MEMORY_HOST, OFFERED);
    if (job.rank == 0)
        thrd_create(&thread, copy, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        job_barrier();
        if (job.rank == 0) {
            succeeds(offer(round), "quiet");
            stream_ends(stream);
            continue;
        }
        usleep(20000);
        succeeds(MPI_GPURecv(in.at, OFFERED, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "recv");
        received(&in, OFFERED, 1, "of the offer");
    }
    stopping = true;
    if (job.rank == 0)
        thrd_join(thread, NULL);
    job_result();
}

/* ---- `captured`: rank 0's sendrecv is refused, and rank 1 has captured the other side of its send or of its receive */

static void captured(const char *which)
{
    static char on_host[OFFERED];
    struct CUgraphExec_st *exec;

    job_test("a captured sendrecv is refused: launches of the other side of its %s fail", which);
    make(MEMORY_DEVICE, OFFERED);
    is_int(cuda.cuStreamBeginCapture_v2(stream, 1), CUDA_OK, "the capture's begin");
    if (job.rank == 0)
        expect(gpubind_sendrecv_on_stream(on_host, OFFERED, MPI_BYTE, 1, 0, in.at, OFFERED,
                                          MPI_BYTE, 1, 1, MPI_COMM_WORLD, stream) == MPI_ERR_OTHER,
               "nothing was refused");
    else if (strcmp(which, "send") == 0)
        succeeds(gpubind_recv_on_stream(in.at, OFFERED, MPI_BYTE, 0, 0, MPI_COMM_WORLD, stream),
                 "recv");
    else
        succeeds(gpubind_send_on_stream(out.at, OFFERED, MPI_BYTE, 0, 1, MPI_COMM_WORLD, stream),
                 "send");
    exec = graph_captured(stream);
    cuda.cuGraphLaunch(exec, stream);
    is_int(cuda.cuStreamSynchronize(stream), job.rank == 0 ? CUDA_OK : LAUNCH_FAILED, "the launch");
    if (job.rank == 1)
        gpu_is_lost_to_test();
    job_result();
}

/* ---- `nothing`: all messages of a capture are refused, and no quiet follows */

static void nothing(void)
{
    static char on_host[100];

    job_test("a capture of refused messages alone");
    for (int i = 0; i < 2; i++) {
        is_int(cuda.cuStreamBeginCapture_v2(stream, 1), CUDA_OK, "the capture's begin");
        if (job.rank == 0)
            expect(gpubind_irecv_on_stream(on_host, 100, MPI_BYTE, 1, i, MPI_COMM_WORLD, stream) ==
                       MPI_ERR_OTHER,
                   "it was not refused");
        graph_captured(stream);
    }
    job_result();
}

/* `ranks on_stream_refused nothing|behind|apart|beside|captured send|captured receive` */
void test_on_stream_refused(void)
{
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    if (strcmp(arguments[0], "behind") == 0)
        behind();
    else if (strcmp(arguments[0], "nothing") == 0)
        nothing();
    else if (strcmp(arguments[0], "apart") == 0)
        apart();
    else if (strcmp(arguments[0], "captured") == 0)
        captured(arguments[1]);
    else
        beside();
}
