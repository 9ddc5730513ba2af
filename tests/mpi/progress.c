/* Messages move while a rank is in MPI: rank 0 begins a message, goes into a call of MPI
 * that ends only when rank 1 has come to the end of its side of the message, and ends the
 * message after that. For two ranks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/mpi_calls.h"
#include "tests/mpi/tests.h"

#define LARGEST 1200000

enum kind { PLAIN, STRIDED, PERSISTENT, ON_STREAM, KINDS };

/* One side of the messages of a thread. */
struct side {
    MPI_Comm comm;
    struct buffer host, device;
    struct CUstream_st *stream;
    uint64_t seed;
    int rank;
};

static const struct size {
    enum memory memory;
    size_t nbytes;
} sizes[] = {{MEMORY_HOST, 1000},   {MEMORY_HOST, 20000},   {MEMORY_HOST, LARGEST},
             {MEMORY_DEVICE, 1000}, {MEMORY_DEVICE, 20000}, {MEMORY_DEVICE, LARGEST}};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))
#define LARGE_HOST 2
#define LARGE_DEVICE 5

/* The strided type: four bytes of each eight. */
#define BLOCK 4
static MPI_Datatype strided;

static size_t extent(enum kind kind, size_t nbytes)
{
    return kind == STRIDED ? 2 * nbytes : nbytes;
}

static struct buffer *buffer_of(struct side *side, const struct size *size)
{
    return size->memory == MEMORY_HOST ? &side->host : &side->device;
}

/* Even blocks hold the bytes of seed, in order. */
static void fill(const struct buffer *buffer, enum kind kind, size_t nbytes, uint64_t seed)
{
    char *bytes = malloc(nbytes), *all = calloc(1, 2 * nbytes);

    bytes_of_seed(bytes, nbytes, seed);
    for (size_t at = 0; at < nbytes; at += BLOCK)
        memcpy(all + (kind == STRIDED ? 2 : 1) * at, bytes + at, BLOCK);
    gpu_put(buffer->at, all, extent(kind, nbytes));
    free(all);
    free(bytes);
}

static void check(const struct buffer *buffer, enum kind kind, size_t nbytes, uint64_t seed,
                  const char *what)
{
    char *bytes = malloc(nbytes), *all = malloc(2 * nbytes);
    size_t wrong = 0;

    bytes_of_seed(bytes, nbytes, seed);
    gpu_get(all, buffer->at, extent(kind, nbytes));
    for (size_t at = 0; at < nbytes; at += BLOCK)
        wrong += memcmp(all + (kind == STRIDED ? 2 : 1) * at, bytes + at, BLOCK) != 0;
    expect(wrong == 0, "%s: %zu blocks of %zu bytes are wrong", what, wrong, nbytes);
    free(all);
    free(bytes);
}

static void begin(struct side *side, enum kind kind, const struct size *size, bool sends,
                  gpubind_request *request)
{
    char *at = buffer_of(side, size)->at;
    const MPI_Datatype type = kind == STRIDED ? strided : MPI_BYTE;
    const int n = (int)size->nbytes / (kind == STRIDED ? BLOCK : 1), other = !side->rank;
    int status;

    *request = GPUBIND_REQUEST_NULL;
    if (kind == ON_STREAM)
        status = sends ? gpubind_send_on_stream(at, n, type, other, 3, side->comm, side->stream)
                       : gpubind_recv_on_stream(at, n, type, other, 3, side->comm, side->stream);
    else if (kind == PERSISTENT)
        status = sends ? gpubind_send_init(at, n, type, other, 3, side->comm, request)
                       : gpubind_recv_init(at, n, type, other, 3, side->comm, request);
    else
        status = sends ? gpubind_isend(at, n, type, other, 3, side->comm, request)
                       : gpubind_irecv(at, n, type, other, 3, side->comm, request);
    succeeds(status, "begin");
    if (kind == PERSISTENT)
        succeeds(gpubind_start(request), "start");
}

static void finish(struct side *side, enum kind kind, gpubind_request *request)
{
    if (kind == ON_STREAM)
        cuda.cuStreamSynchronize(side->stream);
    else
        succeeds(gpubind_wait(request, MPI_STATUS_IGNORE), "wait");
    if (kind == PERSISTENT)
        succeeds(gpubind_request_free(request), "request_free");
}

static void message(struct side *side, enum kind kind, const struct size *size, bool sends,
                    const struct mpi_call *call)
{
    const bool mine = sends == (side->rank == 0);
    const struct buffer *buffer = buffer_of(side, size);
    gpubind_request request;

    if (mine)
        fill(buffer, kind, size->nbytes, side->seed);
    else
        buffer_reset(buffer);
    MPI_Barrier(side->comm);
    begin(side, kind, size, mine, &request);
    if (side->rank == 1)
        finish(side, kind, &request);
    call->run(side->comm, side->rank);
    if (side->rank == 0)
        finish(side, kind, &request);
    if (!mine)
        check(buffer, kind, size->nbytes, side->seed, call->name);
    side->seed++;
}

static bool is_possible(enum kind kind)
{
    const char *path = getenv("GPUBIND_PATH");

    if (kind != ON_STREAM)
        return true;
    return gpu_count > 0 &&
           (job.threads == MPI_THREAD_MULTIPLE || !path || strcmp(path, "network") != 0);
}

static void all_of(struct side *side, const struct mpi_call *call, bool every)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < SIZES && is_possible((enum kind)kind); i++) {
            if (!every && (kind == PERSISTENT || (i != LARGE_HOST && i != LARGE_DEVICE)))
                continue;
            message(side, (enum kind)kind, &sizes[i], true, call);
            message(side, (enum kind)kind, &sizes[i], false, call);
        }
}

static void side_make(struct side *side)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &side->comm);
    MPI_Comm_rank(side->comm, &side->rank);
    side->seed = 1;
    need_buffer(&side->host, MEMORY_HOST, 2 * LARGEST);
    need_buffer(&side->device, MEMORY_DEVICE, 2 * LARGEST);
    side->stream = NULL;
    if (gpu_count > 0)
        cuda.cuStreamCreate(&side->stream, 1);
}

static void side_clear(struct side *side)
{
    if (side->stream)
        cuda.cuStreamDestroy_v2(side->stream);
    buffer_clear(&side->host);
    buffer_clear(&side->device);
    MPI_Comm_free(&side->comm);
}

/* What this thread has mapped of the other's, it closes while it is in MPI and has no
 * message under way. */
static void releases(struct side *side)
{
    job_test("a rank in MPI closes what it has mapped");
    message(side, PLAIN, &sizes[LARGE_DEVICE], false, &mpi_calls[0]);
    message(side, PLAIN, &sizes[LARGE_DEVICE], true, &mpi_calls[0]);
    if (side->rank == 1)
        succeeds(gpubind_release(side->device.at), "release");
    MPI_Barrier(side->comm);
    job_result();
}

static void *beside(void *argument)
{
    gpu_use(job.local % (gpu_count > 0 ? gpu_count : 1));
    for (int i = 0; i < mpi_ncalls; i++)
        if (!mpi_calls[i].alone)
            all_of(argument, &mpi_calls[i], false);
    return NULL;
}

static void two_threads(struct side *side)
{
    struct side second;
    pthread_t thread;

    job_test("two threads, each in calls of MPI");
    if (job.threads < MPI_THREAD_MULTIPLE) {
        job_skip("no MPI_THREAD_MULTIPLE");
        return;
    }
    side_make(&second);
    pthread_create(&thread, NULL, beside, &second);
    for (int i = 0; i < mpi_ncalls; i++)
        if (!mpi_calls[i].alone)
            all_of(side, &mpi_calls[i], false);
    pthread_join(thread, NULL);
    side_clear(&second);
    job_result();
}

void test_progress(void)
{
    struct side side;

    MPI_Type_create_resized(MPI_UINT32_T, 0, 2 * BLOCK, &strided);
    MPI_Type_commit(&strided);
    side_make(&side);
    for (int i = 0; i < mpi_ncalls; i++) {
        const char *only = nargs > 0 ? arguments[0] : mpi_calls[i].name;

        if (strcmp(only, mpi_calls[i].name) != 0)
            continue;
        job_test("rank 0 is in %s", mpi_calls[i].name);
        if (mpi_calls[i].window && !mpi_makes_windows(MPI_COMM_WORLD)) {
            job_skip("MPI makes no windows here");
            continue;
        }
        all_of(&side, &mpi_calls[i], i == 0);
        job_result();
    }
    mpi_calls_end();
    releases(&side);
    two_threads(&side);
    side_clear(&side);
    MPI_Type_free(&strided);
}
