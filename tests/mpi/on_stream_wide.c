/* Streams that wait leave room on the GPU: while many receives wait, in several streams, the application's kernel
 * runs that needs all of a multiprocessor, and only what it computes lets the messages come. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { STREAMS = 10, LARGE = 1 << 20, SHARED_OPTIN = 97, SHARED_OF_FUNCTION = 8 };

static struct CUstream_st *streams[STREAMS], *work;
static struct CUfunc_st *kernel;
static int shared; /* bytes */
static struct buffer buffer, token;

static const char image[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                            ".visible .entry gpubind_test_nothing() { ret; }\n";

/* With all the shared memory that a block can have. */
static void run_kernel(void)
{
    void *none[] = {NULL};
    const int status = cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, (unsigned)shared, work, none,
                                           NULL);

    expect(status == CUDA_OK, "a kernel with %d bytes of shared memory: CUDA error %d", shared,
           status);
}

/* Loads it, too: the driver's lazy loading waits for streams. */
static bool make_kernel(void)
{
    struct CUmod_st *module;
    int device;

    if (cuda.cuModuleLoadData(&module, image) ||
        cuda.cuModuleGetFunction(&kernel, module, "gpubind_test_nothing") ||
        cuda.cuCtxGetDevice(&device) || cuda.cuDeviceGetAttribute(&shared, SHARED_OPTIN, device) ||
        cuda.cuFuncSetAttribute(kernel, SHARED_OF_FUNCTION, shared))
        return false;
    run_kernel();
    stream_ends(work);
    return true;
}

static void receive(int nstreams, int n, int nbytes, bool waits)
{
    for (int s = 0; s < nstreams; s++) {
        for (int i = s * n; i < (s + 1) * n; i++)
            succeeds((waits ? gpubind_recv_on_stream : gpubind_irecv_on_stream)(
                         buffer.at + (size_t)i * (size_t)nbytes, nbytes, MPI_BYTE, 0, i,
                         MPI_COMM_WORLD, streams[s]),
                     "receive %d on a stream", i);
        if (!waits)
            succeeds(gpubind_quiet_on_stream(streams[s]), "quiet");
    }
    usleep(20000); /* the streams are there */
    run_kernel();
    succeeds(gpubind_send_on_stream(token.at, 8, MPI_BYTE, 0, 9999, MPI_COMM_WORLD, work), "send");
}

static void send(int nstreams, int n, int nbytes, bool waits)
{
    succeeds(MPI_GPURecv(token.at, 8, MPI_BYTE, 1, 9999, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "MPI_GPURecv");
    for (int i = 0; i < nstreams * n; i++)
        succeeds((waits ? gpubind_send_on_stream
                        : gpubind_isend_on_stream)(buffer.at + (size_t)i * (size_t)nbytes, nbytes,
                                                   MPI_BYTE, 1, i, MPI_COMM_WORLD, streams[i / n]),
                 "send %d on a stream", i);
    for (int s = 0; s < nstreams; s++)
        succeeds(gpubind_quiet_on_stream(streams[s]), "quiet");
}

static void leaves_room(int nstreams, int n, int nbytes, bool waits)
{
    job_test("%d streams wait for %d %smessages of %d bytes each, and a kernel runs", nstreams, n,
             waits ? "" : "nonblocking ", nbytes);
    buffer_reset(&buffer);
    if (job.rank == 0)
        buffer_fill(&buffer, 0, buffer.nbytes, 7);
    job_barrier();
    if (job.rank == 1)
        receive(nstreams, n, nbytes, waits);
    else
        send(nstreams, n, nbytes, waits);
    for (int s = 0; s < nstreams; s++)
        stream_ends(streams[s]);
    stream_ends(work);
    expect(job.rank == 0 ||
               buffer_holds(&buffer, 0, (size_t)nstreams * (size_t)n * (size_t)nbytes, 7, NULL),
           "a message has other bytes");
    job_result();
}

/* ---- exchanges of persistent sends, which wait for their receives */

enum { SENDS = 4, SEND_BYTES = 256 << 10 };

static gpubind_request requests[STREAMS * SENDS];

static void make_requests(int nstreams)
{
    for (int i = 0; i < nstreams * SENDS; i++) {
        char *at = buffer.at + (size_t)i * SEND_BYTES;

        succeeds(
            job.rank == 1
                ? gpubind_send_init(at, SEND_BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i])
                : gpubind_recv_init(at, SEND_BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]),
            "request %d", i);
    }
}

/* By the hosts: all at once, which is one exchange, or (stream by stream) several. */
static void start(int nstreams, bool by_hosts)
{
    for (int s = 0; s < nstreams; s++)
        succeeds(by_hosts ? gpubind_startall(SENDS, requests + s * SENDS)
                          : gpubind_startall_on_stream(SENDS, requests + s * SENDS, streams[s]),
                 "start %d", s);
}

static void end_exchanges(int nstreams, bool by_hosts)
{
    if (by_hosts)
        succeeds(gpubind_waitall(nstreams * SENDS, requests, MPI_STATUSES_IGNORE), "waitall");
    for (int s = 0; s < nstreams; s++)
        stream_ends(streams[s]);
}

/* The kernel runs while the sends wait, and a large message comes. */
static void send_before_receives(int nstreams, bool by_hosts)
{
    char *at = buffer.at + (size_t)nstreams * SENDS * SEND_BYTES;

    start(nstreams, by_hosts);
    usleep(20000); /* the streams are there */
    run_kernel();
    succeeds(gpubind_send_on_stream(token.at, 8, MPI_BYTE, 0, 9999, MPI_COMM_WORLD, work), "send");
    succeeds(gpubind_irecv_on_stream(at, LARGE, MPI_BYTE, 0, 9998, MPI_COMM_WORLD, work), "irecv");
    succeeds(gpubind_quiet_on_stream(work), "quiet");
    stream_ends(work);
    succeeds(MPI_GPUSend(token.at, 8, MPI_BYTE, 0, 9997, MPI_COMM_WORLD), "MPI_GPUSend");
}

static void receive_in_the_end(int nstreams, bool by_hosts)
{
    char *at = buffer.at + (size_t)nstreams * SENDS * SEND_BYTES;

    succeeds(MPI_GPURecv(token.at, 8, MPI_BYTE, 1, 9999, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "MPI_GPURecv");
    succeeds(MPI_GPUSend(at, LARGE, MPI_BYTE, 1, 9998, MPI_COMM_WORLD), "MPI_GPUSend");
    succeeds(MPI_GPURecv(token.at, 8, MPI_BYTE, 1, 9997, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "MPI_GPURecv");
    start(nstreams, by_hosts);
}

static void exchanges_leave_room(int nstreams, bool by_hosts)
{
    job_test("exchanges in %d streams%s wait, a kernel runs, and a message comes", nstreams,
             by_hosts ? " of the library" : "");
    buffer_reset(&buffer);
    make_requests(nstreams);
    start(nstreams, by_hosts); /* they are connected from here on */
    end_exchanges(nstreams, by_hosts);
    if (job.rank == 1)
        buffer_fill(&buffer, 0, buffer.nbytes, 7);
    job_barrier();
    if (job.rank == 1)
        send_before_receives(nstreams, by_hosts);
    else
        receive_in_the_end(nstreams, by_hosts);
    end_exchanges(nstreams, by_hosts);
    expect(job.rank == 1 ||
               buffer_holds(&buffer, 0, (size_t)nstreams * SENDS * SEND_BYTES, 7, NULL),
           "a message has other bytes");
    for (int i = 0; i < nstreams * SENDS; i++)
        succeeds(gpubind_request_free(&requests[i]), "free");
    job_result();
}

/* Two sends of one exchange, with more parts than it has blocks: the second receive is started first, and the first
 * when the second is over. */
static void sends_are_independent(bool by_hosts)
{
    enum { BYTES = 4 << 20 };

    job_test("an exchange%s: a send whose receive is late keeps no other waiting",
             by_hosts ? " of the hosts" : "");
    buffer_reset(&buffer);
    for (int i = 0; i < 2; i++)
        succeeds(job.rank == 1 ? gpubind_send_init(buffer.at + (size_t)i * BYTES, BYTES, MPI_BYTE,
                                                   0, i, MPI_COMM_WORLD, &requests[i])
                               : gpubind_recv_init(buffer.at + (size_t)i * BYTES, BYTES, MPI_BYTE,
                                                   1, i, MPI_COMM_WORLD, &requests[i]),
                 "request %d", i);
    for (int round = 0; round < 2; round++) {
        if (job.rank == 1)
            buffer_fill(&buffer, 0, (size_t)2 * BYTES, round);
        job_barrier();
        for (int i = 1; i >= 0 && job.rank == 0; i--) {
            succeeds(by_hosts ? gpubind_start(&requests[i])
                              : gpubind_startall_on_stream(1, &requests[i], streams[0]),
                     "start %d", i);
            if (by_hosts)
                succeeds(gpubind_wait(&requests[i], MPI_STATUS_IGNORE), "wait %d", i);
            stream_ends(streams[0]);
        }
        if (job.rank == 1)
            succeeds(by_hosts ? gpubind_startall(2, requests)
                              : gpubind_startall_on_stream(2, requests, streams[0]),
                     "startall");
        if (job.rank == 1 && by_hosts)
            succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
        stream_ends(streams[0]);
        expect(job.rank == 1 || buffer_holds(&buffer, 0, (size_t)2 * BYTES, round, NULL),
               "a message has other bytes");
    }
    for (int i = 0; i < 2; i++)
        succeeds(gpubind_request_free(&requests[i]), "free");
    job_result();
}

/* `ranks on_stream_wide` */
void test_on_stream_wide(void)
{
    if (cuda.cuStreamCreate(&work, CUDA_STREAM_NON_BLOCKING))
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int s = 0; s < STREAMS; s++)
        if (cuda.cuStreamCreate(&streams[s], CUDA_STREAM_NON_BLOCKING))
            MPI_Abort(MPI_COMM_WORLD, 2);
    need_buffer(&buffer, MEMORY_DEVICE, (size_t)20 * LARGE);
    need_buffer(&token, MEMORY_DEVICE, 8);
    if (!make_kernel())
        MPI_Abort(MPI_COMM_WORLD, 2);
    leaves_room(2, 8, LARGE, false);
    leaves_room(2, 75, 500, false);
    leaves_room(4, 60, 20000, false);
    leaves_room(STREAMS, 1, LARGE, true);
    leaves_room(2, 8, LARGE, false);
    sends_are_independent(false);
    sends_are_independent(true);
    exchanges_leave_room(1, false);
    exchanges_leave_room(STREAMS, false);
    exchanges_leave_room(STREAMS, true);
    buffer_clear(&token);
    buffer_clear(&buffer);
    for (int s = 0; s < STREAMS; s++)
        cuda.cuStreamDestroy_v2(streams[s]);
    cuda.cuStreamDestroy_v2(work);
}
