/* Persistent messages of any datatypes, against MPI_Pack and MPI_Unpack; and those that
 * are longer than the receive's room. Each rank to the next, in a ring. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define SPAN 40000 /* bytes that a type may lie in */

static int next_rank, previous_rank;

static int any(uint64_t *state, int least, int most)
{
    return least + (int)(random_next(state) % (unsigned)(most - least + 1));
}

static MPI_Datatype subarray(uint64_t *state)
{
    int sizes[3], parts[3], starts[3];
    MPI_Datatype type;

    for (int d = 0; d < 3; d++) {
        sizes[d] = any(state, 1, 12);
        parts[d] = any(state, 1, sizes[d]);
        starts[d] = any(state, 0, sizes[d] - parts[d]);
    }
    MPI_Type_create_subarray(3, sizes, parts, starts,
                             any(state, 0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                             any(state, 0, 1) ? MPI_DOUBLE : MPI_SHORT, &type);
    return type;
}

static MPI_Datatype vector(uint64_t *state)
{
    MPI_Datatype inner, type;
    int length = any(state, 1, 3);

    MPI_Type_vector(any(state, 1, 6), length, length + any(state, 0, 3), MPI_INT, &inner);
    MPI_Type_create_hvector(any(state, 1, 4), 1, any(state, 40, 100) * 4, inner, &type);
    MPI_Type_free(&inner);
    return type;
}

static MPI_Datatype irregular(uint64_t *state)
{
    int lengths[5], places[5], n = any(state, 1, 5), at = any(state, 0, 3);
    MPI_Datatype type;

    for (int i = 0; i < n; i++) {
        places[i] = at;
        lengths[i] = any(state, 1, 4);
        at += lengths[i] + any(state, 0, 5);
    }
    MPI_Type_indexed(n, lengths, places, MPI_FLOAT, &type);
    return type;
}

static MPI_Datatype random_type(uint64_t *state)
{
    MPI_Datatype type;

    switch (any(state, 0, 2)) {
    case 0:
        type = subarray(state);
        break;
    case 1:
        type = vector(state);
        break;
    default:
        type = irregular(state);
    }
    MPI_Type_commit(&type);
    return type;
}

/* As many elements as lie in SPAN, but a few. */
static int fit(MPI_Datatype type, int wanted)
{
    MPI_Aint lower, extent, true_lower, true_extent;

    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    while (wanted > 1 && (wanted - 1) * extent + true_lower + true_extent > SPAN)
        wanted--;
    return wanted;
}

struct message {
    MPI_Datatype from, to;
    int n, room, nbytes; /* elements of from; of to, at least as many bytes; of data */
};

/* The same on all ranks for the same state. */
static struct message make(uint64_t *state)
{
    struct message m = {.from = random_type(state), .to = random_type(state)};
    int size, into;

    m.n = fit(m.from, any(state, 1, 5));
    MPI_Type_size(m.from, &size);
    MPI_Type_size(m.to, &into);
    m.nbytes = m.n * size;
    for (int tries = 0; m.nbytes % into && tries < 30; tries++) { /* MPI_Unpack takes whole ones */
        MPI_Type_free(&m.to);
        m.to = random_type(state);
        MPI_Type_size(m.to, &into);
    }
    m.room = (m.nbytes + into - 1) / into;
    if (fit(m.to, m.room) < m.room) { /* too wide: the other way round is good */
        MPI_Type_free(&m.to);
        MPI_Type_dup(m.from, &m.to);
        m.room = m.n;
    }
    return m;
}

/* What MPI makes of the sender's bytes and the receiver's. */
static void predict(const struct message *m, const char *sent, char *into)
{
    char *packed = calloc(1, SPAN);
    int at = 0, all, elements;

    MPI_Pack(sent, m->n, m->from, packed, SPAN, &at, MPI_COMM_SELF);
    all = at;
    MPI_Type_size(m->to, &elements);
    elements = all / elements;
    at = 0;
    MPI_Unpack(packed, all, &at, into, elements, m->to, MPI_COMM_SELF);
    free(packed);
}

static void pass(const struct message *m, enum memory from, enum memory to, int round)
{
    static char sent[SPAN], wanted[SPAN], got[SPAN];
    struct buffer out, in;
    gpubind_request requests[2];
    MPI_Datatype copy;
    MPI_Status statuses[2];
    int size;

    need_filled(&out, from, SPAN, (uint64_t)job.rank);
    need_buffer(&in, to, SPAN);
    MPI_Type_dup(m->from, &copy); /* which may go before the first start */
    succeeds(gpubind_send_init(out.at, m->n, copy, next_rank, 4, MPI_COMM_WORLD, &requests[1]),
             "send_init");
    MPI_Type_free(&copy);
    succeeds(
        gpubind_recv_init(in.at, m->room, m->to, previous_rank, 4, MPI_COMM_WORLD, &requests[0]),
        "recv_init");
    for (int i = 0; i < 2; i++) {
        buffer_fill(&out, 0, SPAN, (uint64_t)(job.rank + 10 * i));
        buffer_reset(&in);
        bytes_of_seed(sent, SPAN, (uint64_t)(previous_rank + 10 * i));
        gpu_get(wanted, in.at, SPAN);
        MPI_Type_size(m->to, &size);
        succeeds(gpubind_startall(2, requests), "startall");
        succeeds(gpubind_waitall(2, requests, statuses), "waitall");
        status_is(&statuses[0], previous_rank, 4, m->nbytes, "the receive");
        gpu_get(got, in.at, SPAN);
        if (m->nbytes % size) /* MPI unpacks whole elements; the sizes must do */
            continue;
        predict(m, sent, wanted);
        expect(memcmp(wanted, got, SPAN) == 0, "message %d: other bytes than MPI_Pack's", round);
    }
    for (int i = 0; i < 2; i++)
        succeeds(gpubind_request_free(&requests[i]), "request_free");
    buffer_clear(&out);
    buffer_clear(&in);
}

static void random_types(int n)
{
    static const enum memory kinds[] = {MEMORY_DEVICE, MEMORY_DEVICE, MEMORY_HOST};
    uint64_t state = 11;
    int compared = 0;

    job_test("%d messages of random types, as MPI_Pack has them", n);
    for (int i = 0; i < n; i++) {
        struct message m = make(&state);
        int size;

        MPI_Type_size(m.to, &size);
        compared += m.nbytes % size == 0;
        pass(&m, kinds[i / 3 % 3], kinds[i % 3], i);
        MPI_Type_free(&m.from);
        MPI_Type_free(&m.to);
    }
    expect(compared > n / 2, "only %d of %d were compared", compared, n);
    job_result();
}

static void too_long(enum memory to)
{
    gpubind_request requests[2];
    struct buffer out, in;
    MPI_Status status;

    job_test("1000 bytes into 999 of %s: an error at the receiver alone, each time",
             memory_name(to));
    need_filled(&out, MEMORY_DEVICE, 1000, 5);
    need_buffer(&in, to, 1000);
    buffer_reset(&in);
    succeeds(gpubind_send_init(out.at, 1000, MPI_BYTE, next_rank, 4, MPI_COMM_WORLD, &requests[1]),
             "send_init");
    succeeds(
        gpubind_recv_init(in.at, 999, MPI_BYTE, previous_rank, 4, MPI_COMM_WORLD, &requests[0]),
        "recv_init");
    for (int i = 0; i < 3; i++) {
        succeeds(gpubind_startall(2, requests), "startall");
        fails(gpubind_wait(&requests[0], &status), MPI_ERR_TRUNCATE, "999", "wait");
        succeeds(gpubind_wait(&requests[1], MPI_STATUS_IGNORE), "wait for the send");
    }
    expect(buffer_untouched(&in, 0), "something was written");
    for (int i = 0; i < 2; i++)
        succeeds(gpubind_request_free(&requests[i]), "request_free");
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

void test_persistent_types(void)
{
    next_rank = (job.rank + 1) % job.size;
    previous_rank = (job.rank + job.size - 1) % job.size;
    random_types(60);
    too_long(MEMORY_DEVICE);
    too_long(MEMORY_HOST);
}
