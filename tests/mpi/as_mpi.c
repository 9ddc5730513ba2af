/* The same random calls through MPI, with host memory, and through the library, with memory of
 * any kind: every receive gets the same message, and every status says the same. For two ranks
 * and more, in pairs: each sends to the other what both know from a seed. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

enum { MOST = 12, ROOM = 48000, TAGS = 3 };

/* How a message is sent, */
enum sending { ISEND, ISSEND, ISEND_FREED, SENDINGS };
/* and received. Those that do not wait come in the order in which they are started. */
enum receiving { IRECV, RECV, MPROBE_MRECV, MPROBE_IMRECV, IMPROBE_MRECV, RECEIVINGS };
/* How the rest is ended. */
enum ending {
    WAITALL,
    WAITANY,
    WAITSOME,
    TESTALL,
    TESTANY,
    TESTSOME,
    ONE_BY_ONE,
    LOOKED_AT,
    ENDINGS
};

struct message {
    int tag, count; /* of ints, */
    int spread;     /* so many apart */
    enum sending sending;
};

struct receive {
    int tag; /* or MPI_ANY_TAG */
    int any; /* MPI_ANY_SOURCE */
    int room, spread;
    enum receiving receiving;
};

struct round {
    int n;
    struct message messages[MOST];
    struct receive receives[MOST];
    int cancelled, null; /* a receive that nobody sends to, and a place without a request */
    int posted_first;
    enum ending ending;
};

static int partner;
static MPI_Comm pair, pair_plain; /* this rank and its partner: for the library, for MPI */
static MPI_Datatype spreads[4];   /* an int, with room for so many more behind it */
static char *bytes;               /* a buffer in host memory */
static struct buffer sent[2][MOST], got[2][MOST]; /* by MPI; by the library */

/* The receives are made so that all messages are received, whatever comes when. */
static void make_receives(struct round *round, uint64_t *state)
{
    int taken[MOST] = {0};

    for (int i = 0; i < round->n; i++) {
        struct receive *receive = &round->receives[i];
        int which = (int)(random_next(state) % (unsigned)round->n);

        while (taken[which])
            which = (which + 1) % round->n;
        receive->tag = round->messages[which].tag;
        if (random_next(state) % 3 == 0)
            receive->tag = MPI_ANY_TAG;
        for (which = 0; taken[which] || (receive->tag != MPI_ANY_TAG &&
                                         round->messages[which].tag != receive->tag);)
            which++;
        taken[which] = 1;
        receive->any = random_next(state) % 3 == 0;
        receive->spread = (int)(random_next(state) % 4);
        receive->room = round->messages[which].count + (int)(random_next(state) % 3);
        receive->receiving = (enum receiving)(random_next(state) % RECEIVINGS);
        if (round->posted_first)
            receive->receiving = IRECV;
    }
}

static struct round make_round(uint64_t *state)
{
    static const int counts[] = {0, 1, 3, 500, 2100, 2500};
    struct round round = {.n = 1 + (int)(random_next(state) % MOST)};

    for (int i = 0; i < round.n; i++)
        round.messages[i] = (struct message){
            (int)(random_next(state) % TAGS), counts[random_next(state) % 6],
            (int)(random_next(state) % 4), (enum sending)(random_next(state) % SENDINGS)};
    round.posted_first = random_next(state) % 2;
    make_receives(&round, state);
    round.cancelled = random_next(state) % 2;
    round.null = random_next(state) % 2;
    round.ending = (enum ending)(random_next(state) % ENDINGS);
    return round;
}

static bool has_request(const struct receive *receive)
{
    return receive->receiving == IRECV || receive->receiving == MPROBE_IMRECV;
}

/* ---- one round by MPI */

struct outcome { /* of each receive, then of each send, then of what was cancelled */
    MPI_Status statuses[2 * MOST + 2];
};

enum { REQUESTS = 2 * MOST + 2 };

static void mpi_send(const struct message *message, void *buf, MPI_Request *request)
{
    const MPI_Datatype type = spreads[message->spread];

    if (message->sending == ISSEND)
        MPI_Issend(buf, message->count, type, 1 - partner, message->tag, pair_plain, request);
    else
        MPI_Isend(buf, message->count, type, 1 - partner, message->tag, pair_plain, request);
    if (message->sending == ISEND_FREED)
        MPI_Request_free(request);
}

static void mpi_receive(const struct receive *receive, void *buf, MPI_Request *request,
                        MPI_Status *status)
{
    const int source = receive->any ? MPI_ANY_SOURCE : 1 - partner;
    const MPI_Datatype type = spreads[receive->spread];
    MPI_Message message;
    int flag = 0;

    *request = MPI_REQUEST_NULL;
    switch (receive->receiving) {
    case IRECV:
        MPI_Irecv(buf, receive->room, type, source, receive->tag, pair_plain, request);
        return;
    case RECV:
        MPI_Recv(buf, receive->room, type, source, receive->tag, pair_plain, status);
        return;
    case IMPROBE_MRECV:
        while (!flag)
            MPI_Improbe(source, receive->tag, pair_plain, &flag, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(buf, receive->room, type, &message, status);
        return;
    default:
        MPI_Mprobe(source, receive->tag, pair_plain, &message, MPI_STATUS_IGNORE);
        if (receive->receiving == MPROBE_IMRECV)
            MPI_Imrecv(buf, receive->room, type, &message, request);
        else
            MPI_Mrecv(buf, receive->room, type, &message, status);
    }
}

static void by_mpi(const struct round *mine, const struct round *theirs, struct outcome *outcome)
{
    MPI_Request requests[REQUESTS];
    MPI_Status ended[REQUESTS];

    for (int i = 0; i < REQUESTS; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < theirs->n && theirs->posted_first; i++)
        mpi_receive(&theirs->receives[i], got[0][i].at, &requests[i], &outcome->statuses[i]);
    for (int i = 0; i < mine->n; i++)
        mpi_send(&mine->messages[i], sent[0][i].at, &requests[MOST + i]);
    for (int i = 0; i < theirs->n && !theirs->posted_first; i++)
        mpi_receive(&theirs->receives[i], got[0][i].at, &requests[i], &outcome->statuses[i]);
    MPI_Waitall(2 * MOST, requests, ended);
    for (int i = 0; i < theirs->n; i++)
        if (has_request(&theirs->receives[i]))
            outcome->statuses[i] = ended[i];
}

/* ---- the same by the library */

static void our_send(const struct message *message, void *buf, gpubind_request *request)
{
    const MPI_Datatype type = spreads[message->spread];

    if (message->sending == ISSEND)
        succeeds(
            gpubind_issend(buf, message->count, type, 1 - partner, message->tag, pair, request),
            "issend");
    else
        succeeds(gpubind_isend(buf, message->count, type, 1 - partner, message->tag, pair, request),
                 "isend");
    if (message->sending == ISEND_FREED)
        succeeds(gpubind_request_free(request), "request_free");
}

static void our_receive(const struct receive *receive, void *buf, gpubind_request *request,
                        MPI_Status *status)
{
    const int source = receive->any ? MPI_ANY_SOURCE : 1 - partner;
    const MPI_Datatype type = spreads[receive->spread];
    gpubind_matched message;
    int flag = 0;

    *request = GPUBIND_REQUEST_NULL;
    switch (receive->receiving) {
    case IRECV:
        succeeds(gpubind_irecv(buf, receive->room, type, source, receive->tag, pair, request),
                 "irecv");
        return;
    case RECV:
        succeeds(MPI_GPURecv(buf, receive->room, type, source, receive->tag, pair, status), "recv");
        return;
    case IMPROBE_MRECV:
        while (!flag)
            if (!succeeds(gpubind_improbe(source, receive->tag, pair, &flag, &message, NULL),
                          "improbe"))
                return;
        succeeds(gpubind_mrecv(buf, receive->room, type, &message, status), "mrecv");
        return;
    default:
        succeeds(gpubind_mprobe(source, receive->tag, pair, &message, NULL), "mprobe");
        if (receive->receiving == MPROBE_IMRECV)
            succeeds(gpubind_imrecv(buf, receive->room, type, &message, request), "imrecv");
        else
            succeeds(gpubind_mrecv(buf, receive->room, type, &message, status), "mrecv");
    }
}

static bool end_some(enum ending ending, int n, gpubind_request *requests, MPI_Status *statuses)
{
    int ended, indices[REQUESTS], flag = 0;
    MPI_Status some[REQUESTS];

    switch (ending) {
    case WAITANY:
    case TESTANY:
        if (ending == WAITANY)
            succeeds(gpubind_waitany(n, requests, &indices[0], &some[0]), "waitany");
        else
            succeeds(gpubind_testany(n, requests, &indices[0], &flag, &some[0]), "testany");
        if (indices[0] != MPI_UNDEFINED)
            statuses[indices[0]] = some[0];
        return indices[0] == MPI_UNDEFINED && (ending == WAITANY || flag);
    default:
        if (ending == WAITSOME)
            succeeds(gpubind_waitsome(n, requests, &ended, indices, some), "waitsome");
        else
            succeeds(gpubind_testsome(n, requests, &ended, indices, some), "testsome");
        for (int i = 0; ended != MPI_UNDEFINED && i < ended; i++)
            statuses[indices[i]] = some[i];
        return ended == MPI_UNDEFINED;
    }
}

static void end_all(enum ending ending, int n, gpubind_request *requests, MPI_Status *statuses)
{
    int flag = 0;

    switch (ending) {
    case WAITALL:
        succeeds(gpubind_waitall(n, requests, statuses), "waitall");
        return;
    case TESTALL:
        while (!flag)
            if (!succeeds(gpubind_testall(n, requests, &flag, statuses), "testall"))
                return;
        return;
    case ONE_BY_ONE:
    case LOOKED_AT:
        for (int i = n - 1; i >= 0; i--) {
            for (flag = ending != LOOKED_AT; !flag;)
                succeeds(gpubind_request_get_status(requests[i], &flag, &statuses[i]), "look");
            succeeds(gpubind_wait(&requests[i], &statuses[i]), "wait");
        }
        return;
    default:
        while (!end_some(ending, n, requests, statuses))
            ;
    }
}

static void by_the_library(const struct round *mine, const struct round *theirs,
                           struct outcome *outcome)
{
    gpubind_request requests[REQUESTS] = {GPUBIND_REQUEST_NULL};
    MPI_Status ended[REQUESTS];
    char nowhere[8];

    for (int i = 0; i < theirs->n && theirs->posted_first; i++)
        our_receive(&theirs->receives[i], got[1][i].at, &requests[i], &outcome->statuses[i]);
    if (mine->cancelled) {
        succeeds(gpubind_irecv(nowhere, 8, MPI_BYTE, 1 - partner, TAGS, pair, &requests[2 * MOST]),
                 "irecv");
        succeeds(gpubind_cancel(&requests[2 * MOST]), "cancel");
    }
    for (int i = 0; i < mine->n; i++)
        our_send(&mine->messages[i], sent[1][i].at, &requests[MOST + i]);
    for (int i = 0; i < theirs->n && !theirs->posted_first; i++)
        our_receive(&theirs->receives[i], got[1][i].at, &requests[i], &outcome->statuses[i]);
    end_all(mine->ending, REQUESTS, requests, ended);
    for (int i = 0; i < REQUESTS; i++)
        expect(requests[i] == GPUBIND_REQUEST_NULL, "request %d is left", i);
    for (int i = 0; i < theirs->n; i++)
        if (has_request(&theirs->receives[i]))
            outcome->statuses[i] = ended[i];
    if (mine->cancelled) {
        int flag = 0;

        MPI_Test_cancelled(&ended[2 * MOST], &flag);
        expect(flag, "what was cancelled is not");
    }
}

/* ---- compared */

static void same(const struct round *theirs, const struct outcome *mpi, const struct outcome *ours)
{
    static char here[ROOM], there[ROOM];

    for (int i = 0; i < theirs->n; i++) {
        const MPI_Status *a = &mpi->statuses[i], *b = &ours->statuses[i];
        const MPI_Datatype type = spreads[theirs->receives[i].spread];
        int counts[2], elements[2];

        MPI_Get_count(a, type, &counts[0]);
        MPI_Get_count(b, type, &counts[1]);
        MPI_Get_elements(a, type, &elements[0]);
        MPI_Get_elements(b, type, &elements[1]);
        expect(a->MPI_SOURCE == b->MPI_SOURCE && a->MPI_TAG == b->MPI_TAG &&
                   counts[0] == counts[1] && elements[0] == elements[1],
               "receive %d of %d: %d from %d with tag %d by MPI, %d from %d with tag %d here", i,
               theirs->n, counts[0], a->MPI_SOURCE, a->MPI_TAG, counts[1], b->MPI_SOURCE,
               b->MPI_TAG);
        gpu_get(here, got[0][i].at, ROOM);
        gpu_get(there, got[1][i].at, ROOM);
        expect(memcmp(here, there, ROOM) == 0, "receive %d of %d: other data", i, theirs->n);
    }
}

static void do_round(uint64_t *state)
{
    struct round rounds[2];
    struct outcome mpi, ours;

    for (int rank = 0; rank < 2; rank++)
        rounds[rank] = make_round(state);
    for (int i = 0; i < MOST; i++)
        for (int way = 0; way < 2; way++) {
            bytes_of_seed(bytes, ROOM, (uint64_t)(1000 * job.rank + i));
            gpu_put(sent[way][i].at, bytes, ROOM);
            buffer_reset(&got[way][i]);
        }
    by_mpi(&rounds[partner], &rounds[1 - partner], &mpi);
    by_the_library(&rounds[partner], &rounds[1 - partner], &ours);
    same(&rounds[1 - partner], &mpi, &ours);
    /* The other has received what was freed here. */
    succeeds(gpubind_sendrecv(NULL, 0, MPI_INT, 1 - partner, TAGS + 1, NULL, 0, MPI_INT,
                              1 - partner, TAGS + 1, pair, MPI_STATUS_IGNORE),
             "the end of a round");
}

void test_as_mpi(void)
{
    const int times = nargs ? atoi(arguments[0]) : 150;
    uint64_t state = 4242;

    partner = job.rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, job.rank / 2, job.rank, &pair);
    MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
    MPI_Comm_dup(pair, &pair_plain);
    for (int i = 0; i < 4; i++) {
        MPI_Type_create_resized(MPI_INT, 0, (i + 1) * (MPI_Aint)sizeof(int), &spreads[i]);
        MPI_Type_commit(&spreads[i]);
    }
    bytes = malloc(ROOM);
    for (int i = 0; i < MOST; i++) {
        need_buffer(&sent[0][i], MEMORY_HOST, ROOM);
        need_buffer(&got[0][i], MEMORY_HOST, ROOM);
        need_buffer(&sent[1][i], i % 3 ? MEMORY_DEVICE : MEMORY_HOST, ROOM);
        need_buffer(&got[1][i], i % 4 ? MEMORY_DEVICE : MEMORY_HOST, ROOM);
    }
    job_test("%d times the same random calls through MPI and through the library", times);
    for (int i = 0; i < times; i++)
        do_round(&state);
    job_result();
    for (int i = 0; i < MOST; i++)
        for (int way = 0; way < 2; way++) {
            buffer_clear(&sent[way][i]);
            buffer_clear(&got[way][i]);
        }
    for (int i = 0; i < 4; i++)
        MPI_Type_free(&spreads[i]);
    free(bytes);
    MPI_Comm_free(&pair);
    MPI_Comm_free(&pair_plain);
}
