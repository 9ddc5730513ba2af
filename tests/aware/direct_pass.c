/* A pair of ranks passes one message; a persistent request passes it three times. */
#include "tests/aware/direct_pass.h"

#include <stdlib.h>
#include <string.h>

static bool restarts = true; /* persistent buffered sends */

enum { ROUNDS = 3, ROOM = 4 * (LARGEST + MPI_BSEND_OVERHEAD) };

static int sendrecv(const void *at, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    return MPI_Sendrecv(at, count, type, to, tag, NULL, 0, MPI_BYTE, MPI_PROC_NULL, tag, comm,
                        MPI_STATUS_IGNORE);
}

static int replace(const void *at, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    return MPI_Sendrecv_replace((void *)(uintptr_t)at, count, type, to, tag, MPI_PROC_NULL, tag,
                                comm, MPI_STATUS_IGNORE);
}

static const struct mode {
    const char *name;
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int (*start)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    bool ready, buffered, persistent;
} modes[SENDS] = {
    [SEND] = {.name = "MPI_Send", .send = MPI_Send},
    [SSEND] = {.name = "MPI_Ssend", .send = MPI_Ssend},
    [RSEND] = {.name = "MPI_Rsend", .send = MPI_Rsend, .ready = true},
    [BSEND] = {.name = "MPI_Bsend", .send = MPI_Bsend, .buffered = true},
    [SENDRECV] = {.name = "MPI_Sendrecv", .send = sendrecv},
    [REPLACE] = {.name = "MPI_Sendrecv_replace", .send = replace},
    [ISEND] = {.name = "MPI_Isend", .start = MPI_Isend},
    [ISSEND] = {.name = "MPI_Issend", .start = MPI_Issend},
    [IRSEND] = {.name = "MPI_Irsend", .start = MPI_Irsend, .ready = true},
    [IBSEND] = {.name = "MPI_Ibsend", .start = MPI_Ibsend, .buffered = true},
    [SEND_INIT] = {.name = "MPI_Send_init", .start = MPI_Send_init, .persistent = true},
    [SSEND_INIT] = {.name = "MPI_Ssend_init", .start = MPI_Ssend_init, .persistent = true},
    [RSEND_INIT] = {"MPI_Rsend_init", .start = MPI_Rsend_init, .ready = true, .persistent = true},
    [BSEND_INIT] = {"MPI_Bsend_init", NULL, MPI_Bsend_init, false, true, true},
};

static const char *const receives[RECEIVES] = {
    "MPI_Recv",  "MPI_Sendrecv", "MPI_Irecv",  "MPI_Recv_init",
    "MPI_Probe", "MPI_Iprobe",   "MPI_Mprobe", "MPI_Improbe",
};

const char *send_name(enum send send)
{
    return modes[send].name;
}

const char *receive_name(enum receive receive)
{
    return receives[receive];
}

void draw_message(struct message *m)
{
    static const MPI_Datatype elements[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE};
    int size;

    m->element = elements[draw(3)];
    MPI_Type_size(m->element, &size);
    m->n = draw_size() / (size_t)size;
    m->more = draw(4) ? 0 : 1 + draw(3000);
    m->out = draw(SHAPES);
    m->in = draw(SHAPES);
    m->when = draw(WHENS);
    if (m->when == LATER && draw(6))
        m->when = LATE;
    m->after = draw(AFTERS);
    m->seed = draw_seed();
    m->any_source = draw(3) == 0;
    m->any_tag = draw(3) == 0;
    m->completed_out = (int)draw(COMPLETIONS);
    m->completed_in = (int)draw(COMPLETIONS);
}

static bool is_posted(enum receive receive)
{
    return receive == IRECV || receive == RECV_INIT;
}

static size_t bytes_of(const struct message *m)
{
    int size;

    MPI_Type_size(m->element, &size);
    return m->n * (size_t)size;
}

static int rounds_of(const struct message *m)
{
    if (m->send == BSEND_INIT && !restarts)
        return 1;
    return modes[m->send].persistent || m->receive == RECV_INIT ? ROUNDS : 1;
}

static void start_send(const struct message *m, const struct place *place, int to,
                       MPI_Request *request)
{
    const struct mode *mode = &modes[m->send];

    if (mode->persistent)
        MPI_Start(request);
    else if (mode->send)
        mode->send(place->at, place->layout.count, place->layout.type, to, TAG, messages);
    else
        mode->start(place->at, place->layout.count, place->layout.type, to, TAG, messages, request);
}

static void send_side(const struct message *m, int to)
{
    const struct mode *mode = &modes[m->send];
    const int rounds = rounds_of(m);
    MPI_Request request = MPI_REQUEST_NULL;
    struct place place;
    MPI_Status status;

    place_make(&place, m->from, m->out, m->element, m->n);
    if (mode->persistent)
        mode->start(place.at, place.layout.count, place.layout.type, to, TAG, messages, &request);
    for (int round = 0; round < rounds; round++) {
        place_fill(&place, m->seed + (uint64_t)round);
        if (m->when == POSTED)
            token_from(to);
        if (m->when >= LATE && mode->send)
            token_to(to);
        start_send(m, &place, to, &request);
        if (m->when >= LATE && !mode->send)
            token_to(to);
        if (!mode->send)
            complete(m->completed_out, 1, &request, &status);
        if (m->after == READ)
            place_holds(&place, place.layout.nbytes, m->seed + (uint64_t)round, "what was sent");
        else if (m->after == OVERWRITTEN)
            place_fill(&place, m->seed + 100);
    }
    if (mode->persistent)
        MPI_Request_free(&request);
    is_int(request == MPI_REQUEST_NULL, 1, "the send's request at its end");
    place_clear(&place);
    if (mode->buffered)
        token_from(to);
}

static void probe(const struct message *m, const struct place *place, int from, int tag,
                  MPI_Message *matched, MPI_Status *status)
{
    int flag = 0;

    *status = (MPI_Status){0}; /* MPICH's probes leave what MPI_Test_cancelled asks for */
    if (m->receive == PROBE)
        MPI_Probe(from, tag, messages, status);
    else if (m->receive == MPROBE)
        MPI_Mprobe(from, tag, messages, matched, status);
    while (m->receive == IPROBE && !flag)
        MPI_Iprobe(from, tag, messages, &flag, status);
    while (m->receive == IMPROBE && !flag)
        MPI_Improbe(from, tag, messages, &flag, matched, status);
    status_says(status, job.rank ^ 1, TAG, bytes_of(m), &place->layout, receives[m->receive]);
}

static void receive_now(const struct message *m, const struct place *place, int from, int tag,
                        MPI_Status *status)
{
    const int count = place->layout.count;
    const MPI_Datatype type = place->layout.type;
    MPI_Message matched;
    MPI_Request request;

    if (m->receive >= PROBE)
        probe(m, place, from, tag, &matched, status);
    switch (m->receive) {
    case SENDRECV_IN:
        MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, TAG, place->at, count, type, from, tag,
                     messages, status);
        break;
    case MPROBE:
        MPI_Mrecv(place->at, count, type, &matched, status);
        break;
    case IMPROBE:
        MPI_Imrecv(place->at, count, type, &matched, &request);
        complete(m->completed_in, 1, &request, status);
        break;
    default:
        MPI_Recv(place->at, count, type, from, tag, messages, status);
    }
    if (m->receive >= MPROBE)
        is_int(matched == MPI_MESSAGE_NULL, 1, "the message's handle at its end");
}

static void receive_side(const struct message *m, int peer)
{
    const int from = m->any_source ? MPI_ANY_SOURCE : peer, tag = m->any_tag ? MPI_ANY_TAG : TAG;
    const int rounds = rounds_of(m);
    MPI_Request request = MPI_REQUEST_NULL;
    struct place place;
    MPI_Status status;

    place_make(&place, m->to, m->in, m->element, m->n + m->more);
    if (m->receive == RECV_INIT)
        MPI_Recv_init(place.at, place.layout.count, place.layout.type, from, tag, messages,
                      &request);
    for (int round = 0; round < rounds; round++) {
        buffer_reset(&place.buffer);
        if (m->when >= LATE)
            token_from(peer);
        if (m->when == LATER)
            nap(2);
        if (m->receive == IRECV)
            MPI_Irecv(place.at, place.layout.count, place.layout.type, from, tag, messages,
                      &request);
        else if (m->receive == RECV_INIT)
            MPI_Startall(1, &request);
        if (m->when == POSTED)
            token_to(peer);
        if (is_posted(m->receive))
            complete(m->completed_in, 1, &request, &status);
        else
            receive_now(m, &place, from, tag, &status);
        status_says(&status, peer, TAG, bytes_of(m), &place.layout, receives[m->receive]);
        place_holds(&place, bytes_of(m), m->seed + (uint64_t)round, receives[m->receive]);
    }
    if (m->receive == RECV_INIT)
        MPI_Request_free(&request);
    is_int(request == MPI_REQUEST_NULL, 1, "the receive's request at its end");
    place_clear(&place);
    if (modes[m->send].buffered)
        token_to(peer);
}

void pass(struct message *m)
{
    static int turn;
    const int peer = job.rank ^ 1;

    if (modes[m->send].ready) { /* erroneous where no receive waits */
        m->when = POSTED;
        if (!is_posted(m->receive))
            m->receive = m->receive % 2 ? IRECV : RECV_INIT;
    }
    if (m->when == POSTED && !is_posted(m->receive))
        m->when = AT_ONCE;
    turn++;
    if (peer >= job.size)
        return;
    job_at("%d: %s of %s (%s), %s into %s (%s), %zu elements", turn, modes[m->send].name,
           memory_name(m->from), shape_name(m->out), receives[m->receive], memory_name(m->to),
           shape_name(m->in), m->n);
    if ((job.rank + turn) % 2)
        receive_side(m, peer);
    else
        send_side(m, peer);
}

/* By host memory, below any library between. */
static bool find_restarts(void)
{
    enum { NBYTES = 300000 };
    char *bytes = calloc(1, NBYTES);
    int wrong = !bytes;
    MPI_Request request;

    if (job.rank == 0 && bytes) {
        PMPI_Bsend_init(bytes, NBYTES, MPI_BYTE, 1, TAG, job.plain, &request);
        for (int i = 0; i < 2; i++) {
            memset(bytes, i + 1, NBYTES);
            PMPI_Start(&request);
            PMPI_Wait(&request, MPI_STATUS_IGNORE);
            token_from(1);
        }
        PMPI_Request_free(&request);
    } else if (job.rank == 1 && bytes) {
        for (int i = 0; i < 2; i++) {
            PMPI_Recv(bytes, NBYTES, MPI_BYTE, 0, TAG, job.plain, MPI_STATUS_IGNORE);
            token_to(0);
            for (int at = 0; at < NBYTES; at++)
                wrong |= bytes[at] != i + 1;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, job.plain);
    free(bytes);
    return !wrong;
}

bool restarts_buffered(void)
{
    return restarts;
}

void attach_room(void)
{
    void *room = malloc(ROOM);

    if (!room)
        abort();
    MPI_Buffer_attach(room, ROOM);
    restarts = find_restarts();
}

void detach_room(void)
{
    void *room;
    int nbytes;

    MPI_Buffer_detach(&room, &nbytes);
    free(room);
}
