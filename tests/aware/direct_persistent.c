/* Persistent sends of GPU memory: what a start makes of them, and what may come between starts. */
#include "tests/aware/direct.h"

#include <stdlib.h>

enum { BYTES = 100000, ROUNDS = 5, NEXT_TAG = TAG + 1 };

static int next, last;

static int (*const inits[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                            MPI_Request *) = {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init};
enum { INITS = sizeof inits / sizeof *inits };

struct pair {
    struct buffer out, in;
    MPI_Request requests[2]; /* the receive, the send */
};

static void pair_make(struct pair *pair, int init, int tag, MPI_Comm comm)
{
    need_buffer(&pair->out, MEMORY_DEVICE, BYTES);
    need_buffer(&pair->in, draw_memory(), BYTES);
    MPI_Recv_init(pair->in.at, BYTES, MPI_BYTE, last, tag, comm, &pair->requests[0]);
    inits[init](pair->out.at, BYTES, MPI_BYTE, next, tag, comm, &pair->requests[1]);
}

static void pair_fill(struct pair *pair, uint64_t seed)
{
    buffer_reset(&pair->in);
    buffer_fill(&pair->out, 0, BYTES, seed + (uint64_t)job.rank);
}

static void pair_clear(struct pair *pair)
{
    MPI_Request_free(&pair->requests[0]);
    if (pair->requests[1] != MPI_REQUEST_NULL)
        MPI_Request_free(&pair->requests[1]);
    buffer_clear(&pair->in);
    buffer_clear(&pair->out);
}

/* Receives are posted everywhere before a ready send. */
static void start_pair(struct pair *pair)
{
    MPI_Start(&pair->requests[0]);
    MPI_Barrier(job.plain);
    MPI_Start(&pair->requests[1]);
}

static bool has_come(const struct pair *pair, uint64_t seed)
{
    return received(&pair->in, BYTES, seed + (uint64_t)last, "the message");
}

static void test_starts(int init)
{
    static const char *const names[INITS] = {"MPI_Send_init", "MPI_Ssend_init", "MPI_Rsend_init"};
    struct pair pair;

    job_test("%s, started and completed again and again", names[init]);
    pair_make(&pair, init, TAG, messages);
    for (int round = 0; round < 2 * COMPLETIONS; round++) {
        const MPI_Request before = pair.requests[1];
        const uint64_t seed = draw_seed();
        MPI_Status statuses[2];

        job_at("%s", completion_name(round / 2));
        pair_fill(&pair, seed);
        start_pair(&pair);
        complete(round / 2, 2, pair.requests, statuses);
        is_int(pair.requests[1] == before, 1, "the handle of the send");
        has_come(&pair, seed);
    }
    pair_clear(&pair);
    job_result();
}

/* Nothing but MPI_Request_get_status is called until it says so. */
static void test_status(void)
{
    struct pair pair;

    job_test("MPI_Request_get_status of a persistent send");
    pair_make(&pair, 0, TAG, messages);
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t seed = draw_seed();
        int done[2] = {0, 0};

        pair_fill(&pair, seed);
        start_pair(&pair);
        while (!done[0] || !done[1])
            for (int i = 0; i < 2; i++)
                MPI_Request_get_status(pair.requests[i], &done[i], MPI_STATUS_IGNORE);
        has_come(&pair, seed);
        MPI_Waitall(2, pair.requests, MPI_STATUSES_IGNORE);
    }
    pair_clear(&pair);
    job_result();
}

static void test_cancelled(void)
{
    struct pair pair;

    job_test("a persistent send that is cancelled when it has been received");
    pair_make(&pair, 0, TAG, messages);
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t seed = draw_seed();
        MPI_Status status;
        int cancelled = 1;

        pair_fill(&pair, seed);
        start_pair(&pair);
        MPI_Wait(&pair.requests[0], MPI_STATUS_IGNORE);
        MPI_Barrier(job.plain);
        MPI_Cancel(&pair.requests[1]);
        MPI_Wait(&pair.requests[1], &status);
        MPI_Test_cancelled(&status, &cancelled);
        is_int(cancelled, 0, "whether it was cancelled");
        has_come(&pair, seed);
    }
    pair_clear(&pair);
    job_result();
}

static void test_freed(void)
{
    job_test("a persistent send that is freed when it has been started");
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t seed = draw_seed();
        struct pair pair;

        pair_make(&pair, round % INITS, TAG, messages);
        pair_fill(&pair, seed);
        start_pair(&pair);
        MPI_Request_free(&pair.requests[1]);
        is_int(pair.requests[1] == MPI_REQUEST_NULL, 1, "the handle of a freed request");
        MPI_Wait(&pair.requests[0], MPI_STATUS_IGNORE);
        has_come(&pair, seed);
        MPI_Barrier(job.plain); /* the next one has the data, too */
        pair_clear(&pair);
    }
    job_result();
}

/* Messages of one tag come in the order of the list, which are not all of GPU memory. */
static void test_list(void)
{
    enum { N = 6 };
    static const int sizes[N] = {BYTES, 16, BYTES, BYTES, 8000, BYTES};
    struct buffer out[N], in[N];
    MPI_Request requests[2 * N];

    job_test("MPI_Startall of sends that go different ways, of one tag");
    for (int i = 0; i < N; i++) {
        need_buffer(&out[i], i == 3 ? MEMORY_HOST : MEMORY_DEVICE, BYTES);
        need_buffer(&in[i], draw_memory(), BYTES);
        MPI_Recv_init(in[i].at, BYTES, MPI_BYTE, last, TAG, messages, &requests[i]);
        MPI_Send_init(out[i].at, sizes[i], MPI_BYTE, next, TAG, messages, &requests[N + i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t seed = draw_seed();

        for (int i = 0; i < N; i++) {
            buffer_reset(&in[i]);
            buffer_fill(&out[i], 0, (size_t)sizes[i], seed + (uint64_t)(job.rank + 100 * i));
        }
        MPI_Startall(2 * N, requests);
        MPI_Waitall(2 * N, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < N; i++)
            received(&in[i], (size_t)sizes[i], seed + (uint64_t)(last + 100 * i), "a message");
    }
    for (int i = 0; i < N; i++) {
        MPI_Request_free(&requests[i]);
        MPI_Request_free(&requests[N + i]);
        buffer_clear(&in[i]);
        buffer_clear(&out[i]);
    }
    job_result();
}

static void test_comm(void)
{
    const uint64_t seed = draw_seed();
    struct pair pair;
    MPI_Comm comm;

    job_test("a persistent send of a communicator that is freed before the start");
    MPI_Comm_dup(messages, &comm);
    pair_make(&pair, 0, TAG, comm);
    MPI_Comm_free(&comm);
    pair_fill(&pair, seed);
    start_pair(&pair);
    MPI_Waitall(2, pair.requests, MPI_STATUSES_IGNORE);
    has_come(&pair, seed);
    pair_clear(&pair);
    job_result();
}

/* A wrong program, which is told so; the message comes once. */
static void test_started_again(void)
{
    const uint64_t seed = draw_seed();
    struct pair pair;
    MPI_Comm comm;

    job_test("a persistent send that is started while it is active");
    MPI_Comm_dup(messages, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    pair_make(&pair, 0, TAG, comm);
    pair_fill(&pair, seed);
    start_pair(&pair);
    expect(class_of(MPI_Start(&pair.requests[1])) == MPI_ERR_REQUEST, "MPI_Start");
    expect(class_of(MPI_Startall(1, &pair.requests[1])) == MPI_ERR_REQUEST, "MPI_Startall");
    MPI_Waitall(2, pair.requests, MPI_STATUSES_IGNORE);
    has_come(&pair, seed);
    pair_clear(&pair);
    MPI_Comm_free(&comm);
    job_result();
}

/* More than there are descriptors for, of two tags, received in the opposite order. */
static void test_many(void)
{
    enum { N = 80, FEW = 9000 };
    struct buffer out, in;
    MPI_Request requests[2 * N];
    const uint64_t seed = draw_seed();

    job_test("%d persistent sends at a time", N);
    need_filled(&out, MEMORY_DEVICE, FEW * N, seed + (uint64_t)job.rank);
    need_buffer(&in, MEMORY_DEVICE, FEW * N);
    for (int i = 0; i < N; i++) {
        MPI_Recv_init((char *)in.at + i * FEW, FEW, MPI_BYTE, last, NEXT_TAG + i, messages,
                      &requests[2 * N - 1 - i]);
        MPI_Send_init((char *)out.at + i * FEW, FEW, MPI_BYTE, next, NEXT_TAG + i, messages,
                      &requests[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        buffer_reset(&in);
        MPI_Startall(2 * N, requests);
        MPI_Waitall(2 * N, requests, MPI_STATUSES_IGNORE);
        received(&in, FEW * N, seed + (uint64_t)last, "all of them");
        MPI_Barrier(
            job.plain); /* none is under way, so that those of a round alone fill the slots */
    }
    for (int i = 0; i < 2 * N; i++)
        MPI_Request_free(&requests[i]);
    buffer_clear(&in);
    buffer_clear(&out);
    job_result();
}

void test_persistent(void)
{
    next = (job.rank + 1) % job.size;
    last = (job.rank + job.size - 1) % job.size;
    for (int init = 0; init < INITS; init++)
        test_starts(init);
    test_status();
    test_cancelled();
    test_freed();
    test_list();
    test_comm();
    test_started_again();
    test_many();
}
