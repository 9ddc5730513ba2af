/* Messages of all modes between buffers of host and GPU memory, with gaps or without. */
#include "tests/aware/soak.h"

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
    m->seed = draw_seed();
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

void messages(void)
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
