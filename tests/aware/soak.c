/* soak SECONDS SEED: plain MPI functions of all kinds, mixed at random, with buffers of host and GPU
 * memory on either side. All ranks draw the same numbers, and check every byte. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

enum { MESSAGES_MOST = 8, RANKS_MOST = 8, LARGE = 1 << 20 };

static uint64_t state; /* of the numbers that all ranks draw */
static long nmessages, ncollectives;

static unsigned draw(unsigned below)
{
    return random_next(&state) % below;
}

static size_t draw_size(void)
{
    const size_t most = draw(20) ? (size_t)1 << draw(17) : LARGE;

    return draw(12) ? 1 + draw((unsigned)most) : 0;
}

static enum memory draw_memory(void)
{
    static const enum memory kinds[] = {MEMORY_DEVICE,  MEMORY_DEVICE, MEMORY_DEVICE,
                                        MEMORY_HOST,    MEMORY_HOST,   MEMORY_POOL,
                                        MEMORY_MANAGED, MEMORY_PINNED};

    return kinds[draw(sizeof kinds / sizeof *kinds)];
}

/* ---- buffers whose bytes lie in rows with gaps, or without */

struct rows {
    struct buffer buffer;
    size_t row, stride, nrows; /* bytes, bytes, and how many */
    MPI_Datatype type;         /* of all */
};

static void make_rows(struct rows *rows, enum memory kind, size_t nbytes, unsigned gap)
{
    rows->row = gap && nbytes >= 16 ? nbytes / 8 : nbytes;
    rows->nrows = rows->row == nbytes ? 1 : 8;
    rows->stride = rows->row + gap;
    need_buffer(&rows->buffer, kind, rows->stride * rows->nrows + nbytes % 8);
    MPI_Type_vector((int)rows->nrows, (int)rows->row, (int)rows->stride, MPI_BYTE, &rows->type);
    MPI_Type_commit(&rows->type);
}

static void clear_rows(struct rows *rows)
{
    buffer_clear(&rows->buffer);
    MPI_Type_free(&rows->type);
}

static void fill_rows(const struct rows *rows, uint64_t seed)
{
    for (size_t i = 0; i < rows->nrows; i++)
        buffer_fill(&rows->buffer, i * rows->stride, rows->row, seed + i);
}

static void check_rows(const struct rows *rows, uint64_t seed, const char *what)
{
    for (size_t i = 0; i < rows->nrows; i++)
        if (!buffer_holds(&rows->buffer, i * rows->stride, rows->row, seed + i, NULL)) {
            expect(false, "%s, row %zu", what, i);
            return;
        }
}

/* ---- messages */

enum send { SEND, SSEND, BSEND, ISEND, ISSEND, IBSEND, SEND_INIT, SENDS };
enum receive { IRECV, RECV_INIT, RECV, PROBE_RECV, MRECV, RECEIVES };
enum end { WAITALL, WAITANY, WAITSOME, TESTALL, WAIT, ENDS };

struct message {
    int from, to, tag;
    size_t nbytes;
    unsigned gap;
    uint64_t seed;
    bool from_any;
    enum send send;
    enum receive receive;
    struct rows out, in;
};

static const char *const receives[] = {"Irecv", "Recv_init", "Recv", "Probe, Recv",
                                       "Mprobe, Mrecv"};

static bool is_posted(const struct message *m)
{
    return m->receive == IRECV || m->receive == RECV_INIT;
}

static void draw_message(struct message *m, int tag)
{
    enum memory kinds[2];

    m->from = (int)draw((unsigned)job.size);
    m->to = (int)draw((unsigned)job.size);
    m->tag = tag;
    m->nbytes = draw_size() / 16 * 16;
    m->gap = draw(2) * (1 + draw(40));
    m->seed = random_next(&state);
    m->from_any = draw(3) == 0;
    m->receive = draw(RECEIVES);
    m->send = draw(SENDS);
    if (m->send < BSEND && (!is_posted(m) || m->from == m->to)) /* it may wait for the receive */
        m->send = ISEND;
    for (int i = 0; i < 2; i++)
        kinds[i] = draw_memory();
    if (m->from == job.rank) {
        make_rows(&m->out, kinds[0], m->nbytes, m->gap);
        fill_rows(&m->out, m->seed);
    }
    if (m->to == job.rank)
        make_rows(&m->in, kinds[1], m->nbytes, m->gap);
}

static void post(const struct message *m, MPI_Request *request)
{
    const int from = m->from_any ? MPI_ANY_SOURCE : m->from;
    void *at = m->in.buffer.at;

    if (m->receive == IRECV) {
        MPI_Irecv(at, 1, m->in.type, from, m->tag, job.plain, request);
    } else {
        MPI_Recv_init(at, 1, m->in.type, from, m->tag, job.plain, request);
        MPI_Start(request);
    }
}

/* true: there is a request. */
static bool send(const struct message *m, MPI_Request *request)
{
    const void *at = m->out.buffer.at;

#define ARGUMENTS at, 1, m->out.type, m->to, m->tag, job.plain
    switch (m->send) {
    case SEND:
        return MPI_Send(ARGUMENTS), false;
    case SSEND:
        return MPI_Ssend(ARGUMENTS), false;
    case BSEND:
        return MPI_Bsend(ARGUMENTS), false;
    case ISSEND:
        return MPI_Issend(ARGUMENTS, request), true;
    case IBSEND:
        return MPI_Ibsend(ARGUMENTS, request), true;
    case SEND_INIT:
        MPI_Send_init(ARGUMENTS, request);
        return MPI_Startall(1, request), true;
    default:
        return MPI_Isend(ARGUMENTS, request), true;
    }
#undef ARGUMENTS
}

static void receive_now(const struct message *m)
{
    MPI_Message matched;
    MPI_Status status;
    int count;

    if (m->receive == MRECV) {
        MPI_Mprobe(m->from_any ? MPI_ANY_SOURCE : m->from, m->tag, job.plain, &matched, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        is_int(count, (long long)m->nbytes, "MPI_Mprobe's count");
        MPI_Mrecv(m->in.buffer.at, 1, m->in.type, &matched, &status);
    } else {
        if (m->receive == PROBE_RECV) {
            MPI_Probe(m->from, m->tag, job.plain, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            is_int(count, (long long)m->nbytes, "MPI_Probe's count");
        }
        MPI_Recv(m->in.buffer.at, 1, m->in.type, m->from, m->tag, job.plain, &status);
    }
    status_is(&status, m->from, m->tag, (MPI_Count)m->nbytes, receives[m->receive]);
}

static void end_requests(enum end how, int n, MPI_Request requests[])
{
    int which, indices[2 * MESSAGES_MOST], done = 0, some = 0;
    MPI_Status statuses[2 * MESSAGES_MOST];

    switch (how) {
    case WAITANY:
        for (int i = 0; i < n; i++)
            MPI_Waitany(n, requests, &which, &statuses[0]);
        break;
    case WAITSOME:
        for (int i = 0; i < n; i += some)
            MPI_Waitsome(n, requests, &some, indices, statuses);
        break;
    case TESTALL:
        while (!done)
            MPI_Testall(n, requests, &done, statuses);
        break;
    case WAIT:
        for (int i = n - 1; i >= 0; i--)
            MPI_Wait(&requests[i], &statuses[0]);
        break;
    default:
        MPI_Waitall(n, requests, statuses);
    }
    for (int i = 0; i < n; i++)
        if (requests[i] != MPI_REQUEST_NULL) /* persistent */
            MPI_Request_free(&requests[i]);
}

static void messages(void)
{
    const int n = 1 + (int)draw(MESSAGES_MOST);
    const enum end how = draw(ENDS);
    struct message all[MESSAGES_MOST];
    MPI_Request requests[2 * MESSAGES_MOST];
    int nrequests = 0;

    job_at("messages %ld", nmessages);
    for (int i = 0; i < n; i++) /* a rank may be in the next round already */
        draw_message(&all[i], (int)(nmessages % 10000) + i);
    for (int i = 0; i < n; i++)
        if (all[i].to == job.rank && is_posted(&all[i]))
            post(&all[i], &requests[nrequests++]);
    for (int i = 0; i < n; i++)
        if (all[i].from == job.rank)
            nrequests += send(&all[i], &requests[nrequests]);
    for (int i = 0; i < n; i++)
        if (all[i].to == job.rank && !is_posted(&all[i]))
            receive_now(&all[i]);
    end_requests(how, nrequests, requests);
    for (int i = 0; i < n; i++) {
        if (all[i].to == job.rank) {
            check_rows(&all[i].in, all[i].seed, receives[all[i].receive]);
            clear_rows(&all[i].in);
        }
        if (all[i].from == job.rank)
            clear_rows(&all[i].out);
    }
    nmessages += n;
}

/* ---- collectives */

struct collective {
    size_t nbytes; /* a rank's block */
    int root;
    uint64_t seed;
    bool in_place, later;
    struct buffer one, all,
        out; /* a block, a block of each rank, and what comes out of a reduction */
    MPI_Request request;
};

static uint64_t seed_of(const struct collective *c, int from, int to)
{
    return c->seed + 100 * (uint64_t)from + (uint64_t)to;
}

static void has_block(const struct collective *c, const struct buffer *buffer, int number,
                      uint64_t seed, const char *what)
{
    expect(buffer_holds(buffer, (size_t)number * c->nbytes, c->nbytes, seed, NULL), "%s, block %d",
           what, number);
}

/* CALL(name, arguments): it or its nonblocking form. */
#define CALL(name, ...)                                          \
    (c->later ? MPI_I##name(__VA_ARGS__, job.plain, &c->request) \
              : MPI_##name##_(__VA_ARGS__, job.plain))
#define MPI_bcast_ MPI_Bcast
#define MPI_allgather_ MPI_Allgather
#define MPI_gather_ MPI_Gather
#define MPI_scatter_ MPI_Scatter
#define MPI_alltoall_ MPI_Alltoall
#define MPI_alltoallv_ MPI_Alltoallv
#define MPI_allgatherv_ MPI_Allgatherv
#define MPI_allreduce_ MPI_Allreduce
#define MPI_reduce_ MPI_Reduce
#define MPI_scan_ MPI_Scan

static void finish(struct collective *c)
{
    if (c->later)
        MPI_Wait(&c->request, MPI_STATUS_IGNORE);
}

static void bcast(struct collective *c)
{
    if (job.rank == c->root)
        buffer_fill(&c->one, 0, c->nbytes, c->seed);
    CALL(bcast, c->one.at, (int)c->nbytes, MPI_BYTE, c->root);
    finish(c);
    has_block(c, &c->one, 0, c->seed, "MPI_Bcast");
}

static void allgather(struct collective *c)
{
    const int n = (int)c->nbytes;

    buffer_fill(&c->one, 0, c->nbytes, seed_of(c, job.rank, 0));
    buffer_fill(&c->all, (size_t)job.rank * c->nbytes, c->nbytes, seed_of(c, job.rank, 0));
    if (c->in_place)
        CALL(allgather, MPI_IN_PLACE, 0, MPI_BYTE, c->all.at, n, MPI_BYTE);
    else
        CALL(allgather, c->one.at, n, MPI_BYTE, c->all.at, n, MPI_BYTE);
    finish(c);
    for (int i = 0; i < job.size; i++)
        has_block(c, &c->all, i, seed_of(c, i, 0), "MPI_Allgather");
}

/* Every other rank has nothing, and the blocks lie in reverse order. */
static void allgatherv(struct collective *c)
{
    int counts[RANKS_MOST], displacements[RANKS_MOST];

    for (int i = 0; i < job.size; i++) {
        counts[i] = i % 2 ? 0 : (int)c->nbytes;
        displacements[i] = (job.size - 1 - i) * (int)c->nbytes;
    }
    buffer_fill(&c->one, 0, c->nbytes, seed_of(c, job.rank, 0));
    CALL(allgatherv, c->one.at, counts[job.rank], MPI_BYTE, c->all.at, counts, displacements,
         MPI_BYTE);
    finish(c);
    for (int i = 0; i < job.size; i += 2)
        has_block(c, &c->all, job.size - 1 - i, seed_of(c, i, 0), "MPI_Allgatherv");
}

static void gather(struct collective *c)
{
    buffer_fill(&c->one, 0, c->nbytes, seed_of(c, job.rank, 0));
    CALL(gather, c->one.at, (int)c->nbytes, MPI_BYTE, c->all.at, (int)c->nbytes, MPI_BYTE, c->root);
    finish(c);
    for (int i = 0; i < job.size && job.rank == c->root; i++)
        has_block(c, &c->all, i, seed_of(c, i, 0), "MPI_Gather");
}

static void scatter(struct collective *c)
{
    for (int i = 0; i < job.size && job.rank == c->root; i++)
        buffer_fill(&c->all, (size_t)i * c->nbytes, c->nbytes, seed_of(c, 0, i));
    CALL(scatter, c->all.at, (int)c->nbytes, MPI_BYTE, c->one.at, (int)c->nbytes, MPI_BYTE,
         c->root);
    finish(c);
    has_block(c, &c->one, 0, seed_of(c, 0, job.rank), "MPI_Scatter");
}

static void alltoall(struct collective *c)
{
    const int n = (int)c->nbytes;

    for (int i = 0; i < job.size; i++) {
        buffer_fill(&c->all, (size_t)i * c->nbytes, c->nbytes, seed_of(c, job.rank, i));
        buffer_fill(&c->out, (size_t)i * c->nbytes, c->nbytes, seed_of(c, job.rank, i));
    }
    if (c->in_place)
        CALL(alltoall, MPI_IN_PLACE, 0, MPI_BYTE, c->out.at, n, MPI_BYTE);
    else
        CALL(alltoall, c->all.at, n, MPI_BYTE, c->out.at, n, MPI_BYTE);
    finish(c);
    for (int i = 0; i < job.size; i++)
        has_block(c, &c->out, i, seed_of(c, i, job.rank), "MPI_Alltoall");
}

static void alltoallv(struct collective *c)
{
    int counts[RANKS_MOST], displacements[RANKS_MOST];

    for (int i = 0; i < job.size; i++) {
        counts[i] = (i + job.rank) % 3 ? (int)c->nbytes : 0;
        displacements[i] = i * (int)c->nbytes;
        buffer_fill(&c->all, (size_t)i * c->nbytes, c->nbytes, seed_of(c, job.rank, i));
    }
    CALL(alltoallv, c->all.at, counts, displacements, MPI_BYTE, c->out.at, counts, displacements,
         MPI_BYTE);
    finish(c);
    for (int i = 0; i < job.size; i++)
        if (counts[i])
            has_block(c, &c->out, i, seed_of(c, i, job.rank), "MPI_Alltoallv");
}

/* The exclusive or of the blocks of the first n ranks. */
static void has_reduced(const struct collective *c, int n, const char *what)
{
    char *bytes = malloc(3 * c->nbytes + 1), *more = bytes + c->nbytes, *got = more + c->nbytes;

    memset(bytes, 0, c->nbytes);
    for (int rank = 0; rank < n; rank++) {
        bytes_of_seed(more, c->nbytes, seed_of(c, rank, 0));
        for (size_t i = 0; i < c->nbytes; i++)
            bytes[i] = (char)(bytes[i] ^ more[i]);
    }
    gpu_get(got, c->out.at, c->nbytes);
    expect(memcmp(bytes, got, c->nbytes) == 0, "%s", what);
    free(bytes);
}

static void reduce(struct collective *c)
{
    const int n = (int)c->nbytes, kind = (int)(c->seed % 3);
    const bool in_place = c->in_place && (kind != 1 || job.rank == c->root);
    const void *from = in_place ? MPI_IN_PLACE : c->one.at;

    buffer_fill(&c->one, 0, c->nbytes, seed_of(c, job.rank, 0));
    buffer_fill(&c->out, 0, c->nbytes, seed_of(c, job.rank, 0));
    if (kind == 0)
        CALL(allreduce, from, c->out.at, n, MPI_BYTE, MPI_BXOR);
    else if (kind == 1)
        CALL(reduce, from, c->out.at, n, MPI_BYTE, MPI_BXOR, c->root);
    else
        CALL(scan, from, c->out.at, n, MPI_BYTE, MPI_BXOR);
    finish(c);
    if (kind != 1 || job.rank == c->root)
        has_reduced(c, kind == 2 ? job.rank + 1 : job.size, "a reduction");
}

static void collective(void)
{
    static void (*const all[])(struct collective *) = {
        bcast, allgather, allgatherv, gather, scatter, alltoall, alltoallv, reduce, reduce};
    const unsigned which = draw(sizeof all / sizeof *all);
    struct collective c = {.nbytes = draw_size() / 4, .root = (int)draw((unsigned)job.size)};

    job_at("collective %ld", ncollectives);
    c.seed = random_next(&state);
    c.in_place = draw(2);
    c.later = draw(2);
    for (int rank = 0; rank < job.size; rank++) { /* each has memory of its own kinds */
        enum memory kinds[] = {draw_memory(), draw_memory(), draw_memory()};

        if (rank != job.rank)
            continue;
        need_buffer(&c.one, kinds[0], c.nbytes);
        need_buffer(&c.all, kinds[1], c.nbytes * (size_t)job.size);
        need_buffer(&c.out, kinds[2], c.nbytes * (size_t)job.size);
    }
    all[which](&c);
    buffer_clear(&c.one);
    buffer_clear(&c.all);
    buffer_clear(&c.out);
    ncollectives++;
}

/* ---- */

static bool is_over(double until)
{
    int over = MPI_Wtime() > until || job_faults() > 0;

    MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MAX, job.plain);
    return over;
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 2;
    static char attached[4 * MESSAGES_MOST * LARGE];
    double until;

    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    job_start(MPI_THREAD_SINGLE);
    MPI_Buffer_attach(attached, sizeof attached);
    job_test("%g seconds of messages and collectives", seconds);
    until = MPI_Wtime() + seconds;
    while (!is_over(until))
        for (int i = 0; i < 20; i++)
            draw(2) ? messages() : collective();
    job_at(" ");
    job_result();
    if (job.rank == 0)
        printf("# %ld messages, %ld collectives\n", nmessages, ncollectives);
    MPI_Buffer_detach(&(void *){NULL}, &(int){0});
    return job_end();
}
