/* Random sequences of plain and persistent messages, against MPI's own: the same calls are made
 * of MPI with host memory and of the library, and every receive and probe has to get the
 * same message. Rank 0 sends to rank 1; further ranks look on. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define ROUNDS 40
#define MESSAGES 14 /* of a round */
#define PERSISTENT 5
#define TAGS 3
#define LARGEST 70000

/* A send or a receive of a round; a receive's from and tag may be wildcards. */
struct step {
    int persistent; /* the request's number; -1: a plain call */
    int from, tag, nbytes;
    bool probe; /* before the receive */
};

struct round {
    struct step sends[MESSAGES], receives[MESSAGES];
    int posted; /* so many receives are posted before the first send */
};

/* What a receive got, and the probe before it saw. */
struct got {
    int from, tag, nbytes, id, seen_tag, seen_nbytes;
};

static const struct step senders[PERSISTENT] = {{0, 0, 0, 100, false},
                                                {1, 0, 0, 0, false},
                                                {2, 0, 1, 30000, false},
                                                {3, 0, 2, 16384, false},
                                                {4, 0, 2, LARGEST, false}};
/* clang-format off */
static const struct step receivers[PERSISTENT] = {
    {0, 0, 0, LARGEST, false}, {1, MPI_ANY_SOURCE, 1, LARGEST, false},
    {2, 0, MPI_ANY_TAG, LARGEST, false}, {3, 0, 2, LARGEST, false},
    {4, MPI_ANY_SOURCE, MPI_ANY_TAG, LARGEST, false}};
/* clang-format on */

static int any(uint64_t *state, int most)
{
    return (int)(random_next(state) % (unsigned)(most + 1));
}

/* ---- what is done: the same on all ranks */

static void make_sends(struct round *round, uint64_t *state)
{
    bool used[PERSISTENT] = {false};

    for (int i = 0; i < MESSAGES; i++) {
        const int which = any(state, PERSISTENT - 1);

        round->sends[i] = (struct step){-1, 0, any(state, TAGS - 1), any(state, 300), false};
        if (any(state, 3) == 0)
            round->sends[i].nbytes = any(state, LARGEST);
        if (any(state, 1) && !used[which])
            round->sends[i] = senders[which];
        used[which] |= round->sends[i].persistent == which;
    }
}

static bool is_for(const struct step *receive, const struct step *send)
{
    return receive->tag == MPI_ANY_TAG || receive->tag == send->tag;
}

/* The first of the sends that are left for it. */
static int first_for(const struct round *round, const bool *taken, const struct step *receive)
{
    for (int i = 0; i < MESSAGES; i++)
        if (!taken[i] && is_for(receive, &round->sends[i]))
            return i;
    return -1;
}

/* Each gets some message when they are posted in this order. */
static void make_receives(struct round *round, uint64_t *state)
{
    bool taken[MESSAGES] = {false}, used[PERSISTENT] = {false};

    round->posted = any(state, MESSAGES);
    for (int i = 0; i < MESSAGES; i++) {
        const int which = any(state, PERSISTENT - 1);
        struct step *receive = &round->receives[i];
        int message;

        *receive = receivers[which];
        if (used[which] || any(state, 1) || first_for(round, taken, receive) < 0)
            *receive = (struct step){-1, any(state, 1) ? 0 : MPI_ANY_SOURCE,
                                     any(state, 1) ? MPI_ANY_TAG : any(state, TAGS - 1), LARGEST,
                                     false};
        else
            used[which] = true;
        message = first_for(round, taken, receive);
        if (message < 0) { /* none of the tag is left */
            receive->tag = MPI_ANY_TAG;
            message = first_for(round, taken, receive);
        }
        taken[message] = true;
        receive->probe = i >= round->posted && any(state, 2) == 0;
    }
}

/* ---- by MPI */

static MPI_Request mpi_requests[PERSISTENT];
static int *mpi_buffers[MESSAGES + PERSISTENT];

static int *mpi_buffer(const struct step *step, int i)
{
    return mpi_buffers[step->persistent < 0 ? i : MESSAGES + step->persistent];
}

static void mpi_set_up(void)
{
    for (int i = 0; i < MESSAGES + PERSISTENT; i++)
        mpi_buffers[i] = calloc(1, LARGEST + sizeof(int));
    for (int i = 0; i < PERSISTENT; i++)
        if (job.rank == 0)
            MPI_Send_init(mpi_buffers[MESSAGES + i], senders[i].nbytes + (int)sizeof(int), MPI_BYTE,
                          1, senders[i].tag, job.plain, &mpi_requests[i]);
        else
            MPI_Recv_init(mpi_buffers[MESSAGES + i], LARGEST + (int)sizeof(int), MPI_BYTE,
                          receivers[i].from, receivers[i].tag, job.plain, &mpi_requests[i]);
}

static void mpi_begin(const struct step *step, int i, MPI_Request *request)
{
    int *buffer = mpi_buffer(step, i);

    if (job.rank == 0)
        *buffer = i;
    if (step->persistent >= 0)
        MPI_Start(&mpi_requests[step->persistent]);
    else if (job.rank == 0)
        MPI_Isend(buffer, step->nbytes + (int)sizeof(int), MPI_BYTE, 1, step->tag, job.plain,
                  request);
    else
        MPI_Irecv(buffer, LARGEST + (int)sizeof(int), MPI_BYTE, step->from, step->tag, job.plain,
                  request);
}

static void mpi_probe(const struct step *step, struct got *got)
{
    MPI_Status status;

    MPI_Probe(step->from, step->tag, job.plain, &status);
    MPI_Get_count(&status, MPI_BYTE, &got->seen_nbytes);
    got->seen_nbytes -= (int)sizeof(int);
    got->seen_tag = status.MPI_TAG;
}

static void mpi_end(const struct step *step, int i, MPI_Request *request, struct got *got)
{
    MPI_Status status;

    MPI_Wait(step->persistent < 0 ? request : &mpi_requests[step->persistent], &status);
    if (job.rank == 0)
        return;
    MPI_Get_count(&status, MPI_BYTE, &got->nbytes);
    got->nbytes -= (int)sizeof(int);
    got->from = status.MPI_SOURCE;
    got->tag = status.MPI_TAG;
    got->id = *mpi_buffer(step, i);
}

static void mpi_round(const struct round *round, struct got *got)
{
    const struct step *steps = job.rank == 0 ? round->sends : round->receives;
    const int before = job.rank == 0 ? 0 : round->posted;
    MPI_Request requests[MESSAGES];

    for (int i = 0; i < MESSAGES; i++) {
        if (i == before)
            MPI_Barrier(job.plain);
        if (steps[i].probe)
            mpi_probe(&steps[i], &got[i]);
        mpi_begin(&steps[i], i, &requests[i]);
    }
    if (before == MESSAGES)
        MPI_Barrier(job.plain);
    for (int i = 0; i < MESSAGES; i++)
        mpi_end(&steps[i], i, &requests[i], &got[i]);
}

static void mpi_clear(void)
{
    for (int i = 0; i < PERSISTENT; i++)
        MPI_Request_free(&mpi_requests[i]);
    for (int i = 0; i < MESSAGES + PERSISTENT; i++)
        free(mpi_buffers[i]);
}

/* ---- by the library */

static gpubind_request our_requests[PERSISTENT];
static struct buffer our_buffers[MESSAGES + PERSISTENT];

static struct buffer *our_buffer(const struct step *step, int i)
{
    return &our_buffers[step->persistent < 0 ? i : MESSAGES + step->persistent];
}

static void our_set_up(void)
{
    for (int i = 0; i < MESSAGES + PERSISTENT; i++)
        need_buffer(&our_buffers[i], (i + job.rank) % 3 ? MEMORY_DEVICE : MEMORY_HOST, LARGEST);
    for (int i = 0; i < PERSISTENT; i++) {
        const struct buffer *buffer = &our_buffers[MESSAGES + i];

        if (job.rank == 0)
            succeeds(gpubind_send_init(buffer->at, senders[i].nbytes, MPI_BYTE, 1, senders[i].tag,
                                       MPI_COMM_WORLD, &our_requests[i]),
                     "send_init");
        else
            succeeds(gpubind_recv_init(buffer->at, LARGEST, MPI_BYTE, receivers[i].from,
                                       receivers[i].tag, MPI_COMM_WORLD, &our_requests[i]),
                     "recv_init");
    }
}

static void our_begin(const struct step *step, int i, uint64_t seed, gpubind_request *request)
{
    const struct buffer *buffer = our_buffer(step, i);

    if (job.rank == 0)
        buffer_fill(buffer, 0, (size_t)step->nbytes, seed + (uint64_t)i);
    else
        buffer_reset(buffer);
    if (step->persistent >= 0)
        succeeds(gpubind_start(&our_requests[step->persistent]), "start");
    else if (job.rank == 0)
        succeeds(gpubind_isend(buffer->at, step->nbytes, MPI_BYTE, 1, step->tag, MPI_COMM_WORLD,
                               request),
                 "isend");
    else
        succeeds(gpubind_irecv(buffer->at, LARGEST, MPI_BYTE, step->from, step->tag, MPI_COMM_WORLD,
                               request),
                 "irecv");
}

static void our_probe(const struct step *step, const struct got *wanted)
{
    struct gpubind_message message;

    succeeds(gpubind_probe(step->from, step->tag, MPI_COMM_WORLD, &message), "probe");
    is_int(message.tag, wanted->seen_tag, "the tag that a probe saw");
    is_int(message.nbytes, wanted->seen_nbytes, "the bytes that a probe saw");
}

static void our_end(const struct step *step, int i, uint64_t seed, gpubind_request *request,
                    const struct got *wanted)
{
    MPI_Status status;

    succeeds(
        gpubind_wait(step->persistent < 0 ? request : &our_requests[step->persistent], &status),
        "wait");
    if (job.rank == 0)
        return;
    status_is(&status, wanted->from, wanted->tag, wanted->nbytes, "a receive");
    received(our_buffer(step, i), (size_t)wanted->nbytes, seed + (uint64_t)wanted->id,
             "what MPI's got");
}

static void our_round(const struct round *round, uint64_t seed, const struct got *wanted)
{
    const struct step *steps = job.rank == 0 ? round->sends : round->receives;
    const int before = job.rank == 0 ? 0 : round->posted;
    gpubind_request requests[MESSAGES];

    for (int i = 0; i < MESSAGES; i++) {
        if (i == before)
            job_barrier();
        if (steps[i].probe)
            our_probe(&steps[i], &wanted[i]);
        our_begin(&steps[i], i, seed, &requests[i]);
    }
    if (before == MESSAGES)
        job_barrier();
    for (int i = 0; i < MESSAGES; i++) /* the last first: all are started */
        our_end(&steps[MESSAGES - 1 - i], MESSAGES - 1 - i, seed, &requests[MESSAGES - 1 - i],
                &wanted[MESSAGES - 1 - i]);
}

static void our_clear(void)
{
    for (int i = 0; i < PERSISTENT; i++)
        succeeds(gpubind_request_free(&our_requests[i]), "request_free");
    for (int i = 0; i < MESSAGES + PERSISTENT; i++)
        buffer_clear(&our_buffers[i]);
}

void test_persistent_random(void)
{
    static struct got got[ROUNDS][MESSAGES];
    static struct round rounds[ROUNDS];
    uint64_t state = nargs ? (uint64_t)atoll(arguments[0]) : 1;

    job_test("%d rounds of %d random messages, plain and persistent, as MPI matches them", ROUNDS,
             MESSAGES);
    for (int i = 0; i < ROUNDS; i++) {
        make_sends(&rounds[i], &state);
        make_receives(&rounds[i], &state);
    }
    if (job.rank < 2) {
        mpi_set_up();
        our_set_up();
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (job.rank < 2)
            mpi_round(&rounds[i], got[i]);
        else
            MPI_Barrier(job.plain);
        if (job.rank < 2)
            our_round(&rounds[i], 1000 * (uint64_t)i, got[i]);
        else
            job_barrier();
    }
    if (job.rank < 2) {
        mpi_clear();
        our_clear();
    }
    job_result();
}
