/* Order between our calls and the GPU's streams: as with the cudaMemcpy that they
 * replace. For two ranks; rank 1 sends to rank 0. Streams are kept busy, so that what
 * is queued behind is late. */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define LARGEST (3 << 20)

static const int sizes[] = {8, 4096, 70001, LARGEST};
static struct buffer out, in, copy;

static cuda_address address(const struct buffer *buffer)
{
    return (cuda_address)(uintptr_t)buffer->at;
}

static void send(int nbytes)
{
    succeeds(MPI_GPUSend(out.at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD), "send");
}

static void receive(int nbytes)
{
    succeeds(MPI_GPURecv(in.at, nbytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "receive");
}

/* A slow stream writes what is sent. sendrecv: the other verb that blocks. */
static void written_before(struct CUstream_st *stream, const char *name, bool sendrecv)
{
    job_test("a %s comes after what %s has still to write", sendrecv ? "sendrecv" : "send", name);
    for (int i = 0; i < 4; i++) {
        size_t nbytes = (size_t)sizes[i];

        if (job.rank == 1) {
            buffer_reset(&out);
            buffer_fill(&copy, 0, nbytes, 100 + (uint64_t)i);
            gpu_keep_busy(stream);
            cuda.cuMemcpyDtoDAsync_v2(address(&out), address(&copy), nbytes, stream);
            if (sendrecv)
                succeeds(gpubind_sendrecv(out.at, sizes[i], MPI_BYTE, 0, 1, in.at, 0, MPI_BYTE,
                                          MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                         "sendrecv");
            else
                send(sizes[i]);
        }
        if (job.rank == 0) {
            buffer_reset(&in);
            receive(sizes[i]);
            received(&in, nbytes, 100 + (uint64_t)i, "receive");
        }
    }
    job_result();
}

/* A slow stream reads what was in the receive's buffer before. */
static void read_before(struct CUstream_st *stream, const char *name, bool late)
{
    job_test("a receive comes after what %s has still to read%s", name,
             late ? ", the message after it" : "");
    for (int i = 0; i < 4; i++) {
        size_t nbytes = (size_t)sizes[i];

        buffer_fill(&out, 0, nbytes, 200 + (uint64_t)i);
        buffer_fill(&in, 0, nbytes, 300 + (uint64_t)i);
        buffer_reset(&copy);
        if (late)
            job_barrier();
        if (job.rank == 1) {
            if (late)
                nanosleep(&(struct timespec){0, 10000000}, NULL);
            send(sizes[i]);
        }
        if (job.rank == 0) {
            gpu_keep_busy(stream);
            cuda.cuMemcpyDtoDAsync_v2(address(&copy), address(&in), nbytes, stream);
            receive(sizes[i]);
            cuda.cuStreamSynchronize(stream);
            received(&copy, nbytes, 300 + (uint64_t)i, "what the stream read");
            expect(buffer_holds(&in, 0, nbytes, 200 + (uint64_t)i, NULL), "the received bytes");
        }
    }
    job_result();
}

/* As soon as a receive returns, a stream that waits for nobody reads the buffer. */
static void read_after(struct CUstream_st *stream)
{
    job_test("a non-blocking stream reads what was received as soon as the call returns");
    for (int i = 0; i < 12; i++) {
        size_t nbytes = (size_t)sizes[i % 4];
        gpubind_request request;

        buffer_fill(&out, 0, nbytes, 400 + (uint64_t)i);
        buffer_reset(&in);
        buffer_reset(&copy);
        if (job.rank == 1)
            send(sizes[i % 4]);
        if (job.rank == 0) {
            if (i % 2) {
                receive(sizes[i % 4]);
            } else {
                succeeds(
                    gpubind_irecv(in.at, sizes[i % 4], MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request),
                    "irecv");
                succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
            }
            cuda.cuMemcpyDtoDAsync_v2(address(&copy), address(&in), nbytes, stream);
            cuda.cuStreamSynchronize(stream);
            received(&copy, nbytes, 400 + (uint64_t)i, "what the stream read");
        }
    }
    job_result();
}

static atomic_int released, waited_in_vain;

/* Work that ends when the messages are through. */
static void wait_for_release(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5000 && !released; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    waited_in_vain |= !released;
}

/* Work in a non-blocking stream may itself wait for what the messages bring. */
static void does_not_wait(struct CUstream_st *stream)
{
    job_test("no call waits for work in a non-blocking stream");
    for (int i = 0; i < 4; i++) /* what is made once, is made */
        job.rank ? send(sizes[i]) : receive(sizes[i]);
    released = 0;
    cuda.cuLaunchHostFunc(stream, wait_for_release, NULL);
    for (int i = 0; i < 8; i++) {
        if (job.rank == 1) {
            buffer_fill(&out, 0, (size_t)sizes[i % 4], 500 + (uint64_t)i);
            send(sizes[i % 4]);
        }
        if (job.rank == 0) {
            buffer_reset(&in);
            receive(sizes[i % 4]);
            received(&in, (size_t)sizes[i % 4], 500 + (uint64_t)i, "receive");
        }
    }
    released = 1;
    cuda.cuStreamSynchronize(stream);
    expect(!waited_in_vain, "a call waited for it");
    job_result();
}

void test_order(void)
{
    struct CUstream_st *blocking, *alone;
    int all_have;

    MPI_Allreduce(&gpu_count, &all_have, 1, MPI_INT, MPI_MIN, job.plain);
    if (!all_have)
        return;
    need_buffer(&out, MEMORY_DEVICE, LARGEST);
    need_buffer(&in, MEMORY_DEVICE, LARGEST);
    need_buffer(&copy, MEMORY_DEVICE, LARGEST);
    cuda.cuStreamCreate(&blocking, 0);
    cuda.cuStreamCreate(&alone, CUDA_STREAM_NON_BLOCKING);
    written_before(NULL, "the legacy stream", false);
    written_before(NULL, "the legacy stream", true);
    written_before(blocking, "a blocking stream", false);
    for (int late = 0; late < 2; late++) {
        read_before(NULL, "the legacy stream", late);
        read_before(blocking, "a blocking stream", late);
    }
    read_after(alone);
    does_not_wait(alone);
    cuda.cuStreamDestroy_v2(blocking);
    cuda.cuStreamDestroy_v2(alone);
    buffer_clear(&out);
    buffer_clear(&in);
    buffer_clear(&copy);
}
