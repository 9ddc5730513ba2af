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
    buffer_clear(&token);
    buffer_clear(&buffer);
    for (int s = 0; s < STREAMS; s++)
        cuda.cuStreamDestroy_v2(streams[s]);
    cuda.cuStreamDestroy_v2(work);
}
