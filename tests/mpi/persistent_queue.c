/* Persistent messages in the order of a stream, some of which do not go from GPU to GPU:
 * host memory and irregular data beside what may be linked, each rank to the next in a
 * ring. `ranks persistent_queue [refused]`: refused says that MPI's threads are missing. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define ROUNDS 40
#define CHANNELS 3

static const struct {
    enum memory kind;
    size_t nbytes;
    bool irregular;
} kinds[CHANNELS] = {
    {MEMORY_DEVICE, 40000, false}, {MEMORY_PINNED, 70001, false}, {MEMORY_DEVICE, 48 * 500, true}};

static struct channel {
    struct buffer out, in, source, result;
} channels[CHANNELS];
static gpubind_request requests[2 * CHANNELS];
static int next_rank, previous_rank;
static struct CUstream_st *stream;

static cuda_address place(const struct buffer *buffer, size_t at)
{
    return (cuda_address)(uintptr_t)buffer->at + at;
}

static uint64_t seed_of(int rank, int channel, int round)
{
    return (uint64_t)(rank * 1000 + channel * 100 + round);
}

/* 16 of 48 bytes. */
static MPI_Datatype irregular(void)
{
    const int lengths[] = {3, 5, 1, 7}, places[] = {0, 10, 20, 41};
    MPI_Datatype inner, type;

    MPI_Type_indexed(4, lengths, places, MPI_BYTE, &inner);
    MPI_Type_create_resized(inner, 0, 48, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&inner);
    return type;
}

static bool is_sent(size_t at)
{
    at %= 48;
    return at < 3 || (at >= 10 && at < 15) || at == 20 || at >= 41;
}

static void make(int i)
{
    struct channel *channel = &channels[i];
    MPI_Datatype type = kinds[i].irregular ? irregular() : MPI_BYTE;
    const int count = (int)(kinds[i].nbytes / (kinds[i].irregular ? 48 : 1));

    need_buffer(&channel->out, kinds[i].kind, kinds[i].nbytes);
    need_buffer(&channel->in, kinds[i].kind, kinds[i].nbytes);
    need_buffer(&channel->source, MEMORY_DEVICE, ROUNDS * kinds[i].nbytes);
    need_buffer(&channel->result, MEMORY_DEVICE, ROUNDS * kinds[i].nbytes);
    for (int round = 0; round < ROUNDS; round++)
        buffer_fill(&channel->source, (size_t)round * kinds[i].nbytes, kinds[i].nbytes,
                    seed_of(job.rank, i, round));
    succeeds(gpubind_recv_init(channel->in.at, count, type, previous_rank, i, MPI_COMM_WORLD,
                               &requests[2 * i]),
             "recv_init");
    succeeds(gpubind_send_init(channel->out.at, count, type, next_rank, i, MPI_COMM_WORLD,
                               &requests[2 * i + 1]),
             "send_init");
    if (kinds[i].irregular)
        MPI_Type_free(&type);
}

static void make_all(void)
{
    for (int i = 0; i < CHANNELS; i++)
        make(i);
}

static void clear_all(void)
{
    for (int i = 0; i < CHANNELS; i++) {
        struct channel *channel = &channels[i];

        buffer_clear(&channel->out);
        buffer_clear(&channel->in);
        buffer_clear(&channel->source);
        buffer_clear(&channel->result);
    }
}

static void free_requests(int from, int to)
{
    for (int i = from; i < to; i++)
        succeeds(gpubind_request_free(&requests[i]), "request_free");
}

static void before(int i, int round)
{
    const size_t nbytes = kinds[i].nbytes;

    cuda.cuMemcpyAsync(place(&channels[i].out, 0),
                       place(&channels[i].source, (size_t)round * nbytes), nbytes, stream);
}

static void after(int i, int round)
{
    const size_t nbytes = kinds[i].nbytes;

    cuda.cuMemcpyAsync(place(&channels[i].result, (size_t)round * nbytes),
                       place(&channels[i].in, 0), nbytes, stream);
}

static void check(int i)
{
    const size_t nbytes = kinds[i].nbytes;
    char *got = malloc(nbytes), *wanted = malloc(nbytes);
    bool good = true;

    for (int round = 0; round < ROUNDS && good; round++) {
        gpu_get(got, channels[i].result.at + (size_t)round * nbytes, nbytes);
        bytes_of_seed(wanted, nbytes, seed_of(previous_rank, i, round));
        for (size_t at = 0; at < nbytes && good; at++)
            if (!kinds[i].irregular || is_sent(at))
                good = expect(got[at] == wanted[at], "channel %d, round %d: byte %zu is wrong", i,
                              round, at);
    }
    free(got);
    free(wanted);
}

/* host: ranks of odd number start by the host at times. */
static void all_at_once(bool host)
{
    job_test(host ? "linked and other messages in one call, some by the host"
                  : "linked and other messages in one call, %d calls, none waited for",
             ROUNDS);
    make_all();
    if (job.rank == 0)
        gpu_keep_busy(stream);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CHANNELS; i++)
            before(i, round);
        if (host && (job.rank + round / 3) % 2) {
            cuda.cuStreamSynchronize(stream);
            succeeds(gpubind_startall(2 * CHANNELS, requests), "startall");
            succeeds(gpubind_waitall(2 * CHANNELS, requests, MPI_STATUSES_IGNORE), "waitall");
        } else {
            succeeds(gpubind_startall_on_stream(2 * CHANNELS, requests, stream),
                     "startall_on_stream");
        }
        for (int i = 0; i < CHANNELS; i++)
            after(i, round);
    }
    is_int(cuda.cuStreamSynchronize(stream), 0, "the stream");
    for (int i = 0; i < CHANNELS; i++)
        check(i);
    job_barrier();
    free_requests(0, 2 * CHANNELS);
    clear_all();
    job_result();
}

/* Receives and sends in calls of their own, in two streams, and freed while under way. */
static void one_by_one(void)
{
    struct CUstream_st *other;

    job_test("sends and receives in two streams, freed while they are under way");
    cuda.cuStreamCreate(&other, CUDA_STREAM_NON_BLOCKING);
    make_all();
    for (int round = 0; round < ROUNDS; round++) {
        cuda.cuStreamSynchronize(stream);
        before(1, round);
        cuda.cuStreamSynchronize(other);
        gpu_keep_busy(round % 8 == job.rank ? stream : other);
        succeeds(gpubind_startall_on_stream(1, &requests[2], other), "receive");
        succeeds(gpubind_startall_on_stream(1, &requests[3], stream), "send");
        if (round == ROUNDS - 1)
            free_requests(2, 4);
        cuda.cuStreamSynchronize(other);
        after(1, round);
    }
    cuda.cuStreamSynchronize(stream);
    check(1);
    job_barrier();
    free_requests(0, 2);
    free_requests(4, 6);
    clear_all();
    cuda.cuStreamDestroy_v2(other);
    job_result();
}

/* What was queued by calls of its own before, and ends later, is not waited for. */
static void beside(void)
{
    struct buffer early;

    job_test("a receive of before, whose message comes after, does not hold them");
    need_buffer(&early, MEMORY_DEVICE, 1000);
    make_all();
    succeeds(
        gpubind_irecv_on_stream(early.at, 1000, MPI_BYTE, previous_rank, 9, MPI_COMM_WORLD, stream),
        "irecv_on_stream");
    before(1, 0);
    succeeds(gpubind_startall_on_stream(2 * CHANNELS, requests, stream), "startall_on_stream");
    succeeds(gpubind_isend_on_stream(channels[1].in.at, 1000, MPI_BYTE, next_rank, 9,
                                     MPI_COMM_WORLD, stream),
             "isend_on_stream");
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    is_int(cuda.cuStreamSynchronize(stream), 0, "the stream");
    expect(buffer_holds(&early, 0, 1000, seed_of((previous_rank + job.size - 1) % job.size, 1, 0),
                        NULL),
           "it has not what came by the exchange");
    job_barrier();
    free_requests(0, 2 * CHANNELS);
    clear_all();
    buffer_clear(&early);
    job_result();
}

static void captured(void)
{
    struct CUgraph_st *graph = NULL;

    job_test("not captured into a graph, which goes on");
    if (!cuda.cuStreamBeginCapture_v2) {
        job_skip("the driver has no capture");
        return;
    }
    make_all();
    succeeds(gpubind_startall_on_stream(2 * CHANNELS, requests, stream), "startall_on_stream");
    is_int(cuda.cuStreamSynchronize(stream), 0, "the stream");
    job_barrier();
    cuda.cuStreamBeginCapture_v2(stream, CUDA_CAPTURE_RELAXED);
    fails(gpubind_startall_on_stream(2 * CHANNELS, requests, stream), MPI_ERR_OTHER,
          "cannot be captured", "startall_on_stream in a capture");
    is_int(cuda.cuStreamEndCapture(stream, &graph), 0, "the end of the capture");
    if (graph && cuda.cuGraphDestroy)
        cuda.cuGraphDestroy(graph);
    job_barrier(); /* no start after the other side was freed */
    free_requests(0, 2 * CHANNELS);
    clear_all();
    job_result();
}

static void refused(void)
{
    job_test("what goes by MPI is refused below MPI_THREAD_MULTIPLE");
    make_all();
    fails(gpubind_startall_on_stream(2 * CHANNELS, requests, stream), MPI_ERR_OTHER,
          "MPI_THREAD_MULTIPLE", "startall_on_stream");
    succeeds(gpubind_startall(2 * CHANNELS, requests), "startall");
    succeeds(gpubind_waitall(2 * CHANNELS, requests, MPI_STATUSES_IGNORE), "waitall");
    free_requests(0, 2 * CHANNELS);
    clear_all();
    job_result();
}

void test_persistent_queue(void)
{
    int all_have;

    MPI_Allreduce(&gpu_count, &all_have, 1, MPI_INT, MPI_MIN, job.plain);
    if (!all_have) {
        job_test("on a stream");
        job_skip("no GPU");
        return;
    }
    next_rank = (job.rank + 1) % job.size;
    previous_rank = (job.rank + job.size - 1) % job.size;
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    if (nargs) {
        refused();
    } else {
        all_at_once(false);
        all_at_once(true);
        one_by_one();
        beside();
        captured();
    }
    cuda.cuStreamDestroy_v2(stream);
}
