/* Persistent messages that one side can no longer do: what the other side is told. For two
 * ranks. `ranks persistent_over fails`: the environment lets the first send that rank 0
 * starts after a first exchange fail, after it was queued. `ranks persistent_over again`: the
 * same. `ranks persistent_over streams RANK`: it lets the second start of that rank fail.
 * `ranks persistent_over freed [linked]`: nothing fails; the messages go from GPU to GPU. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 5000

static struct buffer buffers[2];

/* Rank 0 sends, rank 1 receives; tags 0 and 1. */
static void set_up(int tag, gpubind_request *request)
{
    if (job.rank == 0)
        succeeds(
            gpubind_send_init(buffers[tag].at, BYTES, MPI_BYTE, 1, tag, MPI_COMM_WORLD, request),
            "send_init");
    else
        succeeds(
            gpubind_recv_init(buffers[tag].at, BYTES, MPI_BYTE, 0, tag, MPI_COMM_WORLD, request),
            "recv_init");
}

/* A first start on a stream, on both sides: from then on they have a channel. */
static void connect(gpubind_request *request)
{
    struct CUstream_st *stream = NULL;

    if (gpu_count == 0)
        return;
    job_barrier(); /* both are set up */
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    succeeds(gpubind_startall_on_stream(1, request, stream), "startall_on_stream");
    cuda.cuStreamSynchronize(stream);
    cuda.cuStreamDestroy_v2(stream);
    job_barrier();
}

static void fill(int tag, uint64_t seed)
{
    if (job.rank == 0)
        buffer_fill(&buffers[tag], 0, BYTES, seed);
    else
        buffer_reset(&buffers[tag]);
}

static void pass(int tag, gpubind_request *request, uint64_t seed)
{
    fill(tag, seed);
    succeeds(gpubind_start(request), "start");
    succeeds(gpubind_wait(request, MPI_STATUS_IGNORE), "wait");
    if (job.rank == 1)
        received(&buffers[tag], BYTES, seed, "received");
}

/* All are there; what GPUs have been given has got as far as it does. None of the ranks
 * is in the library. */
static void meet(void)
{
    job_barrier();
    nanosleep(&(struct timespec){0, 30000000}, NULL);
    job_barrier();
}

/* The send may have been queued all the same, and must not be taken for a good one by a
 * receive that is started later, whatever its host looks at first. */
static void fails_here(void)
{
    gpubind_request requests[2];

    job_test("a send that failed is no message for a receive that starts later");
    for (int tag = 0; tag < 2; tag++)
        set_up(tag, &requests[tag]);
    connect(&requests[0]);
    meet();
    fill(0, 2);
    if (job.rank == 0) {
        succeeds(gpubind_start(&requests[0]), "start");
        fails(gpubind_wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_OTHER, NULL, "the send");
    }
    meet();
    if (job.rank == 1) {
        buffer_reset(&buffers[0]);
        succeeds(gpubind_start(&requests[0]), "start");
        meet();
    } else {
        meet();
    }
    pass(1, &requests[1], 3);
    if (job.rank == 1)
        fails(gpubind_wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_OTHER, "failed",
              "the receive");
    for (int tag = 0; tag < 2; tag++)
        succeeds(gpubind_request_free(&requests[tag]), "request_free");
    job_result();
}

static void free_it(gpubind_request *request)
{
    succeeds(gpubind_request_free(request), "request_free");
}

/* What failed may still be on its way in a stream, and must not reach what is set up in
 * its place. Receivers come early, so that nothing but the words keeps them. That the send has failed may be
 * known to the receiver only after its data, which are good: then the free tells of it. */
static void again(void)
{
    gpubind_request request;
    int status;

    job_test("a send that failed does not reach what is set up after it");
    set_up(0, &request);
    connect(&request);
    for (uint64_t round = 2; round < 6; round++) {
        fill(0, round);
        job_barrier();
        if (gpubind_start(&request) == MPI_SUCCESS &&
            gpubind_wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && job.rank == 1)
            received(&buffers[0], BYTES, round, "received");
        status = gpubind_request_free(&request);
        if (status != MPI_SUCCESS && job.rank == 1)
            fails(status, MPI_ERR_OTHER, "has failed there", "request_free");
        else
            succeeds(status, "request_free");
        set_up(0, &request);
        connect(&request);
    }
    free_it(&request);
    job_result();
}

/* That rank's start fails, after a first one; the other's stream has three before it. */
static void streams(int which)
{
    struct CUstream_st *stream = NULL;
    gpubind_request request;

    job_test("rank %d fails: streams of the other go on, and it is told", which);
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    set_up(0, &request);
    fill(0, 1);
    job_barrier();
    succeeds(gpubind_startall_on_stream(1, &request, stream), "startall_on_stream");
    cuda.cuStreamSynchronize(stream);
    succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    for (int i = 0; i < 3 && job.rank != which; i++)
        succeeds(gpubind_startall_on_stream(1, &request, stream), "startall_on_stream");
    meet();
    if (job.rank == which)
        fails(gpubind_startall_on_stream(1, &request, stream), MPI_ERR_OTHER, NULL, "the start");
    job_barrier();
    cuda.cuStreamSynchronize(stream);
    if (job.rank != which)
        fails(gpubind_wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER, "failed there", "wait");
    succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "a second wait");
    fails(gpubind_startall_on_stream(1, &request, stream), MPI_ERR_OTHER, NULL, "the next start");
    free_it(&request);
    cuda.cuStreamDestroy_v2(stream);
    job_result();
}

/* As meet(), in the library: what the others have told is heard. */
static void hear(void)
{
    MPI_Request all;
    int there = 0;

    MPI_Ibarrier(job.plain, &all);
    for (int i = 0; i < 30 || !there; i++) {
        succeeds(gpubind_progress(), "progress");
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        if (!there)
            MPI_Test(&all, &there, MPI_STATUS_IGNORE);
    }
    job_barrier();
}

/* The start of the one that is left is a message, which a plain call answers. */
static void go_on_alone(int who, gpubind_request *request)
{
    fill(0, 3);
    if (job.rank != who)
        succeeds(gpubind_start(request), "start");
    else if (job.rank == 0)
        succeeds(MPI_GPUSend(buffers[0].at, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD), "send");
    else
        succeeds(
            MPI_GPURecv(buffers[0].at, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            "receive");
    if (job.rank != who) {
        succeeds(gpubind_wait(request, MPI_STATUS_IGNORE), "wait for a message");
        free_it(request);
    }
    if (job.rank == 1)
        received(&buffers[0], BYTES, 3, "received without a channel");
}

/* An active start on the channel that the other side never answers. */
static void freed_unanswered(int who)
{
    gpubind_request request;

    job_test("rank %d frees its side while the other's start waits on the channel", who);
    set_up(0, &request);
    connect(&request);
    fill(0, 2);
    if (job.rank != who)
        succeeds(gpubind_start(&request), "start");
    hear();
    if (job.rank == who)
        free_it(&request);
    hear();
    if (job.rank != who)
        fails(gpubind_wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER, "freed", "wait");
    go_on_alone(who, &request);
    job_result();
}

static void freed_answered(void)
{
    gpubind_request request;

    job_test("a message that was sent before the sender was freed arrives");
    set_up(0, &request);
    if (nargs > 1)
        connect(&request);
    fill(0, 2);
    succeeds(gpubind_start(&request), "start");
    if (job.rank == 0) {
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
        free_it(&request);
    }
    hear();
    if (job.rank == 1) {
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
        received(&buffers[0], BYTES, 2, "received");
    }
    go_on_alone(0, &request);
    job_result();
}

static void freed_too_long(void)
{
    gpubind_request request;

    job_test("the receiver of what is too long is freed");
    if (job.rank == 0)
        succeeds(gpubind_send_init(buffers[0].at, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request),
                 "send_init");
    else
        succeeds(gpubind_recv_init(buffers[0].at, 10, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request),
                 "recv_init");
    succeeds(gpubind_start(&request), "start");
    if (job.rank == 0)
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    else
        fails(gpubind_wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, "fit", "wait");
    if (job.rank == 1)
        free_it(&request);
    hear();
    go_on_alone(1, &request);
    job_result();
}

void test_persistent_over(void)
{
    for (int tag = 0; tag < 2; tag++)
        need_buffer(&buffers[tag], MEMORY_DEVICE, BYTES);
    if (nargs && strcmp(arguments[0], "fails") == 0)
        fails_here();
    if (nargs && strcmp(arguments[0], "again") == 0)
        again();
    if (nargs > 1 && strcmp(arguments[0], "streams") == 0)
        streams(atoi(arguments[1]));
    if (nargs && strcmp(arguments[0], "freed") == 0) {
        if (nargs > 1) {
            freed_unanswered(0);
            freed_unanswered(1);
        }
        freed_answered();
        freed_too_long();
    }
    for (int tag = 0; tag < 2; tag++)
        buffer_clear(&buffers[tag]);
}
