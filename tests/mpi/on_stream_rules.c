/* Messages on streams: which match, what goes wrong, how the library ends. */
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

#define BYTES 3000

/* Calls match in their order, whatever the streams have still to do. */
static void matched_in_order(void)
{
    struct buffer parts[3];
    gpubind_request request;

    job_test("on a busy stream, and not on a stream: matched in the order of the calls");
    for (int i = 0; i < 3; i++)
        need_filled(&parts[i], MEMORY_DEVICE, BYTES, 60 + (uint64_t)i);
    if (job.rank == 1) {
        gpu_keep_busy(alone);
        succeeds(gpubind_send_on_stream(parts[0].at, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, alone),
                 "send on a stream");
        succeeds(gpubind_isend(parts[1].at, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request),
                 "isend");
        succeeds(MPI_GPUSend(parts[2].at, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD), "send");
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    }
    if (job.rank == 0) {
        for (int i = 0; i < 3; i++)
            buffer_reset(&parts[i]);
        gpu_keep_busy(alone);
        succeeds(gpubind_irecv(parts[0].at, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request),
                 "irecv");
        succeeds(gpubind_recv_on_stream(parts[1].at, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, alone),
                 "receive on a stream");
        succeeds(MPI_GPURecv(parts[2].at, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE),
                 "receive");
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    }
    stream_ends(alone);
    for (int i = 0; i < 3; i++) {
        if (job.rank == 0)
            received(&parts[i], BYTES, 60 + (uint64_t)i, "receive");
        buffer_clear(&parts[i]);
    }
    job_result();
}

static void wildcards(void)
{
    struct buffer in;

    job_test("any source, any tag: one message of each rank");
    need_buffer(&in, MEMORY_DEVICE, (size_t)job.size * 8);
    buffer_fill(&sent, 0, 8, (uint64_t)job.rank);
    if (job.rank == 0)
        for (int i = 1; i < job.size; i++)
            succeeds(gpubind_recv_on_stream(in.at + 8 * (size_t)i, 8, MPI_BYTE, MPI_ANY_SOURCE,
                                            MPI_ANY_TAG, MPI_COMM_WORLD, alone),
                     "receive");
    else
        succeeds(gpubind_send_on_stream(sent.at, 8, MPI_BYTE, 0, job.rank, MPI_COMM_WORLD, alone),
                 "send");
    stream_ends(alone);
    for (int rank = 1; rank < job.size && job.rank == 0; rank++) {
        int n = 0;

        for (int i = 1; i < job.size; i++)
            n += buffer_holds(&in, 8 * (size_t)i, 8, (uint64_t)rank, NULL);
        is_int(n, 1, "messages of a rank");
    }
    buffer_clear(&in);
    job_result();
}

static void to_oneself(enum memory from, enum memory to)
{
    struct buffer out, in;

    job_test("to oneself, from %s to %s", memory_name(from), memory_name(to));
    for (int nbytes = 1000; nbytes < ON_STREAM_LARGEST; nbytes *= 50) {
        need_filled(&out, from, (size_t)nbytes, 71);
        need_buffer(&in, to, (size_t)nbytes);
        succeeds(gpubind_isend_on_stream(out.at, nbytes, MPI_BYTE, job.rank, 1, MPI_COMM_WORLD,
                                         alone),
                 "isend");
        succeeds(gpubind_recv_on_stream(in.at, nbytes, MPI_BYTE, job.rank, 1, MPI_COMM_WORLD,
                                        alone),
                 "receive");
        stream_ends(alone);
        received(&in, (size_t)nbytes, 71, "receive");
        buffer_clear(&out);
        buffer_clear(&in);
    }
    job_result();
}

/* Host memory of both sorts, on either side; nothing at all. */
static void kinds(enum memory from, enum memory to)
{
    struct buffer out, in;

    job_test("from %s to %s, and an empty message", memory_name(from), memory_name(to));
    for (int nbytes = 0; nbytes < ON_STREAM_LARGEST; nbytes = nbytes * 30 + 100) {
        need_filled(&out, from, (size_t)nbytes, 72);
        need_buffer(&in, to, (size_t)nbytes);
        gpu_keep_busy(alone);
        if (job.rank == 1)
            succeeds(gpubind_send_on_stream(out.at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, alone),
                     "send");
        if (job.rank == 0)
            succeeds(gpubind_recv_on_stream(in.at, nbytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, alone),
                     "receive");
        stream_ends(alone);
        if (job.rank == 0)
            received(&in, (size_t)nbytes, 72, "receive");
        buffer_clear(&out);
        buffer_clear(&in);
    }
    succeeds(gpubind_send_on_stream(NULL, 5, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, alone),
             "to nobody");
    succeeds(gpubind_recv_on_stream(NULL, 5, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, alone),
             "from nobody");
    stream_ends(alone);
    job_result();
}

/* A blocking call comes after blocking streams, and so after their messages. */
static void held_meanwhile(void)
{
    gpubind_request requests[2];
    void *memory;

    job_test("while a blocking stream waits for a message: a blocking receive, gpubind_free");
    buffer_fill(&sent, 0, 2 * BYTES, 81);
    buffer_reset(&got);
    succeeds(gpubind_alloc(&memory, 100), "alloc");
    if (job.rank == 0) {
        succeeds(gpubind_recv_on_stream(got.at, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, blocking),
                 "receive on a stream");
        succeeds(gpubind_free(memory), "free");
        job_barrier();
        succeeds(MPI_GPURecv(got.at + BYTES, BYTES, MPI_BYTE, 1, 2, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE),
                 "receive");
        expect(buffer_holds(&got, 0, 2 * BYTES, 81, NULL), "not both are there");
    } else {
        succeeds(gpubind_free(memory), "free");
        job_barrier();
    }
    if (job.rank == 1) {
        succeeds(gpubind_isend(sent.at + BYTES, BYTES, MPI_BYTE, 0, 2, MPI_COMM_WORLD,
                               &requests[0]), "isend");
        succeeds(gpubind_isend(sent.at, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[1]),
                 "isend");
        succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    }
    stream_ends(blocking);
    job_result();
}

static void truncation(void)
{
    job_test("a message that does not fit: the stream goes on, the next call says so, once");
    buffer_fill(&sent, 0, 100000, 91);
    buffer_reset(&got);
    for (int nbytes = 200; nbytes <= 100000; nbytes *= 500) {
        if (job.rank == 1)
            succeeds(gpubind_send_on_stream(sent.at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD,
                                            alone),
                     "send");
        if (job.rank == 0)
            succeeds(gpubind_recv_on_stream(got.at, 100, MPI_BYTE, 1, 1, MPI_COMM_WORLD, alone),
                     "receive");
        stream_ends(alone);
        if (job.rank == 0) {
            fails(gpubind_quiet_on_stream(alone), MPI_ERR_TRUNCATE, "earlier message", "quiet");
            succeeds(gpubind_quiet_on_stream(alone), "quiet again");
            expect(buffer_untouched(&got, 0), "the buffer was written");
        }
    }
    job_result();
}

static void bad_arguments(void)
{
    struct CUgraph_st *graph = NULL;

    job_test("bad arguments, and a stream that is being captured");
    fails(gpubind_send_on_stream(sent.at, -1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, alone),
          MPI_ERR_COUNT, "count is -1", "count");
    fails(gpubind_send_on_stream(sent.at, 1, MPI_BYTE, job.size, 1, MPI_COMM_WORLD, alone),
          MPI_ERR_RANK, "destination", "rank");
    fails(gpubind_irecv_on_stream(got.at, 1, MPI_BYTE, 0, -7, MPI_COMM_WORLD, alone),
          MPI_ERR_TAG, "tag is -7", "tag");
    fails(gpubind_isend_on_stream(NULL, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, alone),
          MPI_ERR_BUFFER, "NULL", "buffer");
    fails(gpubind_recv_on_stream(got.at, 1, MPI_BYTE, 0, 1, MPI_COMM_NULL, alone), MPI_ERR_COMM,
          "MPI_COMM_NULL", "communicator");
    cuda.cuStreamBeginCapture_v2(blocking, 0);
    fails(gpubind_send_on_stream(sent.at, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, blocking),
          MPI_ERR_OTHER, "captured", "a stream under capture");
    fails(gpubind_send_on_stream(sent.at, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, NULL),
          MPI_ERR_OTHER, "captured", "the legacy stream while another is captured");
    fails(gpubind_quiet_on_stream(blocking), MPI_ERR_OTHER, "captured", "quiet");
    is_int(cuda.cuStreamEndCapture(blocking, &graph), CUDA_OK, "the capture's end");
    expect(graph, "the capture was spoilt");
    if (graph && cuda.cuGraphDestroy)
        cuda.cuGraphDestroy(graph);
    job_result();
}

static void *play(void *stream)
{
    struct buffer out, in;
    const int tag = stream == (void *)alone, other = !job.rank;

    gpu_use(job.local % gpu_count);
    need_buffer(&out, MEMORY_DEVICE, BYTES);
    need_buffer(&in, MEMORY_DEVICE, BYTES);
    for (int i = 0; i < 100; i++) {
        buffer_fill(&out, 0, BYTES, (uint64_t)(1000 * job.rank + 500 * tag + i));
        succeeds(gpubind_isend_on_stream(out.at, BYTES, MPI_BYTE, other, tag, MPI_COMM_WORLD,
                                         stream),
                 "isend");
        succeeds(gpubind_recv_on_stream(in.at, BYTES, MPI_BYTE, other, tag, MPI_COMM_WORLD,
                                        stream),
                 "receive");
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
        stream_ends(stream);
        received(&in, BYTES, (uint64_t)(1000 * other + 500 * tag + i), "receive");
    }
    buffer_clear(&out);
    buffer_clear(&in);
    return NULL;
}

static void two_threads(void)
{
    struct CUstream_st *second;
    pthread_t thread;

    job_test("two threads, a stream each");
    if (job.threads < MPI_THREAD_MULTIPLE || job.size != 2) {
        job_skip("not two ranks with MPI_THREAD_MULTIPLE");
        return;
    }
    cuda.cuStreamCreate(&second, CUDA_STREAM_NON_BLOCKING);
    pthread_create(&thread, NULL, play, second);
    play(alone);
    pthread_join(thread, NULL);
    cuda.cuStreamDestroy_v2(second);
    job_result();
}

void on_stream_matching(void)
{
    matched_in_order();
    wildcards();
    to_oneself(MEMORY_DEVICE, MEMORY_DEVICE);
    to_oneself(MEMORY_DEVICE, MEMORY_HOST);
    kinds(MEMORY_HOST, MEMORY_DEVICE);
    kinds(MEMORY_DEVICE, MEMORY_HOST);
    kinds(MEMORY_HOST, MEMORY_HOST);
    kinds(MEMORY_DEVICE, MEMORY_POOL);
    held_meanwhile();
    two_threads();
}

void on_stream_errors(void)
{
    truncation();
    bad_arguments();
}

/* `ranks on_stream left`: at the end there are a receive to which nobody sends, and a send
 * that nobody receives. */
static void left(void)
{
    job_test("what is left at the end: streams go on, nothing hangs");
    if (job.rank == 0)
        succeeds(gpubind_recv_on_stream(got.at, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, alone),
                 "receive");
    if (job.rank == 1)
        succeeds(gpubind_send_on_stream(sent.at, ON_STREAM_LARGEST, MPI_BYTE, 0, 2, MPI_COMM_WORLD,
                                        alone),
                 "send");
    gpu_keep_busy(blocking);
    if (job.rank < 2)
        succeeds(gpubind_isend_on_stream(sent.at, 8, MPI_BYTE, !job.rank, 3, MPI_COMM_WORLD,
                                         blocking), "isend");
    succeeds(gpubind_finalize(), "finalize");
    stream_ends(alone);
    fails(gpubind_quiet_on_stream(alone), MPI_ERR_OTHER, "ended", "quiet after the end");
    job_result();
}

/* `ranks on_stream refused`: what needs MPI in another thread is refused by name. */
static void refused(void)
{
    job_test("below MPI_THREAD_MULTIPLE: a rank that is reached by MPI");
    fails(gpubind_send_on_stream(sent.at, 8, MPI_BYTE, job.rank ^ 1, 1, MPI_COMM_WORLD, alone),
          MPI_ERR_OTHER, "MPI_THREAD_MULTIPLE", "send");
    fails(gpubind_recv_on_stream(got.at, 8, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, alone),
          MPI_ERR_OTHER, "MPI_THREAD_MULTIPLE", "any source");
    succeeds(gpubind_isend_on_stream(sent.at, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, alone), "to itself");
    succeeds(gpubind_recv_on_stream(got.at, 8, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, alone),
             "from itself");
    stream_ends(alone);
    job_result();
}

static void without_gpu(void)
{
    char byte = 0;

    job_test("a rank without a GPU has no stream");
    if (!gpu_count)
        fails(gpubind_send_on_stream(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, NULL),
              MPI_ERR_OTHER, "CUDA|context", "send");
    job_result();
}

void test_on_stream(void)
{
    int all_have;

    MPI_Allreduce(&gpu_count, &all_have, 1, MPI_INT, MPI_MIN, job.plain);
    if (!all_have) {
        without_gpu();
        return;
    }
    need_buffer(&sent, MEMORY_DEVICE, ON_STREAM_LARGEST);
    need_buffer(&got, MEMORY_DEVICE, ON_STREAM_LARGEST);
    need_buffer(&copied, MEMORY_DEVICE, ON_STREAM_LARGEST);
    cuda.cuStreamCreate(&blocking, 0);
    cuda.cuStreamCreate(&alone, CUDA_STREAM_NON_BLOCKING);
    if (nargs && strcmp(arguments[0], "left") == 0) {
        left();
    } else if (nargs && strcmp(arguments[0], "refused") == 0) {
        refused();
    } else {
        on_stream_order();
        on_stream_matching();
        on_stream_errors();
    }
    cuda.cuStreamDestroy_v2(blocking);
    cuda.cuStreamDestroy_v2(alone);
    buffer_clear(&sent);
    buffer_clear(&got);
    buffer_clear(&copied);
}
