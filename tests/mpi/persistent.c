/* Persistent messages: who meets whom, what is started when, and that nothing waits for
 * what it need not. For any number of ranks, in a ring. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define LARGEST (1 << 20)
#define MOST 24

static int next_rank, previous_rank;

/* A send to the next rank and a receive from the previous one. */
struct both {
    struct buffer out, in;
    size_t nbytes;
    int tag;
    gpubind_request requests[2]; /* the receive, the send */
};

static uint64_t seed_of(int rank, int tag, int round)
{
    return (uint64_t)rank * 1000003 + (uint64_t)tag * 101 + (uint64_t)round + 1;
}

static void need_both(struct both *both, enum memory from, enum memory to, size_t nbytes, int tag)
{
    *both = (struct both){.nbytes = nbytes, .tag = tag};
    need_buffer(&both->out, from, nbytes + 8);
    need_buffer(&both->in, to, nbytes + 8);
}

static void init_send(struct both *both)
{
    succeeds(gpubind_send_init(both->out.at, (int)both->nbytes, MPI_BYTE, next_rank, both->tag,
                               MPI_COMM_WORLD, &both->requests[1]),
             "send_init");
}

static void init_receive(struct both *both)
{
    succeeds(gpubind_recv_init(both->in.at, (int)both->nbytes + 8, MPI_BYTE, previous_rank,
                               both->tag, MPI_COMM_WORLD, &both->requests[0]),
             "recv_init");
}

static void fill(const struct both *both, int round)
{
    buffer_fill(&both->out, 0, both->nbytes, seed_of(job.rank, both->tag, round));
    buffer_reset(&both->in);
}

static void check(const struct both *both, int round, MPI_Status *status)
{
    received(&both->in, both->nbytes, seed_of(previous_rank, both->tag, round), "received");
    if (status)
        status_is(status, previous_rank, both->tag, (MPI_Count)both->nbytes, "the receive");
}

static void end_both(struct both *both)
{
    for (int i = 0; i < 2; i++) {
        succeeds(gpubind_request_free(&both->requests[i]), "request_free");
        expect(!both->requests[i], "the request is still there");
    }
    buffer_clear(&both->out);
    buffer_clear(&both->in);
}

static void ring(enum memory from, enum memory to, size_t nbytes, int rounds)
{
    struct both both;
    MPI_Status statuses[2];

    job_test("%zu bytes from %s to %s, %d times", nbytes, memory_name(from), memory_name(to),
             rounds);
    need_both(&both, from, to, nbytes, 3);
    init_send(&both);
    init_receive(&both);
    for (int round = 0; round < rounds; round++) {
        fill(&both, round);
        succeeds(gpubind_startall(2, both.requests), "startall");
        succeeds(gpubind_waitall(2, both.requests, statuses), "waitall");
        expect(both.requests[0] && both.requests[1], "a persistent request was ended");
        check(&both, round, &statuses[0]);
    }
    end_both(&both);
    job_result();
}

static void idle_request(gpubind_request *request, const char *when)
{
    MPI_Status status;
    int flag = 0, index = 7;

    memset(&status, 0x55, sizeof status);
    succeeds(gpubind_wait(request, &status), "wait %s", when);
    status_is(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, when);
    succeeds(gpubind_test(request, &flag, &status), "test %s", when);
    expect(flag && *request, "test %s: not complete, or ended", when);
    succeeds(gpubind_waitany(1, request, &index, MPI_STATUS_IGNORE), "waitany %s", when);
    is_int(index, MPI_UNDEFINED, when);
    succeeds(gpubind_waitall(1, request, &status), "waitall %s", when);
    status_is(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, when);
}

static void inactive(void)
{
    struct both both;
    int index;

    job_test("inactive requests: wait and test return at once, waitany passes them over");
    need_both(&both, MEMORY_DEVICE, MEMORY_DEVICE, 1000, 1);
    init_receive(&both);
    init_send(&both);
    idle_request(&both.requests[0], "before a start");
    fill(&both, 1);
    succeeds(gpubind_start(&both.requests[1]), "start");
    succeeds(gpubind_start(&both.requests[0]), "start");
    for (int i = 0; i < 2; i++)
        succeeds(gpubind_waitany(2, both.requests, &index, MPI_STATUS_IGNORE), "waitany");
    check(&both, 1, NULL);
    idle_request(&both.requests[0], "after a wait");
    succeeds(gpubind_waitany(2, both.requests, &index, MPI_STATUS_IGNORE), "waitany");
    is_int(index, MPI_UNDEFINED, "waitany of inactive requests");
    end_both(&both);
    job_result();
}

static void shuffle(int *order, int n, uint64_t *state)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(random_next(state) % (unsigned)(i + 1)), kept = order[i];

        order[i] = order[j];
        order[j] = kept;
    }
}

/* Each rank sets up, starts and waits in an order of its own, every request by itself. */
static void in_any_order(int n, size_t nbytes)
{
    static struct both boths[MOST];
    int order[2 * MOST];
    uint64_t state = (uint64_t)job.rank + 5;

    job_test("%d messages of %zu bytes, set up, started and waited for in any order", n, nbytes);
    for (int i = 0; i < n; i++)
        need_both(&boths[i], MEMORY_DEVICE, MEMORY_DEVICE, nbytes, i);
    shuffle(order, 2 * n, &state);
    for (int i = 0; i < 2 * n; i++)
        (order[i] % 2 ? init_send : init_receive)(&boths[order[i] / 2]);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < n; i++)
            fill(&boths[i], round);
        shuffle(order, 2 * n, &state);
        for (int i = 0; i < 2 * n; i++)
            succeeds(gpubind_start(&boths[order[i] / 2].requests[order[i] % 2]), "start");
        for (int i = 0; i < 2 * n; i++) /* all are started: any may be waited for */
            succeeds(
                gpubind_wait(&boths[order[2 * n - 1 - i] / 2].requests[order[2 * n - 1 - i] % 2],
                             MPI_STATUS_IGNORE),
                "wait");
        for (int i = 0; i < n; i++)
            check(&boths[i], round, NULL);
    }
    for (int i = 0; i < n; i++)
        end_both(&boths[i]);
    job_result();
}

/* All sends are started first; the other side starts and waits for one receive after the
 * other, the last first. */
static void one_after_the_other(int n)
{
    static struct both boths[MOST];

    job_test("%d sends under way, received one after the other, the last first", n);
    for (int i = 0; i < n; i++) {
        need_both(&boths[i], MEMORY_DEVICE, MEMORY_DEVICE, 5000, i);
        init_receive(&boths[i]);
        init_send(&boths[i]);
        fill(&boths[i], 0);
    }
    for (int i = 0; i < n; i++)
        succeeds(gpubind_start(&boths[i].requests[1]), "start");
    for (int i = n - 1; i >= 0; i--) {
        succeeds(gpubind_start(&boths[i].requests[0]), "start");
        succeeds(gpubind_wait(&boths[i].requests[0], MPI_STATUS_IGNORE), "wait");
        check(&boths[i], 0, NULL);
    }
    for (int i = 0; i < n; i++) {
        succeeds(gpubind_wait(&boths[i].requests[1], MPI_STATUS_IGNORE), "wait for a send");
        end_both(&boths[i]);
    }
    job_result();
}

/* Starts match in their order, whenever the requests were set up. */
static void one_tag(void)
{
    struct both boths[3];
    gpubind_request gone;

    job_test("messages of one tag match in the order of their starts");
    for (int i = 0; i < 3; i++)
        need_both(&boths[i], MEMORY_DEVICE, MEMORY_DEVICE, (size_t)100 * (size_t)(i + 1), 9);
    for (int i = 0; i < 3; i++) {
        if (i == 1) {
            succeeds(gpubind_send_init(boths[i].out.at, 1, MPI_BYTE, next_rank, 9, MPI_COMM_WORLD,
                                       &gone),
                     "send_init");
            succeeds(gpubind_request_free(&gone), "request_free");
        }
        init_send(&boths[i]);
    }
    job_barrier();
    for (int i = 0; i < 3; i++) {
        if (i == 1) {
            succeeds(gpubind_recv_init(boths[i].in.at, 8, MPI_BYTE, previous_rank, 9,
                                       MPI_COMM_WORLD, &gone),
                     "recv_init");
            succeeds(gpubind_request_free(&gone), "request_free");
        }
        init_receive(&boths[i]);
        fill(&boths[i], i);
    }
    for (int i = 2; i >= 0; i--)
        succeeds(gpubind_startall(2, boths[i].requests), "startall");
    for (int i = 0; i < 3; i++) {
        succeeds(gpubind_waitall(2, boths[i].requests, MPI_STATUSES_IGNORE), "waitall");
        check(&boths[i], i, NULL);
    }
    for (int i = 0; i < 3; i++)
        end_both(&boths[i]);
    job_result();
}

/* A start returns although the other side is not there. */
static void before_the_other_side(void)
{
    struct both both;
    int flag = 1;

    job_test("started before the other side was set up");
    need_both(&both, MEMORY_DEVICE, MEMORY_DEVICE, 70000, 2);
    init_receive(&both);
    fill(&both, 0);
    succeeds(gpubind_start(&both.requests[0]), "start");
    succeeds(gpubind_test(&both.requests[0], &flag, MPI_STATUS_IGNORE), "test");
    expect(!flag, "complete without a send");
    job_barrier();
    init_send(&both);
    succeeds(gpubind_start(&both.requests[1]), "start");
    succeeds(gpubind_waitall(2, both.requests, MPI_STATUSES_IGNORE), "waitall");
    check(&both, 0, NULL);
    end_both(&both);
    job_result();
}

void test_persistent(void)
{
    static const size_t sizes[] = {0, 1, 1000, 65536, LARGEST + 3};

    next_rank = (job.rank + 1) % job.size;
    previous_rank = (job.rank + job.size - 1) % job.size;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        ring(MEMORY_DEVICE, MEMORY_DEVICE, sizes[i], 5);
    ring(MEMORY_DEVICE, MEMORY_HOST, 5000, 3);
    ring(MEMORY_HOST, MEMORY_DEVICE, 500000, 3);
    ring(MEMORY_HOST, MEMORY_HOST, 5000, 3);
    inactive();
    in_any_order(3, 100);
    in_any_order(MOST, 20000);
    one_after_the_other(MOST);
    one_tag();
    before_the_other_side();
    next_rank = previous_rank = job.rank; /* to itself */
    ring(MEMORY_DEVICE, MEMORY_DEVICE, 1000, 3);
    ring(MEMORY_HOST, MEMORY_DEVICE, 100000, 3);
    in_any_order(MOST, 20000);
}
