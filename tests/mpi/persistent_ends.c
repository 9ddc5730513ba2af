/* Persistent requests: what is refused, many of them, and how they end. */
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 1000

static int next_rank, previous_rank;
static struct buffer out, in;

static void init_both(gpubind_request *requests, int tag, MPI_Comm comm)
{
    succeeds(gpubind_recv_init(in.at, BYTES, MPI_BYTE, previous_rank, tag, comm, &requests[0]),
             "recv_init");
    succeeds(gpubind_send_init(out.at, BYTES, MPI_BYTE, next_rank, tag, comm, &requests[1]),
             "send_init");
}

static void free_both(gpubind_request *requests)
{
    for (int i = 0; i < 2; i++)
        succeeds(gpubind_request_free(&requests[i]), "request_free");
}

static void begin(void)
{
    next_rank = (job.rank + 1) % job.size;
    previous_rank = (job.rank + job.size - 1) % job.size;
    need_filled(&out, MEMORY_DEVICE, BYTES, (uint64_t)job.rank);
    need_buffer(&in, MEMORY_DEVICE, BYTES);
    buffer_reset(&in);
}

/* A barrier in the library: what others ask is done meanwhile. At least so many ms. */
static void meet_in_library(int ms)
{
    MPI_Request all;
    int there = 0;

    MPI_Ibarrier(job.plain, &all);
    for (int i = 0; i < ms || !there; i++) {
        succeeds(gpubind_progress(), "progress");
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        if (!there)
            MPI_Test(&all, &there, MPI_STATUS_IGNORE);
    }
}

static void refused_arguments(void)
{
    gpubind_request request;

    job_test("arguments that are refused by name");
    fails(gpubind_send_init(out.at, 1, MPI_BYTE, job.size, 1, MPI_COMM_WORLD, &request),
          MPI_ERR_RANK, NULL, "a rank too many");
    expect(!request, "a refused call made a request");
    fails(gpubind_send_init(out.at, -1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request), MPI_ERR_COUNT,
          "-1", "a negative count");
    fails(gpubind_send_init(out.at, 1, MPI_BYTE, 0, -5, MPI_COMM_WORLD, &request), MPI_ERR_TAG,
          "-5", "a negative tag");
    fails(gpubind_send_init(NULL, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER,
          "NULL", "no buffer");
    fails(gpubind_send_init(out.at, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_WORLD, &request),
          MPI_ERR_TYPE, NULL, "no type");
    fails(gpubind_send_init(out.at, 1, MPI_BYTE, 0, 1, MPI_COMM_NULL, &request), MPI_ERR_COMM, NULL,
          "no communicator");
    fails(gpubind_startall(-1, NULL), MPI_ERR_COUNT, "-1", "fewer than no requests");
    succeeds(gpubind_startall(0, NULL), "startall of none");
    job_result();
}

static void refused_requests(void)
{
    gpubind_request requests[2], other, none = GPUBIND_REQUEST_NULL, twice[2];

    job_test("requests that are refused: null, active, not persistent, twice in a list");
    init_both(requests, 1, MPI_COMM_WORLD);
    fails(gpubind_start(&none), MPI_ERR_REQUEST, "GPUBIND_REQUEST_NULL", "start of none");
    fails(gpubind_request_free(&none), MPI_ERR_REQUEST, "GPUBIND_REQUEST_NULL", "free of none");
    succeeds(gpubind_irecv(in.at, BYTES, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &other),
             "irecv");
    fails(gpubind_start(&other), MPI_ERR_REQUEST, "gpubind_send_init", "start of another");
    succeeds(gpubind_wait(&other, MPI_STATUS_IGNORE), "wait");
    twice[0] = twice[1] = requests[1];
    fails(gpubind_startall(2, twice), MPI_ERR_REQUEST, "active", "the same twice");
    succeeds(gpubind_start(&requests[0]), "start");
    fails(gpubind_start(&requests[0]), MPI_ERR_REQUEST, "active", "start of an active one");
    fails(gpubind_startall(2, (gpubind_request[]){requests[1], requests[0]}), MPI_ERR_REQUEST,
          "active", "startall with an active one");
    job_barrier(); /* the send was not started by the failed startall */
    succeeds(gpubind_start(&requests[1]), "start");
    succeeds(gpubind_request_free(&requests[0]), "free of an active receive");
    succeeds(gpubind_request_free(&requests[1]), "free of an active send");
    for (int all = 0; !all;) {
        all = buffer_holds(&in, 0, BYTES, (uint64_t)previous_rank, NULL);
        MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, job.plain);
        meet_in_library(1);
    }
    received(&in, BYTES, (uint64_t)previous_rank, "received before it was freed");
    job_result();
}

static void for_nobody(void)
{
    gpubind_request requests[2];
    MPI_Status statuses[2];

    job_test("MPI_PROC_NULL: complete at once, each time");
    succeeds(
        gpubind_recv_init(in.at, BYTES, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]),
        "recv_init");
    succeeds(
        gpubind_send_init(out.at, BYTES, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]),
        "send_init");
    for (int i = 0; i < 3; i++) {
        succeeds(gpubind_startall(2, requests), "startall");
        succeeds(gpubind_waitall(2, requests, statuses), "waitall");
        status_is(&statuses[0], MPI_PROC_NULL, MPI_ANY_TAG, 0, "a receive from nobody");
    }
    free_both(requests);
    job_result();
}

static void kept_memory(void)
{
    gpubind_request requests[2];
    struct buffer ours;

    job_test("memory that is set up is not released nor freed before its request");
    if (gpu_count == 0) {
        job_skip("no GPU");
        return;
    }
    need_buffer(&ours, MEMORY_OURS, BYTES);
    succeeds(
        gpubind_send_init(ours.at, BYTES, MPI_BYTE, next_rank, 2, MPI_COMM_WORLD, &requests[1]),
        "send_init");
    succeeds(
        gpubind_recv_init(in.at, BYTES, MPI_BYTE, previous_rank, 2, MPI_COMM_WORLD, &requests[0]),
        "recv_init");
    fails(gpubind_release(ours.at + 5), MPI_ERR_BUFFER, "persistent", "release");
    fails(gpubind_free(ours.at), MPI_ERR_BUFFER, "persistent", "free");
    succeeds(gpubind_startall(2, requests), "startall");
    succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    free_both(requests);
    succeeds(gpubind_release(in.at), "release afterwards");
    meet_in_library(0);
    buffer_clear(&ours);
    job_result();
}

static void comm_goes_first(void)
{
    gpubind_request requests[2];
    MPI_Comm comm;

    job_test("the communicator is freed before the requests");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    init_both(requests, 3, comm);
    MPI_Comm_free(&comm);
    for (int i = 0; i < 3; i++) {
        buffer_reset(&in);
        succeeds(gpubind_startall(2, requests), "startall");
        succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
        received(&in, BYTES, (uint64_t)previous_rank, "received");
    }
    free_both(requests);
    job_result();
}

static void one_side_is_freed(void)
{
    gpubind_request requests[2];

    job_test("a start after the other side was freed: a message that any receive takes");
    init_both(requests, 4, MPI_COMM_WORLD);
    succeeds(gpubind_startall(2, requests), "startall");
    succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    succeeds(gpubind_request_free(&requests[0]), "request_free");
    job_barrier();
    buffer_reset(&in);
    succeeds(gpubind_start(&requests[1]), "start");
    succeeds(
        MPI_GPURecv(in.at, BYTES, MPI_BYTE, previous_rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        "receive");
    received(&in, BYTES, (uint64_t)previous_rank, "received");
    succeeds(gpubind_wait(&requests[1], MPI_STATUS_IGNORE), "wait");
    succeeds(gpubind_request_free(&requests[1]), "request_free");
    job_result();
}

static void many(int npairs)
{
    gpubind_request *requests = calloc(2 * (size_t)npairs, sizeof(gpubind_request));
    struct buffer outs, ins;

    job_test("%d pairs, started together and one by one", npairs);
    need_filled(&outs, MEMORY_DEVICE, (size_t)npairs * 64, (uint64_t)job.rank);
    need_buffer(&ins, MEMORY_DEVICE, (size_t)npairs * 64);
    for (int i = 0; i < npairs; i++) {
        succeeds(gpubind_send_init(outs.at + 64 * i, 64, MPI_BYTE, next_rank, i, MPI_COMM_WORLD,
                                   &requests[2 * i]),
                 "send_init");
        succeeds(gpubind_recv_init(ins.at + 64 * i, 64, MPI_BYTE, previous_rank, i, MPI_COMM_WORLD,
                                   &requests[2 * i + 1]),
                 "recv_init");
    }
    for (int round = 0; round < 3; round++) {
        buffer_reset(&ins);
        if (round < 2)
            succeeds(gpubind_startall(2 * npairs, requests), "startall");
        for (int i = 2 * npairs - 1; i >= 0 && round == 2; i--)
            succeeds(gpubind_start(&requests[i]), "start");
        succeeds(gpubind_waitall(2 * npairs, requests, MPI_STATUSES_IGNORE), "waitall");
        received(&ins, (size_t)npairs * 64, (uint64_t)previous_rank, "received");
    }
    for (int i = 0; i < 2 * npairs; i++)
        succeeds(gpubind_request_free(&requests[i]), "request_free");
    buffer_clear(&outs);
    buffer_clear(&ins);
    free(requests);
    job_result();
}

/* Bytes that the process has of malloc. */
static size_t heap(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* MPI may grow a list of its own once, so two of three parts must not both take more. */
static void flat(int nstarts)
{
    gpubind_request requests[2];
    size_t after[3] = {0};

    job_test("%d starts take no memory", nstarts);
    init_both(requests, 5, MPI_COMM_WORLD);
    for (int part = 0; part < 3; part++) {
        for (int i = 0; i < nstarts / 3; i++) {
            succeeds(gpubind_startall(2, requests), "startall");
            succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
        }
        after[part] = heap();
    }
    expect(after[1] < after[0] + 16384 || after[2] < after[1] + 16384,
           "%zu bytes became %zu and %zu", after[0], after[1], after[2]);
    free_both(requests);
    job_result();
}

void test_persistent_ends(void)
{
    begin();
    refused_arguments();
    refused_requests();
    for_nobody();
    kept_memory();
    comm_goes_first();
    one_side_is_freed();
    many(nargs ? atoi(arguments[0]) : 100);
    flat(nargs > 1 ? atoi(arguments[1]) : 300);
    buffer_clear(&out);
    buffer_clear(&in);
}

/* `ranks persistent_left`: the library ends while requests are there. */
void test_persistent_left(void)
{
    gpubind_request requests[2], active, alone;

    begin();
    job_test("gpubind_finalize with requests that are set up, active or alone");
    init_both(requests, 1, MPI_COMM_WORLD);
    succeeds(gpubind_startall(2, requests), "startall");
    succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    succeeds(gpubind_start(&requests[0]), "a start that nobody answers");
    succeeds(gpubind_send_init(out.at, 1, MPI_BYTE, next_rank, 7, MPI_COMM_WORLD, &alone),
             "send_init");
    succeeds(gpubind_recv_init(in.at, 1, MPI_BYTE, previous_rank, 8, MPI_COMM_WORLD, &active),
             "recv_init");
    succeeds(gpubind_start(&active), "start");
    succeeds(gpubind_finalize(), "finalize");
    fails(gpubind_wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_OTHER, "ended", "wait");
    fails(gpubind_wait(&active, MPI_STATUS_IGNORE), MPI_ERR_OTHER, "ended", "wait");
    fails(gpubind_start(&requests[1]), MPI_ERR_OTHER, "ended", "start");
    free_both(requests);
    succeeds(gpubind_request_free(&alone), "request_free");
    succeeds(gpubind_request_free(&active), "request_free");
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

/* `ranks persistent_die`: the last rank dies; whoever waits for it does not hang. */
void test_persistent_die(void)
{
    gpubind_request requests[2];

    begin();
    init_both(requests, 1, MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++) {
        succeeds(gpubind_startall(2, requests), "startall");
        succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    }
    job_barrier();
    if (job.rank == job.size - 1)
        raise(SIGKILL);
    for (;;) { /* until the job ends, or an error comes */
        if (gpubind_startall(2, requests) != MPI_SUCCESS ||
            gpubind_waitall(2, requests, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
}
