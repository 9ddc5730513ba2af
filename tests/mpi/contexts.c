/* The state of the calling thread: which device is current, none, a stream that
 * captures. For two ranks; rank 1 sends to rank 0. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

static const int sizes[] = {8, 4096, 70001, 1 << 20};
static struct buffer out, in;

/* One message of each size each way, blocking. Does the thread keep its context? */
static void pass(const char *what)
{
    struct CUctx_st *before = NULL, *after = NULL;
    int status;

    for (int i = 0; i < 8; i++) {
        int nbytes = sizes[i % 4], sender = i / 4;

        cuda.cuCtxGetCurrent(&before);
        if (job.rank == sender)
            status = MPI_GPUSend(out.at, nbytes, MPI_BYTE, !sender, i, MPI_COMM_WORLD);
        else
            status = MPI_GPURecv(in.at, 1 << 20, MPI_BYTE, sender, i, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE);
        cuda.cuCtxGetCurrent(&after);
        succeeds(status, "%s, %d bytes", what, nbytes);
        expect(before == after, "%s: another context is current after the call", what);
    }
}

/* The buffers are looked at with the rank's own context current. */
static void start(const char *what)
{
    job_test("%s", what);
    buffer_fill(&out, 0, 1 << 20, 60 + (uint64_t)job.rank);
    buffer_reset(&in);
}

static void end(struct CUctx_st *own, const char *what)
{
    if (own)
        cuda.cuCtxSetCurrent(own);
    received(&in, 1 << 20, 60 + (uint64_t)!job.rank, what);
    job_result();
}

static void no_context(void)
{
    struct CUctx_st *own;
    void *made = NULL;

    start("no current context");
    cuda.cuCtxGetCurrent(&own);
    cuda.cuCtxSetCurrent(NULL);
    pass("no context");
    succeeds(gpubind_alloc(&made, 1000), "alloc");
    succeeds(gpubind_free(made), "free");
    end(own, "no context");
}

static void another_device(void)
{
    struct CUctx_st *own;

    start("another device is current than the buffers'");
    cuda.cuCtxGetCurrent(&own);
    for (int device = 0; device < gpu_count; device++) {
        expect(gpu_use(device) == CUDA_OK, "device %d cannot be made current", device);
        pass("another device");
    }
    end(own, "another device");
}

static void *in_a_thread(void *what)
{
    pass(what);
    return NULL;
}

/* A new thread has no context. Only one thread calls MPI at a time. */
static void another_thread(void)
{
    pthread_t thread;

    start("calls from a thread that never had a context");
    pthread_create(&thread, NULL, in_a_thread, (void *)(uintptr_t) "thread");
    pthread_join(thread, NULL);
    end(NULL, "thread");
}

/* While a stream of this thread captures, in one of the driver's three modes, a call
 * works, or says that it does not; the capture is not spoilt. Then the call is made
 * again, without. */
static void capturing(int mode, bool send, int nbytes, unsigned flags)
{
    struct CUstream_st *stream;
    struct CUgraph_st *graph = NULL;
    int status = MPI_SUCCESS, again;

    job_test("%s of %d bytes while a %sblocking stream captures, mode %d",
             send ? "send" : "receive", nbytes, flags ? "non-" : "", mode);
    if (!cuda.cuStreamBeginCapture_v2) {
        job_skip("the driver captures nothing");
        return;
    }
    cuda.cuStreamCreate(&stream, flags);
    buffer_fill(&out, 0, (size_t)nbytes, 65);
    buffer_reset(&in);
    if (!send && job.rank == 1)
        succeeds(MPI_GPUSend(out.at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD), "send");
    if (job.rank == !!send) {
        int ended;

        cuda.cuStreamBeginCapture_v2(stream, mode);
        if (send)
            status = MPI_GPUSend(out.at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        else
            status = MPI_GPURecv(in.at, 1 << 20, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(status == MPI_SUCCESS || *gpubind_error_text(), "an error without text");
        ended = cuda.cuStreamEndCapture(stream, &graph);
        if (flags) /* is in nobody's way */
            succeeds(status, "a call beside a non-blocking stream");
        expect(ended == CUDA_OK, "the capture ends with CUDA error %d (the call: %d, '%s')", ended,
               status, gpubind_error_text());
        if (graph && cuda.cuGraphDestroy)
            cuda.cuGraphDestroy(graph);
    }
    again = status != MPI_SUCCESS;
    if (send)
        MPI_Bcast(&again, 1, MPI_INT, 1, job.plain);
    if (send && again && job.rank == 1)
        succeeds(MPI_GPUSend(out.at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD), "send again");
    if (job.rank == 0 && (send || again))
        succeeds(MPI_GPURecv(in.at, 1 << 20, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive outside the capture");
    if (job.rank == 0)
        received(&in, (size_t)nbytes, 65, "receive");
    cuda.cuStreamDestroy_v2(stream);
    job_result();
}

void test_contexts(void)
{
    int all_have;

    MPI_Allreduce(&gpu_count, &all_have, 1, MPI_INT, MPI_MIN, job.plain);
    if (!all_have)
        return;
    need_buffer(&out, MEMORY_DEVICE, 1 << 20);
    need_buffer(&in, MEMORY_DEVICE, 1 << 20);
    start("messages before any of this");
    pass("as usual");
    end(NULL, "as usual");
    no_context();
    another_device();
    another_thread();
    for (int i = 0; i < 6; i++) {
        unsigned flags = i < 3 ? 0 : CUDA_STREAM_NON_BLOCKING;

        capturing(i % 3, true, 1000, flags);
        capturing(i % 3, false, 1000, flags);
        capturing(i % 3, false, 300000, flags);
    }
    start("messages after all of this");
    pass("as usual");
    end(NULL, "as usual");
    buffer_clear(&out);
    buffer_clear(&in);
}
