/* Messages on streams: which match, from and to which memory, in which thread. */
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
        succeeds(MPI_GPURecv(parts[2].at, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
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
        succeeds(
            gpubind_isend_on_stream(out.at, nbytes, MPI_BYTE, job.rank, 1, MPI_COMM_WORLD, alone),
            "isend");
        succeeds(
            gpubind_recv_on_stream(in.at, nbytes, MPI_BYTE, job.rank, 1, MPI_COMM_WORLD, alone),
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
        succeeds(
            MPI_GPURecv(got.at + BYTES, BYTES, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            "receive");
        expect(buffer_holds(&got, 0, 2 * BYTES, 81, NULL), "not both are there");
    } else {
        succeeds(gpubind_free(memory), "free");
        job_barrier();
    }
    if (job.rank == 1) {
        succeeds(
            gpubind_isend(sent.at + BYTES, BYTES, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[0]),
            "isend");
        succeeds(gpubind_isend(sent.at, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[1]),
                 "isend");
        succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    }
    stream_ends(blocking);
    job_result();
}

struct player {
    struct CUstream_st *stream;
    int tag;
    struct buffer out, in;
};

static void *play(void *argument)
{
    struct player *player = argument;
    const int tag = player->tag, other = !job.rank;

    gpu_use(job.local % gpu_count);
    for (int i = 0; i < 100; i++) {
        buffer_fill(&player->out, 0, BYTES, (uint64_t)(1000 * job.rank + 500 * tag + i));
        succeeds(gpubind_isend_on_stream(player->out.at, BYTES, MPI_BYTE, other, tag,
                                         MPI_COMM_WORLD, player->stream),
                 "isend");
        succeeds(gpubind_recv_on_stream(player->in.at, BYTES, MPI_BYTE, other, tag, MPI_COMM_WORLD,
                                        player->stream),
                 "receive");
        succeeds(gpubind_quiet_on_stream(player->stream), "quiet");
        stream_ends(player->stream);
        received(&player->in, BYTES, (uint64_t)(1000 * other + 500 * tag + i), "receive");
    }
    return NULL;
}

/* Nothing is freed while the other one's stream waits. */
static void two_threads(void)
{
    struct player players[2] = {{.stream = alone}, {.tag = 1}};
    pthread_t thread;

    job_test("two threads, a stream each");
    if (job.threads < MPI_THREAD_MULTIPLE || job.size != 2) {
        job_skip("not two ranks with MPI_THREAD_MULTIPLE");
        return;
    }
    cuda.cuStreamCreate(&players[1].stream, CUDA_STREAM_NON_BLOCKING);
    for (int i = 0; i < 2; i++) {
        need_buffer(&players[i].out, MEMORY_DEVICE, BYTES);
        need_buffer(&players[i].in, MEMORY_DEVICE, BYTES);
    }
    pthread_create(&thread, NULL, play, &players[1]);
    play(&players[0]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) {
        buffer_clear(&players[i].out);
        buffer_clear(&players[i].in);
    }
    cuda.cuStreamDestroy_v2(players[1].stream);
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
