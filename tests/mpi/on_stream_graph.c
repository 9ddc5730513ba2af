/* Messages of streams that are captured into a graph: each launch passes them again. Two ranks or more, in a ring;
 * capturing comes long before the other side's, launches as each side likes. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { GLOBAL, THREAD_LOCAL, RELAXED };
enum { LARGEST = 3 << 20, ROUNDS = 4, LAUNCH_FAILED = 719 };

static const int sizes[] = {8, 1984, 8192, 70000, LARGEST};
static struct CUstream_st *stream;
static struct buffer from, to, made,
    seen; /* made becomes from, and to becomes seen, in the graph */
static int next, before;

static void begin(int mode)
{
    is_int(cuda.cuStreamBeginCapture_v2(stream, mode), CUDA_OK, "the capture's begin");
}

static void launch(struct CUgraphExec_st *exec)
{
    is_int(cuda.cuGraphLaunch(exec, stream), CUDA_OK, "cuGraphLaunch");
}

static void copy(const struct buffer *target, const struct buffer *source, size_t nbytes)
{
    is_int(cuda.cuMemcpyDtoDAsync_v2(address_of(target), address_of(source), nbytes, stream),
           CUDA_OK, "copy");
}

static uint64_t seed_of(int rank, int round)
{
    return (uint64_t)(1000 * round + rank);
}

/* Launches it with other data each time; the first n bytes of what comes are right. */
static void rounds(struct CUgraphExec_st *exec, size_t n)
{
    for (int round = 0; round < ROUNDS; round++) {
        buffer_fill(&made, 0, n, seed_of(job.rank, round));
        buffer_reset(&seen);
        if (round == 1 && job.rank == 0)
            usleep(20000); /* late */
        launch(exec);
        stream_ends(stream);
        expect(buffer_holds(&seen, 0, n, seed_of(before, round), NULL),
               "round %d: %zu other bytes came", round, n);
    }
}

static void finish(struct CUgraphExec_st *exec)
{
    is_int(cuda.cuGraphExecDestroy(exec), CUDA_OK, "cuGraphExecDestroy");
    job_result();
}

/* To the next rank and from the one before. */
static void exchange(int nbytes, bool blocking_calls)
{
    if (blocking_calls) {
        succeeds(gpubind_send_on_stream(from.at, nbytes, MPI_BYTE, next, 1, MPI_COMM_WORLD, stream),
                 "send");
        succeeds(gpubind_recv_on_stream(to.at, nbytes, MPI_BYTE, before, 1, MPI_COMM_WORLD, stream),
                 "receive");
        return;
    }
    succeeds(gpubind_irecv_on_stream(to.at, nbytes, MPI_BYTE, before, 1, MPI_COMM_WORLD, stream),
             "receive");
    succeeds(gpubind_isend_on_stream(from.at, nbytes, MPI_BYTE, next, 1, MPI_COMM_WORLD, stream),
             "send");
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
}

static void ring(int nbytes, bool blocking_calls, int mode)
{
    struct CUgraphExec_st *exec;

    job_test("each to the next, %d bytes by %s calls, capture mode %d", nbytes,
             blocking_calls ? "blocking" : "nonblocking", mode);
    if (job.rank % 2)
        usleep(10000);
    begin(mode);
    copy(&from, &made, (size_t)nbytes);
    exchange(nbytes, blocking_calls);
    cuda.cuMemsetD8Async(address_of(&from), 0, (size_t)nbytes, stream);
    copy(&seen, &to, (size_t)nbytes);
    cuda.cuMemsetD8Async(address_of(&to), 0, (size_t)nbytes, stream);
    exec = graph_captured(stream);
    rounds(exec, (size_t)nbytes);
    finish(exec);
}

/* Rank 0 sends and receives at once what others get one after the other, and launches ahead. */
static void one_way(int nbytes)
{
    struct CUgraphExec_st *exec;
    const int rank = job.rank;

    job_test("%d bytes from rank 0 to rank 1, launched ahead", nbytes);
    begin(RELAXED);
    copy(&from, &made, (size_t)nbytes);
    if (rank == 0)
        succeeds(gpubind_send_on_stream(from.at, nbytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, stream),
                 "send");
    if (rank == 1)
        succeeds(gpubind_recv_on_stream(to.at, nbytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, stream),
                 "receive");
    exec = graph_captured(stream);
    buffer_fill(&made, 0, (size_t)nbytes, 55);
    for (int i = 0; i < 10; i++) {
        buffer_reset(&to);
        if (rank == 1 && i % 3 == 0)
            usleep(5000);
        launch(exec);
        if (rank == 1)
            stream_ends(stream);
        expect(rank != 1 || buffer_holds(&to, 0, (size_t)nbytes, 55, NULL), "other bytes came");
    }
    stream_ends(stream);
    finish(exec);
}

/* Rank 0's graph waits for one that rank 1 has yet to capture, and its only thread of the application's waits for the
 * graph, in the legacy stream: what connects the two takes no call of the driver that waits for that thread. */
static void captured_later(int nbytes)
{
    struct CUstream_st *const nonblocking = stream;
    struct CUgraphExec_st *exec;
    char unread[8];

    job_test("%d bytes to a rank that captures while rank 0 waits in the legacy stream", nbytes);
    is_int(cuda.cuStreamCreate(&stream, 0), CUDA_OK, "cuStreamCreate");
    buffer_fill(&made, 0, (size_t)nbytes, 66);
    if (job.rank == 1)
        usleep(300000);
    begin(RELAXED);
    if (job.rank == 0)
        succeeds(gpubind_send_on_stream(made.at, nbytes, MPI_BYTE, 1, 9, MPI_COMM_WORLD, stream),
                 "send");
    if (job.rank == 1)
        succeeds(gpubind_recv_on_stream(to.at, nbytes, MPI_BYTE, 0, 9, MPI_COMM_WORLD, stream),
                 "receive");
    exec = graph_captured(stream);
    launch(exec);
    is_int(cuda.cuMemcpyDtoH_v2(unread, address_of(&seen), sizeof unread), CUDA_OK, "cuMemcpyDtoH");
    expect(job.rank != 1 || buffer_holds(&to, 0, (size_t)nbytes, 66, NULL), "other bytes came");
    cuda.cuStreamDestroy_v2(stream);
    stream = nonblocking;
    finish(exec);
}

/* Of a tag the nth send meets the nth receive, whatever their kind. */
static void many(int n)
{
    struct CUgraphExec_st *exec;
    const int nbytes = 5000;

    job_test("%d messages of one tag each way", n);
    begin(RELAXED);
    copy(&from, &made, (size_t)(n * nbytes));
    for (int i = 0; i < n; i++) {
        succeeds(gpubind_irecv_on_stream(to.at + i * nbytes, nbytes, MPI_BYTE, before, 3,
                                         MPI_COMM_WORLD, stream),
                 "receive %d", i);
        succeeds(gpubind_isend_on_stream(from.at + i * nbytes, nbytes, MPI_BYTE, next, 3,
                                         MPI_COMM_WORLD, stream),
                 "send %d", i);
        if (i % 7 == 6)
            succeeds(gpubind_quiet_on_stream(stream), "quiet");
    }
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    copy(&seen, &to, (size_t)(n * nbytes));
    exec = graph_captured(stream);
    rounds(exec, (size_t)(n * nbytes));
    finish(exec);
}

/* Before a quiet. The first ones stay in the graph. */
static void too_many(void)
{
    struct CUgraphExec_st *exec;

    job_test("129 nonblocking messages before a quiet");
    begin(RELAXED);
    for (int i = 0; i < 128; i++) {
        succeeds(gpubind_irecv_on_stream(to.at + i, 1, MPI_BYTE, before, 3, MPI_COMM_WORLD, stream),
                 "receive %d", i);
        succeeds(gpubind_isend_on_stream(made.at + i, 1, MPI_BYTE, next, 3, MPI_COMM_WORLD, stream),
                 "send %d", i);
    }
    fails(gpubind_irecv_on_stream(to.at, 1, MPI_BYTE, before, 3, MPI_COMM_WORLD, stream),
          MPI_ERR_OTHER, "too many", "the 129th receive");
    fails(gpubind_isend_on_stream(made.at, 1, MPI_BYTE, next, 3, MPI_COMM_WORLD, stream),
          MPI_ERR_OTHER, "too many", "the 129th send");
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    copy(&seen, &to, 128);
    exec = graph_captured(stream);
    rounds(exec, 128);
    finish(exec);
}

/* Columns to rows, and the same small; the other bytes of the receive's room stay. */
static void strided(int rows)
{
    struct CUgraphExec_st *exec;
    MPI_Datatype column;
    const int run = 24, pitch = 72, nbytes = rows * run;

    job_test("%d runs of %d bytes from %d bytes apart", rows, run, pitch);
    MPI_Type_vector(rows, run, pitch, MPI_BYTE, &column);
    MPI_Type_commit(&column);
    begin(RELAXED);
    succeeds(gpubind_irecv_on_stream(to.at, 1, column, before, 4, MPI_COMM_WORLD, stream),
             "receive");
    succeeds(gpubind_isend_on_stream(made.at, nbytes, MPI_BYTE, next, 4, MPI_COMM_WORLD, stream),
             "send");
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    succeeds(gpubind_isend_on_stream(to.at, 1, column, next, 5, MPI_COMM_WORLD, stream), "send");
    succeeds(
        gpubind_recv_on_stream(seen.at, nbytes + 100, MPI_BYTE, before, 5, MPI_COMM_WORLD, stream),
        "receive");
    exec = graph_captured(stream);
    MPI_Type_free(&column);
    for (int round = 0; round < ROUNDS; round++) {
        const int origin = (before + job.size - 1) % job.size;

        buffer_fill(&made, 0, (size_t)nbytes, seed_of(job.rank, round));
        buffer_reset(&to);
        buffer_reset(&seen);
        launch(exec);
        stream_ends(stream);
        expect(buffer_holds(&seen, 0, (size_t)nbytes, seed_of(origin, round), NULL),
               "round %d: other bytes came", round);
        expect(buffer_untouched(&seen, (size_t)nbytes), "written behind the message");
    }
    finish(exec);
}

static void refused(gpubind_stream handle, struct buffer *memory, int nbytes, int rank, int tag,
                    const char *words, const char *what)
{
    fails(gpubind_irecv_on_stream(memory->at, nbytes, MPI_BYTE, rank, tag, MPI_COMM_WORLD, handle),
          MPI_ERR_OTHER, words, what);
}

static void refusals(void)
{
    struct CUgraphExec_st *exec;
    struct buffer host;

    job_test("what cannot be captured; the capture goes on");
    need_buffer(&host, MEMORY_HOST, 100);
    begin(GLOBAL);
    refused(stream, &to, 8, MPI_ANY_SOURCE, 1, "cannot be captured", "MPI_ANY_SOURCE");
    refused(stream, &to, 8, before, MPI_ANY_TAG, "cannot be captured", "MPI_ANY_TAG");
    refused(stream, &host, 8, before, 77, "cannot be captured", "host memory");
    refused(stream, &to, 0, before, 77, "cannot be captured", "0 bytes");
    fails(gpubind_send_on_stream(from.at, -1, MPI_BYTE, next, 1, MPI_COMM_WORLD, stream),
          MPI_ERR_COUNT, "count is -1", "count");
    fails(gpubind_send_on_stream(from.at, 1, MPI_BYTE, job.size, 1, MPI_COMM_WORLD, stream),
          MPI_ERR_RANK, "destination", "rank");
    succeeds(gpubind_send_on_stream(from.at, 1, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, stream),
             "to MPI_PROC_NULL");
    succeeds(gpubind_quiet_on_stream(stream), "quiet of nothing");
    exchange(8, true);
    copy(&seen, &to, 8);
    exec = graph_captured(stream);
    buffer_fill(&from, 0, 8, seed_of(job.rank, 0));
    launch(exec);
    stream_ends(stream);
    expect(buffer_holds(&seen, 0, 8, seed_of(before, 0), NULL), "other bytes came");
    buffer_clear(&host);
    finish(exec);
}

/* Graphs come and go: what they had is used again. */
static void again_and_again(void)
{
    job_test("200 graphs, one after the other");
    for (int i = 0; i < 200; i++) {
        struct CUgraphExec_st *exec;

        begin(RELAXED);
        exchange(i % 2 ? 100 : 20000, i % 4 == 1);
        copy(&seen, &to, 100);
        exec = graph_captured(stream);
        buffer_fill(&from, 0, 20000, seed_of(job.rank, i));
        launch(exec);
        if (i % 3)
            stream_ends(stream);
        cuda.cuGraphExecDestroy(exec);
        stream_ends(stream);
        expect(buffer_holds(&seen, 0, 100, seed_of(before, i), NULL), "graph %d: other bytes", i);
    }
    job_result();
}

/* A capture that ends before its messages are put in, and one whose other side never comes. */
static void alone_and_forgotten(void)
{
    struct CUgraphExec_st *exec;

    job_test("messages that are in no graph, or whose other side is in none");
    begin(RELAXED);
    succeeds(gpubind_isend_on_stream(from.at, 8, MPI_BYTE, next, 6, MPI_COMM_WORLD, stream),
             "send");
    exec = graph_captured(stream);
    launch(exec);
    stream_ends(stream);
    cuda.cuGraphExecDestroy(exec);
    begin(RELAXED);
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    if (job.rank == 0)
        succeeds(gpubind_recv_on_stream(to.at, 8, MPI_BYTE, 1, 7, MPI_COMM_WORLD, stream),
                 "receive");
    cuda.cuGraphExecDestroy(graph_captured(stream));
    job_result();
}

/* Launches of a message that cannot be passed end with an error, on both sides. */
static void in_vain(int nbytes, const char *why)
{
    struct CUgraphExec_st *exec;

    job_test("a captured message of %d bytes whose other side is %s", nbytes, why);
    begin(RELAXED);
    if (job.rank == 0)
        succeeds(gpubind_send_on_stream(from.at, nbytes, MPI_BYTE, 1, 8, MPI_COMM_WORLD, stream),
                 "send");
    else
        succeeds(gpubind_recv_on_stream(to.at, 8, MPI_BYTE, 0, 8, MPI_COMM_WORLD, stream),
                 "receive");
    exec = graph_captured(stream);
    launch(exec);
    is_int(cuda.cuStreamSynchronize(stream), LAUNCH_FAILED, "cuStreamSynchronize");
    is_int(cuda.cuStreamQuery(stream), LAUNCH_FAILED, "cuStreamQuery");
    gpu_is_lost_to_test();
    job_result();
}

/* As a program does to find out whether its messages can be captured: nothing is wrong, whoever is first. */
static void unused(int rounds)
{
    job_test("graphs of messages that are destroyed without a launch");
    for (int round = 0; round < rounds; round++) {
        struct CUgraph_st *graph = NULL;

        begin(RELAXED);
        succeeds(gpubind_irecv_on_stream(to.at, 8, MPI_BYTE, before, round, MPI_COMM_WORLD, stream),
                 "irecv");
        succeeds(gpubind_isend_on_stream(from.at, 8, MPI_BYTE, next, round, MPI_COMM_WORLD, stream),
                 "isend");
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
        is_int(cuda.cuStreamEndCapture(stream, &graph), CUDA_OK, "the capture's end");
        usleep(round % 5 * 100 * (unsigned)job.rank);
        cuda.cuGraphDestroy(graph);
        job_barrier();
    }
    job_result();
}

/* Rank 1 destroys its graph, and rank 0, which launches its own, ends as soon as that does. */
static void destroyed(void)
{
    struct CUgraph_st *graph = NULL;

    job_test("a graph whose other side is destroyed");
    if (job.rank == 0)
        usleep(100000);
    begin(RELAXED);
    if (job.rank == 0) {
        gpubind_send_on_stream(from.at, LARGEST, MPI_BYTE, 1, 8, MPI_COMM_WORLD, stream);
        launch(graph_captured(stream));
        cuda.cuStreamSynchronize(stream);
        _exit(3);
    }
    gpubind_recv_on_stream(to.at, LARGEST, MPI_BYTE, 0, 8, MPI_COMM_WORLD, stream);
    cuda.cuStreamEndCapture(stream, &graph);
    cuda.cuGraphDestroy(graph);
    pause();
}

/* `ranks on_stream_graph [shorter | unreachable | unused | destroyed]` */
void test_on_stream_graph(void)
{
    if (cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING))
        MPI_Abort(MPI_COMM_WORLD, 2);
    next = (job.rank + 1) % job.size;
    before = (job.rank + job.size - 1) % job.size;
    need_buffer(&from, MEMORY_DEVICE, LARGEST);
    need_buffer(&to, MEMORY_DEVICE, LARGEST);
    need_buffer(&made, MEMORY_DEVICE, LARGEST);
    need_buffer(&seen, MEMORY_DEVICE, LARGEST);
    if (nargs > 0 && strcmp(arguments[0], "unused") == 0) {
        unused(50);
        return;
    }
    if (nargs > 0 && strcmp(arguments[0], "destroyed") == 0)
        destroyed();
    if (nargs > 0) {
        in_vain(strcmp(arguments[0], "shorter") == 0 ? 9 : 8, arguments[0]);
        return;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ring(sizes[i], false, (int)i % 3);
        if (sizes[i] <= 8192)
            ring(sizes[i], true, RELAXED);
        if (job.size > 1)
            one_way(sizes[i]);
        if (job.size > 1)
            captured_later(sizes[i]);
    }
    many(40);
    many(128);
    too_many();
    strided(20);
    strided(3000);
    refusals();
    again_and_again();
    if (job.size > 1)
        alone_and_forgotten();
    buffer_clear(&seen);
    buffer_clear(&made);
    buffer_clear(&to);
    buffer_clear(&from);
    cuda.cuStreamDestroy_v2(stream);
}
