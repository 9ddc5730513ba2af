/* Memory that another rank has mapped is freed, and buffers that messages pass through, or come to, lie at its addresses:
 * they can be mapped when the old mapping is closed, for which no stream may wait. For two ranks. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/mpi/in_way.h"
#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { RELAXED = 2 };
enum { LARGE = 3 << 20, BOUNCE = (12 << 20) - BUFFER_GUARD, FLAGS = 65536 - BUFFER_GUARD };
enum { ROUNDS = 3, MANY = MAPPED_MOST };

static struct CUstream_st *stream;
static int other = 1; /* rank 0's */

/* The simulator gives the next allocation of a size the addresses of a freed one: nothing lies there. */
static bool are_free(const char *freed, size_t nbytes)
{
    struct buffer next;
    bool there;

    need_buffer(&next, MEMORY_DEVICE, nbytes);
    there = next.at == freed;
    buffer_clear(&next);
    return there;
}

static struct CUgraphExec_st *capture(const struct buffer *buffer, bool blocking_calls)
{
    const int nbytes = (int)buffer->nbytes;

    is_int(cuda.cuStreamBeginCapture_v2(stream, RELAXED), CUDA_OK, "the capture's begin");
    if (job.rank == 0)
        succeeds((blocking_calls ? gpubind_recv_on_stream : gpubind_irecv_on_stream)(
                     buffer->at, nbytes, MPI_BYTE, other, 4, MPI_COMM_WORLD, stream),
                 "receive");
    else
        succeeds((blocking_calls ? gpubind_send_on_stream : gpubind_isend_on_stream)(
                     buffer->at, nbytes, MPI_BYTE, 0, 4, MPI_COMM_WORLD, stream),
                 "send");
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    return graph_captured(stream);
}

static struct CUgraphExec_st *capture_and_launch(const struct buffer *buffer, bool blocking_calls)
{
    struct CUgraphExec_st *exec = capture(buffer, blocking_calls);

    is_int(cuda.cuGraphLaunch(exec, stream), CUDA_OK, "cuGraphLaunch");
    return exec;
}

/* Rank 1 sends the buffer's bytes in each round. The graph of the rank that captures first waits for the other. */
static void pass_captured(const struct buffer *buffer, int first, bool blocking_calls)
{
    struct CUgraphExec_st *exec = NULL;

    if (job.rank == 0)
        buffer_reset(buffer);
    job_barrier();
    if (job.rank == first)
        exec = capture_and_launch(buffer, blocking_calls);
    job_barrier();
    if (job.rank != first)
        exec = capture_and_launch(buffer, blocking_calls);
    for (int round = 0; round < ROUNDS; round++) {
        stream_ends(stream);
        if (job.rank == 0) {
            received(buffer, buffer->nbytes, 10 + (uint64_t)round, "of a graph");
            buffer_reset(buffer);
        } else {
            buffer_fill(buffer, 0, buffer->nbytes, 11 + (uint64_t)round);
        }
        job_barrier();
        is_int(cuda.cuGraphLaunch(exec, stream), CUDA_OK, "cuGraphLaunch");
    }
    stream_ends(stream);
    is_int(cuda.cuGraphExecDestroy(exec), CUDA_OK, "cuGraphExecDestroy");
    job_barrier();
}

/* The flags of rank 0's GPU, which are made for the first captured message, would get the addresses of what was freed. */
static void captured_flags(int nbytes, int n)
{
    struct buffer buffer;
    char *freed;

    job_test("a captured message of %d bytes, whose flags would lie at %d freed addresses", nbytes,
             n);
    need_filled(&buffer, MEMORY_DEVICE, (size_t)nbytes, 10);
    freed = map_and_free(n, FLAGS);
    if (job.rank == 0 && gpu_is_simulated())
        expect(are_free(freed, FLAGS), "other memory lies there");
    pass_captured(&buffer, 1, true);
    buffer_clear(&buffer);
    job_result();
}

static void captured_buffer(int first, bool blocking_calls, int n)
{
    struct buffer buffer;
    char *freed;

    job_test("a message captured by %s calls into one of %d freed addresses, by rank %d first",
             blocking_calls ? "blocking" : "nonblocking", n, first);
    freed = map_and_free(n, LARGE);
    need_filled(&buffer, MEMORY_DEVICE, LARGE, 10);
    expect(job.rank == 1 || n > 1 || !gpu_is_simulated() || buffer.at == freed,
           "the buffer lies elsewhere");
    pass_captured(&buffer, first, blocking_calls);
    buffer_clear(&buffer);
    job_result();
}

static void capture_in_vain(const struct buffer *buffer)
{
    is_int(cuda.cuGraphExecDestroy(capture(buffer, true)), CUDA_OK, "cuGraphExecDestroy");
}

/* Rank 0 captures a receive, destroys the graph and frees the buffer; rank 1, which learns of both at once, captures and
 * destroys its send then: that the memory cannot be mapped says nothing of other memory. */
static void stale(enum memory kind)
{
    struct buffer first, buffer;

    job_test("a captured receive whose buffer, %s, is freed before the sender hears of it",
             memory_name(kind));
    need_filled(&first, kind, LARGE, 5);
    if (job.rank == 0) {
        capture_in_vain(&first);
        usleep(100000); /* the driver tells of the graph's end by a thread of its own */
        gpubind_progress();
        buffer_clear(&first);
    }
    job_barrier();
    if (job.rank == 1) {
        capture_in_vain(&first);
        usleep(100000);
        gpubind_progress();
    }
    job_barrier();
    if (job.rank == 0)
        for (int i = 0; i < 20; i++) { /* the memory is freed when rank 1 has closed its mapping */
            gpubind_progress();
            usleep(1000);
        }
    need_filled(&buffer, MEMORY_DEVICE, LARGE, 10);
    pass_captured(&buffer, 1, true);
    pass_mapped(&buffer);
    if (job.rank == 1)
        expect_mapped(1);
    job_barrier();
    buffer_clear(&buffer);
    if (job.rank == 1)
        buffer_clear(&first);
    job_result();
}

void test_on_stream_graph_in_way(void)
{
    is_int(cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING), CUDA_OK, "cuStreamCreate");
    if (nargs == 2)
        captured_flags(atoi(arguments[0]), atoi(arguments[1]));
    else {
        stale(MEMORY_OURS);
        stale(MEMORY_DEVICE);
        for (int first = 0; first < 2; first++)
            for (int blocking_calls = 0; blocking_calls < 2; blocking_calls++)
                captured_buffer(first, blocking_calls, 1);
        captured_buffer(1, true, MANY);
    }
    cuda.cuStreamDestroy_v2(stream);
}

/* Rank 2 sends into memory of a window that it is not in: it can map none of it. */
void test_on_stream_graph_window(void)
{
    gpubind_win win = GPUBIND_WIN_NULL;
    struct CUgraphExec_st *exec;
    struct buffer buffer = {.kind = MEMORY_DEVICE, .nbytes = LARGE};
    void *at = NULL;
    MPI_Comm two;

    job_test("a message captured into memory of a window whose ranks the sender is not one of");
    is_int(cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING), CUDA_OK, "cuStreamCreate");
    MPI_Comm_split(MPI_COMM_WORLD, job.rank < 2, job.rank, &two);
    if (job.rank < 2) {
        succeeds(gpubind_comm_attach(two), "attach");
        succeeds(gpubind_win_allocate(two, LARGE + BUFFER_GUARD, 0, &win), "window");
        succeeds(gpubind_win_pointer(win, job.rank, &at, NULL), "pointer");
        buffer.at = at;
        if (job.rank == 0)
            buffer_reset(&buffer);
    } else {
        need_filled(&buffer, MEMORY_DEVICE, LARGE, 12);
    }
    job_barrier();
    if (job.rank != 1) {
        other = job.rank == 0 ? 2 : 0;
        exec = capture_and_launch(&buffer, true);
        stream_ends(stream);
        is_int(cuda.cuGraphExecDestroy(exec), CUDA_OK, "cuGraphExecDestroy");
    }
    if (job.rank == 0)
        received(&buffer, LARGE, 12, "of a graph");
    job_barrier();
    if (win != GPUBIND_WIN_NULL)
        succeeds(gpubind_win_free(&win), "free");
    if (job.rank == 2)
        buffer_clear(&buffer);
    MPI_Comm_free(&two);
    cuda.cuStreamDestroy_v2(stream);
    job_result();
}

/* The bounce buffers of rank 0's GPU, which are made once in a process, get the addresses of what was freed. */
void test_on_stream_in_way(void)
{
    struct buffer out, in;
    char *freed;

    job_test("a bounce buffer at freed addresses, and a receiver whose stream waits");
    is_int(cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING), CUDA_OK, "cuStreamCreate");
    freed = map_and_free(1, BOUNCE);
    need_filled(&out, MEMORY_POOL, LARGE, 9); /* which has no handle */
    need_buffer(&in, MEMORY_DEVICE, LARGE);
    for (int round = 0; round < ROUNDS; round++) {
        buffer_reset(&in);
        if (job.rank == 1)
            succeeds(gpubind_recv_on_stream(in.at, LARGE, MPI_BYTE, 0, 3, MPI_COMM_WORLD, stream),
                     "receive");
        job_barrier(); /* its stream waits */
        if (job.rank == 0) {
            succeeds(MPI_GPUSend(out.at, LARGE, MPI_BYTE, 1, 3, MPI_COMM_WORLD), "send");
            continue;
        }
        stream_ends(stream);
        received(&in, LARGE, 9, "of a stream");
    }
    if (job.rank == 0 && gpu_is_simulated())
        expect(!are_free(freed, BOUNCE), "the bounce buffers lie elsewhere");
    job_barrier();
    buffer_clear(&in);
    buffer_clear(&out);
    cuda.cuStreamDestroy_v2(stream);
    job_result();
}
