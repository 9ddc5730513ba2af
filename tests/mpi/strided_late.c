/* Nonblocking sends of strided data behind GPU work that is late. For two ranks and more;
 * rank 0 sends to rank 1. */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define ROWS 20000
#define STRIDE 24 /* bytes, of which 8 are sent */
#define AREA ((size_t)ROWS * STRIDE)
#define EACH 3
#define SMALL 1000

static struct buffer rows, source, small_out, small_in;
static atomic_int released, waited_in_vain;

/* Earlier work in the legacy stream, which ends when the messages have been looked at. */
static void wait_for_release(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5000 && !released; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    waited_in_vain |= !released;
}

static bool is_held(void)
{
    return cuda.cuStreamQuery(CUDA_LEGACY_STREAM) == CUDA_NOT_READY;
}

/* The stream then writes what is sent. */
static void hold(uint64_t seed)
{
    released = 0;
    buffer_reset(&rows);
    buffer_fill(&source, 0, AREA, seed);
    cuda.cuLaunchHostFunc(CUDA_LEGACY_STREAM, wait_for_release, NULL);
    cuda.cuMemcpyDtoDAsync_v2((cuda_address)(uintptr_t)rows.at, (cuda_address)(uintptr_t)source.at,
                              AREA, CUDA_LEGACY_STREAM);
}

static MPI_Datatype column(int n, bool irregular)
{
    MPI_Aint *places = malloc((size_t)n * sizeof *places);
    MPI_Datatype type;

    for (int row = 0; row < n; row++) /* irregular: the first two in the other order */
        places[row] = (MPI_Aint)(irregular && row < 2 ? 1 - row : row) * STRIDE;
    MPI_Type_create_hindexed_block(n, 8, places, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    free(places);
    return type;
}

/* Rank 1's rows are what rank 0's stream wrote, and the rest is as it was. */
static void compare_rows(int n, uint64_t seed)
{
    char *there = malloc(2 * AREA), *here = there + AREA;

    bytes_of_seed(there, AREA, seed);
    gpu_get(here, rows.at, AREA);
    for (size_t at = 0; at < AREA; at++) {
        const bool sent = at / STRIDE < (size_t)n && at % STRIDE < 8;

        if (!expect(here[at] == (sent ? there[at] : here[AREA - 1]), "byte %zu of row %zu",
                    at % STRIDE, at / STRIDE))
            break;
    }
    free(there);
}

/* What is made once is made; a contiguous message each way. */
static void warm_up(MPI_Datatype type)
{
    gpubind_request requests[EACH];

    for (int i = 0; i < EACH && job.rank == 0; i++)
        succeeds(gpubind_isend(rows.at, 1, type, 1, 1, MPI_COMM_WORLD, &requests[i]), "isend");
    for (int i = 0; i < EACH && job.rank == 1; i++)
        succeeds(gpubind_irecv(rows.at, 1, type, 0, 1, MPI_COMM_WORLD, &requests[i]), "irecv");
    if (job.rank < 2)
        succeeds(gpubind_waitall(EACH, requests, MPI_STATUSES_IGNORE), "waitall");
    job_barrier();
}

/* One to the other rank and its answer. */
static void pass_contiguous(void)
{
    gpubind_request requests[2];

    succeeds(
        gpubind_irecv(small_in.at, SMALL, MPI_BYTE, !job.rank, 2, MPI_COMM_WORLD, &requests[0]),
        "irecv");
    succeeds(
        gpubind_isend(small_out.at, SMALL, MPI_BYTE, !job.rank, 2, MPI_COMM_WORLD, &requests[1]),
        "isend");
    succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
}

static void send_late(MPI_Datatype type, uint64_t seed)
{
    gpubind_request requests[EACH];
    int flag = 0;

    hold(seed);
    for (int i = 0; i < EACH; i++)
        succeeds(gpubind_isend(rows.at, 1, type, 1, 1, MPI_COMM_WORLD, &requests[i]), "isend");
    expect(is_held(), "isend waited for earlier work");
    succeeds(gpubind_test(&requests[0], &flag, MPI_STATUS_IGNORE), "test");
    expect(!flag, "a request is over before the data were there");
    pass_contiguous();
    expect(is_held(), "a contiguous message waited for what is packed");
    released = 1;
    succeeds(gpubind_waitall(EACH, requests, MPI_STATUSES_IGNORE), "waitall");
    buffer_reset(&rows);
}

static void late(int n, bool irregular)
{
    MPI_Datatype type = column(n, irregular);
    const uint64_t seed = (uint64_t)n + irregular;

    job_test("isend returns while a stream is late: %d rows%s", n, irregular ? ", indexed" : "");
    warm_up(type);
    if (job.rank == 0)
        send_late(type, seed);
    if (job.rank == 1) {
        pass_contiguous();
        for (int i = 0; i < EACH; i++) {
            buffer_reset(&rows);
            succeeds(MPI_GPURecv(rows.at, 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     "receive");
            compare_rows(n, seed);
        }
    }
    expect(!waited_in_vain, "a call waited for work that waits for it");
    MPI_Type_free(&type);
    job_result();
}

/* The receiver has no room: the request is not over before the buffer was read. */
static void refused(int n)
{
    MPI_Datatype type = column(n, true);
    gpubind_request request;

    job_test("%d rows that are refused while a stream is late", n);
    warm_up(type);
    if (job.rank == 0) {
        int flag = 0;

        hold(3);
        succeeds(gpubind_isend(rows.at, 1, type, 1, 1, MPI_COMM_WORLD, &request), "isend");
        pass_contiguous();
        for (int i = 0; i < 200 && !flag; i++) {
            succeeds(gpubind_test(&request, &flag, MPI_STATUS_IGNORE), "test");
            usleep(100);
        }
        expect(!flag, "the request is over, and its buffer not read yet");
        expect(is_held(), "a test waited for earlier work");
        released = 1;
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    }
    if (job.rank == 1) {
        buffer_reset(&rows);
        fails(MPI_GPURecv(rows.at, n * 8 - 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              MPI_ERR_TRUNCATE, NULL, "receive");
        expect(buffer_untouched(&rows, 0), "the buffer was written to");
        pass_contiguous();
    }
    warm_up(type);
    MPI_Type_free(&type);
    job_result();
}

/* A persistent message that is one of the engine at each start. */
static void persistent(void)
{
    MPI_Datatype type = column(ROWS, true);
    gpubind_request request;

    job_test("a start of a persistent send returns while a stream is late");
    if (job.rank == 0)
        succeeds(gpubind_send_init(rows.at, 1, type, 1, 4, MPI_COMM_WORLD, &request), "send_init");
    if (job.rank == 1)
        succeeds(gpubind_recv_init(rows.at, 1, type, 0, 4, MPI_COMM_WORLD, &request), "recv_init");
    for (int i = 0; i < 3 && job.rank < 2; i++) {
        if (i == 2 && job.rank == 0)
            hold(8);
        succeeds(gpubind_start(&request), "start");
        if (i == 2 && job.rank == 0)
            expect(is_held(), "a start waited for earlier work");
        released = 1;
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    }
    if (job.rank == 1)
        compare_rows(ROWS, 8);
    if (job.rank < 2)
        succeeds(gpubind_request_free(&request), "request_free");
    expect(!waited_in_vain, "a call waited for work that waits for it");
    MPI_Type_free(&type);
    job_result();
}

/* `ranks strided_late` */
void test_strided_late(void)
{
    int all_have;

    MPI_Allreduce(&gpu_count, &all_have, 1, MPI_INT, MPI_MIN, job.plain);
    if (!all_have)
        return;
    need_buffer(&rows, MEMORY_DEVICE, AREA);
    need_buffer(&source, MEMORY_DEVICE, AREA);
    need_buffer(&small_out, MEMORY_DEVICE, SMALL);
    need_buffer(&small_in, MEMORY_DEVICE, SMALL);
    for (int irregular = 0; irregular < 2; irregular++) {
        late(500, irregular);
        late(ROWS, irregular);
    }
    refused(500);
    refused(ROWS);
    persistent();
    buffer_clear(&rows);
    buffer_clear(&source);
    buffer_clear(&small_out);
    buffer_clear(&small_in);
}
