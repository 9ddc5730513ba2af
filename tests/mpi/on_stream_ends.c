/* Messages on streams: what goes wrong, how the library ends. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

#define BYTES 3000

static void truncation(void)
{
    job_test("a message that does not fit: the stream goes on, the next call says so, once");
    buffer_fill(&sent, 0, 100000, 91);
    buffer_reset(&got);
    for (int nbytes = 200; nbytes <= 100000; nbytes *= 500) {
        if (job.rank == 1)
            succeeds(gpubind_send_on_stream(sent.at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, alone),
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
    fails(gpubind_send_on_stream(sent.at, -1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, alone), MPI_ERR_COUNT,
          "count is -1", "count");
    fails(gpubind_send_on_stream(sent.at, 1, MPI_BYTE, job.size, 1, MPI_COMM_WORLD, alone),
          MPI_ERR_RANK, "destination", "rank");
    fails(gpubind_irecv_on_stream(got.at, 1, MPI_BYTE, 0, -7, MPI_COMM_WORLD, alone), MPI_ERR_TAG,
          "tag is -7", "tag");
    fails(gpubind_isend_on_stream(NULL, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, alone), MPI_ERR_BUFFER,
          "NULL", "buffer");
    fails(gpubind_recv_on_stream(got.at, 1, MPI_BYTE, 0, 1, MPI_COMM_NULL, alone), MPI_ERR_COMM,
          "MPI_COMM_NULL", "communicator");
    cuda.cuStreamBeginCapture_v2(blocking, 0);
    fails(gpubind_recv_on_stream(got.at, 1, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, blocking),
          MPI_ERR_OTHER, "captured", "from any rank on a stream under capture");
    fails(gpubind_send_on_stream(sent.at, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, NULL), MPI_ERR_OTHER,
          "captured", "the legacy stream while another is captured");
    succeeds(gpubind_quiet_on_stream(blocking), "quiet of a stream under capture");
    fails(gpubind_quiet_on_stream(NULL), MPI_ERR_OTHER, "captured", "quiet of the legacy stream");
    is_int(cuda.cuStreamEndCapture(blocking, &graph), CUDA_OK, "the capture's end");
    expect(graph, "the capture was spoilt");
    if (graph && cuda.cuGraphDestroy)
        cuda.cuGraphDestroy(graph);
    job_result();
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
        succeeds(
            gpubind_isend_on_stream(sent.at, 8, MPI_BYTE, !job.rank, 3, MPI_COMM_WORLD, blocking),
            "isend");
    succeeds(gpubind_finalize(), "finalize");
    stream_ends(alone);
    fails(gpubind_quiet_on_stream(alone), MPI_ERR_OTHER, "ended", "quiet after the end");
    job_result();
}

static atomic_bool released, in_vain;

static void wait_for_release(void *unused)
{
    (void)unused;
    for (int i = 0; i < 8000 && !released; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    in_vain = !released;
}

/* `ranks on_stream lost`: the driver says that the context is lost; streams get nowhere. */
static void lost(void)
{
    job_test("the end does not wait for a stream of a lost context");
    cuda.cuLaunchHostFunc(alone, wait_for_release, NULL);
    succeeds(gpubind_isend_on_stream(sent.at, 70001, MPI_BYTE, !job.rank, 1, MPI_COMM_WORLD, alone),
             "isend");
    succeeds(gpubind_irecv_on_stream(got.at, 70001, MPI_BYTE, !job.rank, 1, MPI_COMM_WORLD, alone),
             "irecv");
    succeeds(gpubind_finalize(), "finalize");
    released = true;
    stream_ends(alone);
    expect(!in_vain, "it waited");
    job_result();
}

/* `ranks on_stream lost_waits`: the same, for receives that the stream would have waited for, and then copied. It
 * gets nowhere to the end. */
static void lost_waits(void)
{
    int status;

    job_test("the end does not wait for a receive in a stream of a lost context");
    cuda.cuLaunchHostFunc(alone, wait_for_release, NULL);
    for (int nbytes = 8; nbytes < 100000; nbytes *= 5000)
        succeeds(
            gpubind_recv_on_stream(got.at, nbytes, MPI_BYTE, !job.rank, 2, MPI_COMM_WORLD, alone),
            "receive");
    succeeds(gpubind_finalize(), "finalize");
    expect(!in_vain, "it waited");
    job_result();
    status = job_end();
    fflush(stdout);
    _exit(status);
}

/* `ranks on_stream refused`: what needs MPI in another thread is refused by name. */
static void refused(void)
{
    job_test("below MPI_THREAD_MULTIPLE: a rank that is reached by MPI");
    fails(gpubind_send_on_stream(sent.at, 8, MPI_BYTE, job.rank ^ 1, 1, MPI_COMM_WORLD, alone),
          MPI_ERR_OTHER, "MPI_THREAD_MULTIPLE", "send");
    fails(gpubind_recv_on_stream(got.at, 8, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, alone),
          MPI_ERR_OTHER, "MPI_THREAD_MULTIPLE", "any source");
    succeeds(gpubind_isend_on_stream(sent.at, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, alone),
             "to itself");
    succeeds(gpubind_recv_on_stream(got.at, 8, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, alone),
             "from itself");
    stream_ends(alone);
    job_result();
}

static int errors; /* that calls returned */

/* What is said of a message before does not stop this one. */
static void put(bool waits, int nbytes, int tag)
{
    for (int i = 0; i < 5; i++) {
        int result;

        if (job.rank)
            result = (waits ? gpubind_send_on_stream : gpubind_isend_on_stream)(
                sent.at, nbytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, alone);
        else
            result = (waits ? gpubind_recv_on_stream : gpubind_irecv_on_stream)(
                got.at, nbytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, alone);
        errors += result != MPI_SUCCESS;
        if (result == MPI_SUCCESS || !strstr(gpubind_error_text(), "an earlier message"))
            return;
    }
}

/* A message whose end is waited for; was it right on both sides? */
static bool passes(int tag)
{
    int before = errors, good, all_good;

    buffer_fill(&sent, 0, BYTES, (uint64_t)tag);
    buffer_reset(&got);
    put(true, BYTES, tag);
    stream_ends(alone);
    good = job.rank || buffer_holds(&got, 0, BYTES, (uint64_t)tag, NULL);
    errors += gpubind_quiet_on_stream(alone) != MPI_SUCCESS;
    good = good && errors == before;
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, job.plain);
    return all_good;
}

/* `ranks on_stream failures`: calls of the driver fail now and then. Streams go on, and
 * when no call fails any more, messages are right. */
static void failures(void)
{
    int tag, all;

    job_test("calls of the driver fail: it is said, streams go on");
    for (tag = 0; tag < 12; tag++) {
        put(false, tag % 3 ? 300 : 70001, tag);
        cuda.cuStreamSynchronize(alone);
    }
    for (int i = 0; i < 50; i++) { /* what can move has moved */
        gpubind_progress();
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    while (tag < 40 && !passes(tag))
        tag++;
    expect(tag < 40, "no message was right again");
    MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, job.plain);
    expect(all > 0, "no call said that something failed");
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
    } else if (nargs && strcmp(arguments[0], "lost") == 0) {
        lost();
    } else if (nargs && strcmp(arguments[0], "lost_waits") == 0) {
        lost_waits();
    } else if (nargs && strcmp(arguments[0], "failures") == 0) {
        failures();
    } else {
        on_stream_order();
        on_stream_matching();
        on_stream_strided();
        on_stream_errors();
    }
    cuda.cuStreamDestroy_v2(blocking);
    cuda.cuStreamDestroy_v2(alone);
    buffer_clear(&sent);
    buffer_clear(&got);
    buffer_clear(&copied);
}
