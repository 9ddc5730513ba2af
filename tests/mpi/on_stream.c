/* Messages in the order of streams: what comes before, what after, which may wait for
 * which. For two ranks and more; rank 1 sends to rank 0 where nothing else is said. */
#include "tests/mpi/on_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/tests.h"

#define MANY 3000
#define SMALL 48

static const int sizes[] = {8, 4096, 70001, ON_STREAM_LARGEST};
struct CUstream_st *blocking, *alone;
struct buffer sent, got, copied;

cuda_address address_of(const struct buffer *buffer)
{
    return (cuda_address)(uintptr_t)buffer->at;
}

void stream_ends(struct CUstream_st *stream)
{
    is_int(cuda.cuStreamSynchronize(stream), CUDA_OK, "cuStreamSynchronize");
}

struct CUgraphExec_st *graph_captured(struct CUstream_st *stream)
{
    struct CUgraphExec_st *exec = NULL;
    struct CUgraph_st *graph = NULL;
    const int ended = cuda.cuStreamEndCapture(stream, &graph);
    const int made = graph ? cuda.cuGraphInstantiateWithFlags(&exec, graph, 0) : CUDA_OK;

    if (!exec) {
        fprintf(stderr, "rank %d: no graph: capture's end %d, instantiation %d\n", job.rank, ended,
                made);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    cuda.cuGraphDestroy(graph);
    return exec;
}

void stream_copies(const struct buffer *to, const struct buffer *from, size_t nbytes,
                   struct CUstream_st *stream)
{
    gpu_keep_busy(stream);
    is_int(cuda.cuMemcpyDtoDAsync_v2(address_of(to), address_of(from), nbytes, stream), CUDA_OK,
           "copy");
}

/* What is sent is written by the stream before, and overwritten after; what is received
 * is read by the stream after, and was read before. */
static void in_order(struct CUstream_st *stream, const char *name)
{
    job_test("%s: earlier work is sent, later work finds what came", name);
    for (int i = 0; i < 8; i++) {
        const size_t nbytes = (size_t)sizes[i % 4];
        const uint64_t seed = 100 + (uint64_t)i;

        buffer_reset(&sent);
        buffer_fill(&got, 0, nbytes, 7);
        buffer_reset(&copied);
        if (job.rank == 1) {
            buffer_fill(&copied, 0, nbytes, seed);
            stream_copies(&sent, &copied, nbytes, stream);
            succeeds(gpubind_send_on_stream(sent.at, sizes[i % 4], MPI_BYTE, 0, 1, MPI_COMM_WORLD,
                                            stream),
                     "send");
            cuda.cuMemsetD8Async(address_of(&sent), 0, nbytes, stream);
        }
        if (job.rank == 0) {
            stream_copies(&copied, &got, nbytes, stream);
            succeeds(gpubind_recv_on_stream(got.at, sizes[i % 4], MPI_BYTE, 1, 1, MPI_COMM_WORLD,
                                            stream),
                     "receive");
            cuda.cuMemcpyDtoDAsync_v2(address_of(&sent), address_of(&got), nbytes, stream);
        }
        stream_ends(stream);
        if (job.rank == 0) {
            received(&copied, nbytes, 7, "what was read before");
            received(&sent, nbytes, seed, "what was read after");
        }
    }
    job_result();
}

/* The other side calls what it likes. */
static void with_others(bool sender)
{
    job_test("%s on a stream, the other side waits in a call", sender ? "sends" : "receives");
    for (int i = 0; i < 8; i++) {
        const size_t nbytes = (size_t)sizes[i % 4];

        buffer_fill(&copied, 0, nbytes, 200 + (uint64_t)i);
        buffer_reset(&sent);
        buffer_reset(&got);
        if (job.rank == 1 && sender) {
            stream_copies(&sent, &copied, nbytes, alone);
            succeeds(gpubind_send_on_stream(sent.at, sizes[i % 4], MPI_BYTE, 0, 1, MPI_COMM_WORLD,
                                            alone),
                     "send");
        } else if (job.rank == 1) {
            succeeds(MPI_GPUSend(copied.at, sizes[i % 4], MPI_BYTE, 0, 1, MPI_COMM_WORLD), "send");
        } else if (job.rank == 0 && sender) {
            succeeds(MPI_GPURecv(got.at, sizes[i % 4], MPI_BYTE, 1, 1, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE),
                     "receive");
        } else if (job.rank == 0) {
            gpu_keep_busy(alone);
            succeeds(
                gpubind_recv_on_stream(got.at, sizes[i % 4], MPI_BYTE, 1, 1, MPI_COMM_WORLD, alone),
                "receive");
        }
        stream_ends(alone);
        if (job.rank == 0)
            received(&got, nbytes, 200 + (uint64_t)i, "receive");
    }
    job_result();
}

/* Both send first: as with MPI_GPUSend, what is small does not wait for its receive. */
static void both_send_first(void)
{
    const char *eager = getenv("GPUBIND_EAGER");
    const int other = job.rank ^ 1, most = eager ? atoi(eager) : 4096;

    job_test("small sends end before their receives are called");
    for (int nbytes = 0; nbytes <= most && other < 2; nbytes += 1024) {
        buffer_fill(&sent, 0, (size_t)nbytes, (uint64_t)(300 + job.rank));
        buffer_reset(&got);
        succeeds(gpubind_send_on_stream(sent.at, nbytes, MPI_BYTE, other, 3, MPI_COMM_WORLD, alone),
                 "send");
        stream_ends(alone);
        succeeds(gpubind_recv_on_stream(got.at, nbytes, MPI_BYTE, other, 3, MPI_COMM_WORLD, alone),
                 "receive");
        stream_ends(alone);
        received(&got, (size_t)nbytes, (uint64_t)(300 + other), "receive");
    }
    job_result();
}

static char *part(const struct buffer *all, int i)
{
    return all->at + (size_t)i * SMALL;
}

static int put(char *at, int other, int tag, bool send, bool waits)
{
    if (send)
        return (waits ? gpubind_send_on_stream : gpubind_isend_on_stream)(
            at, SMALL, MPI_BYTE, other, tag, MPI_COMM_WORLD, alone);
    return (waits ? gpubind_recv_on_stream : gpubind_irecv_on_stream)(at, SMALL, MPI_BYTE, other,
                                                                      tag, MPI_COMM_WORLD, alone);
}

/* Of the calls that the stream waits for, each rank sends and receives in turn. */
static void thousands(bool waits)
{
    struct buffer out, in;
    const int other = job.rank ^ 1;

    job_test("%d messages each way, %s", MANY, waits ? "one after the other" : "and one quiet");
    need_filled(&out, MEMORY_DEVICE, (size_t)MANY * SMALL, (uint64_t)job.rank);
    need_buffer(&in, MEMORY_DEVICE, (size_t)MANY * SMALL);
    for (int i = 0; i < 2 * MANY && other < 2; i++) {
        const bool send = i % 2 == job.rank;
        const int n = i / 2;

        if (!succeeds(put(part(send ? &out : &in, n), other, 4, send, waits), "message %d", n))
            break;
    }
    if (!waits)
        succeeds(gpubind_quiet_on_stream(alone), "quiet");
    stream_ends(alone);
    if (other < 2)
        received(&in, (size_t)MANY * SMALL, (uint64_t)other, "all of them");
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

/* The receiver wants the last one first: those before it wait in eager buffers, fewer than there are messages, which
 * sends behind a quiet must not have taken before. */
static void last_first(void)
{
    enum { N = MANY / 2, GROUP = 100 };
    const char *eager = getenv("GPUBIND_EAGER");
    struct buffer all;

    if (eager && atoi(eager) < SMALL)
        return;
    job_test("%d small sends in groups, the last is received first", N);
    need_filled(&all, MEMORY_DEVICE, (size_t)N * SMALL, 61);
    if (job.rank == 0)
        buffer_reset(&all);
    for (int i = 0; i < N && job.rank == 1; i++) {
        if (i % GROUP == 0)
            succeeds(gpubind_group_on_stream(alone), "group");
        succeeds(put(part(&all, i), 0, 6 + (i == N - 1), true, false), "send %d", i);
        if (i % GROUP == GROUP - 1)
            succeeds(gpubind_quiet_on_stream(alone), "quiet");
    }
    if (job.rank == 0)
        usleep(300000); /* many are called by then */
    for (int i = 0; i < N && job.rank == 0; i++) {
        const int n = (i + N - 1) % N; /* N - 1, 0, 1 ... */

        succeeds(MPI_GPURecv(part(&all, n), SMALL, MPI_BYTE, 1, 6 + (i == 0), MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE),
                 "receive of %d", n);
    }
    stream_ends(alone);
    if (job.rank == 0)
        received(&all, (size_t)N * SMALL, 61, "all of them");
    buffer_clear(&all);
    job_result();
}

/* A stream goes on after an i-form; quiet stops it until all is there. */
static void quiet(void)
{
    struct buffer large;

    job_test("later work does not wait for an irecv, and does for quiet");
    need_filled(&large, MEMORY_DEVICE, ON_STREAM_LARGEST, 41);
    buffer_reset(&copied);
    succeeds(gpubind_quiet_on_stream(alone), "quiet, nothing under way");
    if (job.rank == 0) {
        buffer_reset(&large);
        succeeds(gpubind_irecv_on_stream(large.at, ON_STREAM_LARGEST, MPI_BYTE, 1, 5,
                                         MPI_COMM_WORLD, alone),
                 "irecv");
        stream_ends(alone); /* or this hangs: nobody sends yet */
    }
    job_barrier();
    if (job.rank == 1) {
        succeeds(gpubind_isend_on_stream(large.at, ON_STREAM_LARGEST, MPI_BYTE, 0, 5,
                                         MPI_COMM_WORLD, alone),
                 "isend");
        succeeds(gpubind_quiet_on_stream(alone), "quiet");
        cuda.cuMemsetD8Async(address_of(&large), 0, ON_STREAM_LARGEST, alone);
    }
    if (job.rank == 0) {
        succeeds(gpubind_quiet_on_stream(alone), "quiet");
        cuda.cuMemcpyDtoDAsync_v2(address_of(&copied), address_of(&large), ON_STREAM_LARGEST,
                                  alone);
    }
    stream_ends(alone);
    if (job.rank == 0)
        received(&copied, ON_STREAM_LARGEST, 41, "what was read after quiet");
    buffer_clear(&large);
    job_result();
}

/* Held streams share the GPU's queues with the library's copies; a real one has 8. */
static void many_streams(void)
{
    enum { STREAMS = 70 };
    struct CUstream_st *streams[STREAMS];
    const int n = gpu_is_simulated() ? STREAMS : 4;

    job_test("%d streams wait at once; the last one's message comes first", n);
    buffer_fill(&sent, 0, (size_t)n * SMALL, 51);
    buffer_reset(&got);
    for (int i = 0; i < n && job.rank == 0; i++) {
        cuda.cuStreamCreate(&streams[i], CUDA_STREAM_NON_BLOCKING);
        succeeds(gpubind_recv_on_stream(part(&got, i), SMALL, MPI_BYTE, 1, i, MPI_COMM_WORLD,
                                        streams[i]),
                 "receive");
    }
    job_barrier();
    for (int i = n - 1; i >= 0 && job.rank == 1; i--)
        succeeds(MPI_GPUSend(part(&sent, i), SMALL, MPI_BYTE, 0, i, MPI_COMM_WORLD), "send");
    for (int i = 0; i < n && job.rank == 0; i++)
        stream_ends(streams[i]);
    for (int i = 0; i < n && job.rank == 0; i++)
        cuda.cuStreamDestroy_v2(streams[i]);
    if (job.rank == 0)
        received(&got, (size_t)n * SMALL, 51, "all of them");
    job_result();
}

void on_stream_order(void)
{
    in_order(alone, "a non-blocking stream");
    in_order(blocking, "a blocking stream");
    in_order(NULL, "the legacy stream");
    with_others(true);
    with_others(false);
    both_send_first();
    quiet();
    thousands(true);
    thousands(false);
    last_first();
    many_streams();
}
