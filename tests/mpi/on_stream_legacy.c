/* Work in the legacy stream, and in one without messages, goes on while messages of all kinds wait for the other rank,
 * which lets them go only then: the GPU may read the work of several streams from one channel. For two ranks. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { ROUNDS = 3, MOST = 3, LARGE = 2 << 20, SECONDS = 10, BESIDE = 30 };

enum way { IN_STREAMS, REQUESTS, PERSISTENT_IN_STREAMS, PERSISTENT, GRAPHS, WAYS };

static const char *const names[] = {"in streams", "requests", "persistent in streams", "persistent",
                                    "in graphs"};
static struct CUstream_st *streams[MOST];
static struct CUgraphExec_st *graphs[MOST];
static gpubind_request requests[MOST];
static struct buffer buffers[MOST], scratch;
static int other, nbytes, nmessages = MOST; /* in a stream each */
static struct CUstream_st *without;
static bool receives; /* this rank */

static void make(void)
{
    need_buffer(&scratch, MEMORY_DEVICE, 1000);
    is_int(cuda.cuStreamCreate(&without, CUDA_STREAM_NON_BLOCKING), CUDA_OK, "cuStreamCreate");
    for (int i = 0; i < nmessages; i++) {
        need_buffer(&buffers[i], MEMORY_DEVICE, LARGE);
        is_int(cuda.cuStreamCreate(&streams[i], CUDA_STREAM_NON_BLOCKING), CUDA_OK,
               "cuStreamCreate");
    }
}

static void clean_up(void)
{
    for (int i = 0; i < nmessages; i++) {
        cuda.cuStreamDestroy_v2(streams[i]);
        buffer_clear(&buffers[i]);
    }
    cuda.cuStreamDestroy_v2(without);
    buffer_clear(&scratch);
}

static void on_stream(int i, struct CUstream_st *stream)
{
    succeeds(receives ? gpubind_recv_on_stream(buffers[i].at, nbytes, MPI_BYTE, other, i,
                                               MPI_COMM_WORLD, stream)
                      : gpubind_send_on_stream(buffers[i].at, nbytes, MPI_BYTE, other, i,
                                               MPI_COMM_WORLD, stream),
             "message %d on its stream", i);
}

static void prepare(enum way way, int i)
{
    if (way == GRAPHS) {
        is_int(cuda.cuStreamBeginCapture_v2(streams[i], 0), CUDA_OK, "the capture's begin");
        on_stream(i, streams[i]);
        graphs[i] = graph_captured(streams[i]);
    } else if (way == PERSISTENT || way == PERSISTENT_IN_STREAMS) {
        succeeds(receives ? gpubind_recv_init(buffers[i].at, nbytes, MPI_BYTE, other, i,
                                              MPI_COMM_WORLD, &requests[i])
                          : gpubind_send_init(buffers[i].at, nbytes, MPI_BYTE, other, i,
                                              MPI_COMM_WORLD, &requests[i]),
                 "init %d", i);
    }
}

static void begin(enum way way, int i)
{
    if (way == IN_STREAMS)
        on_stream(i, streams[i]);
    else if (way == GRAPHS)
        is_int(cuda.cuGraphLaunch(graphs[i], streams[i]), CUDA_OK, "cuGraphLaunch");
    else if (way == PERSISTENT)
        succeeds(gpubind_start(&requests[i]), "start %d", i);
    else if (way == PERSISTENT_IN_STREAMS)
        succeeds(gpubind_startall_on_stream(1, &requests[i], streams[i]), "start %d", i);
    else
        succeeds(receives ? gpubind_irecv(buffers[i].at, nbytes, MPI_BYTE, other, i, MPI_COMM_WORLD,
                                          &requests[i])
                          : gpubind_isend(buffers[i].at, nbytes, MPI_BYTE, other, i, MPI_COMM_WORLD,
                                          &requests[i]),
                 "request %d", i);
}

static void end(enum way way, int i)
{
    if (way == REQUESTS || way == PERSISTENT)
        succeeds(gpubind_wait(&requests[i], MPI_STATUS_IGNORE), "wait %d", i);
    else
        stream_ends(streams[i]);
}

static void clean(enum way way, int i)
{
    if (way == GRAPHS)
        is_int(cuda.cuGraphExecDestroy(graphs[i]), CUDA_OK, "cuGraphExecDestroy");
    else if (way == PERSISTENT || way == PERSISTENT_IN_STREAMS)
        succeeds(gpubind_request_free(&requests[i]), "request_free %d", i);
}

static void goes_on(struct CUstream_st *stream, const char *which)
{
    const time_t until = time(NULL) + SECONDS;

    is_int(cuda.cuMemsetD8Async(address_of(&scratch), 7, scratch.nbytes, stream), CUDA_OK,
           "memset");
    while (cuda.cuStreamQuery(stream) == CUDA_NOT_READY && time(NULL) < until)
        usleep(100);
    is_int(cuda.cuStreamQuery(stream), CUDA_OK, which);
}

/* Both ranks know each other's messages before the ones that are late. */
static void round_of(enum way way, bool late, uint64_t seed)
{
    for (int i = 0; i < nmessages; i++)
        if (receives)
            buffer_reset(&buffers[i]);
        else
            buffer_fill(&buffers[i], 0, (size_t)nbytes, seed + (uint64_t)i);
    job_barrier();
    if (!late || job.rank == 0)
        for (int i = 0; i < nmessages; i++)
            begin(way, i);
    if (late && job.rank == 0) {
        goes_on(without, "a stream without messages");
        goes_on(NULL, "the legacy stream");
    }
    job_barrier();
    if (late && job.rank == 1)
        for (int i = 0; i < nmessages; i++)
            begin(way, i);
    for (int i = 0; i < nmessages; i++) {
        end(way, i);
        expect(!receives || buffer_holds(&buffers[i], 0, (size_t)nbytes, seed + (uint64_t)i, NULL),
               "message %d: other bytes came", i);
    }
}

static void waiting(enum way way, bool rank_0_receives)
{
    receives = rank_0_receives == (job.rank == 0);
    job_test("%d messages of %d bytes, %s, that rank 0 %s", nmessages, nbytes, names[way],
             rank_0_receives ? "receives" : "sends");
    for (int i = 0; i < nmessages; i++)
        prepare(way, i);
    for (int round = 0; round < ROUNDS; round++)
        round_of(way, round > 0, 10 * (uint64_t)round + 1);
    for (int i = 0; i < nmessages; i++)
        clean(way, i);
    job_result();
}

/* ---- another thread copies in the legacy stream, in calls of the driver that keep launches waiting */

static atomic_bool stopping;
static struct CUctx_st *context;

static int copy_synchronously(void *unused)
{
    char bytes[64];

    (void)unused;
    cuda.cuCtxPushCurrent_v2(context);
    while (!stopping)
        is_int(cuda.cuMemcpyDtoH_v2(bytes, address_of(&scratch), sizeof bytes), CUDA_OK, "copy");
    return 0;
}

static void beside(bool in_legacy, int size)
{
    struct CUstream_st *first = in_legacy ? NULL : streams[0];
    thrd_t thread;

    job_test("messages of %d bytes, %s, beside synchronous copies", size,
             in_legacy ? "in the legacy stream and another" : "in two streams");
    nbytes = size;
    receives = job.rank == 0;
    stopping = false;
    thrd_create(&thread, copy_synchronously, NULL);
    for (int round = 0; round < BESIDE; round++) {
        if (job.rank == 1)
            usleep(2000); /* late */
        on_stream(0, first);
        on_stream(1, streams[1]);
        stream_ends(first);
        stream_ends(streams[1]);
    }
    stopping = true;
    thrd_join(thread, NULL);
    job_result();
}

void test_on_stream_legacy_threads(void)
{
    other = job.rank ^ 1;
    cuda.cuCtxGetCurrent(&context);
    make();
    for (int in_legacy = 0; in_legacy < 2; in_legacy++) {
        beside(in_legacy, 1000);
        beside(in_legacy, 1000000);
    }
    clean_up();
}

/* ---- what the library says when streams occupy all channels for long */

static int before;  /* the standard error */
static FILE *heard; /* in its place meanwhile */
static char said[4096];

static void listen(void)
{
    heard = tmpfile();
    before = dup(STDERR_FILENO);
    dup2(fileno(heard), STDERR_FILENO);
}

static bool is_said(const char *words, int seconds)
{
    const time_t until = time(NULL) + seconds;

    while (time(NULL) < until && !strstr(said, words)) {
        const ssize_t n = pread(fileno(heard), said, sizeof said - 1, 0);

        usleep(10000);
        said[n > 0 ? n : 0] = '\0';
    }
    dup2(before, STDERR_FILENO);
    close(before);
    fclose(heard);
    fputs(said, stderr);
    return strstr(said, words) != NULL;
}

/* `ranks on_stream_channels [free]`: GPUBIND_WAIT_NOTICE is 1. The messages come when it has been said that they keep
 * back others; free: there are more channels, and nothing is said. */
void test_on_stream_channels(void)
{
    const bool is_free = nargs > 0 && strcmp(arguments[0], "free") == 0;

    nbytes = 1000;
    other = job.rank ^ 1;
    receives = job.rank == 0;
    make();
    job_test("messages that %d streams wait for, for long", MOST);
    if (receives)
        listen();
    else
        MPI_Recv(NULL, 0, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < MOST; i++)
        on_stream(i, streams[i]);
    if (receives) {
        is_int(is_said("no other stream may be able to run", is_free ? 3 : 30), !is_free,
               "it is said");
        MPI_Send(NULL, 0, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; i < MOST; i++)
        stream_ends(streams[i]);
    job_result();
    clean_up();
}

/* `ranks on_stream_legacy [STREAMS]` */
void test_on_stream_legacy(void)
{
    static const int sizes[] = {1000, LARGE};

    if (nargs > 0)
        nmessages = atoi(arguments[0]);

    other = job.rank ^ 1;
    make();
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (enum way way = 0; way < WAYS; way++) {
            nbytes = sizes[s];
            waiting(way, true);
            waiting(way, false);
        }
    clean_up();
}
