/* Messages that streams of two ranks pass to each other, in a random order that all ranks know, on two
 * communicators. A small message may be received after others that were sent later. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

#define MESSAGES 160 /* a round */
#define STREAMS 3
#define SLOT (96u << 10) /* bytes, of a message and the gap behind it */
#define SMALL 4096       /* sends up to this end without their receives */

enum form { ON_STREAM, I_ON_STREAM, BLOCKING, NONBLOCKING };

struct side {
    enum form form;
    int stream;
};

struct message {
    int from, to, tag, comm;
    int delay; /* calls of all ranks that may come before its receive */
    size_t nbytes, room;
    bool any_tag;
    struct side send, receive;
};

struct call {
    int message;
    bool sends;
};

static const size_t lengths[] = {0, 8, 500, 1000, 4096, 4097, 20000, 65537, 90001};
static struct buffer prepared, out, in, seen;
static struct CUstream_st *streams[STREAMS];
static MPI_Comm comms[2];
static gpubind_request requests[MESSAGES];
static int nrequests;

static unsigned below(uint64_t *state, unsigned n)
{
    return random_next(state) % n;
}

/* Most are such that streams do them by themselves; pure: all. */
static struct side random_side(uint64_t *state, bool pure)
{
    static const enum form forms[] = {ON_STREAM,   ON_STREAM,   ON_STREAM, ON_STREAM,  ON_STREAM,
                                      I_ON_STREAM, I_ON_STREAM, BLOCKING,  NONBLOCKING};

    return (struct side){forms[below(state, pure ? 5 : sizeof forms / sizeof forms[0])],
                         (int)below(state, STREAMS)};
}

static struct message random_message(uint64_t *state, bool pure)
{
    struct message message = {.from = (int)below(state, (unsigned)job.size)};

    message.to = (message.from + 1 + (int)below(state, (unsigned)job.size - 1)) % job.size;
    message.tag = (int)below(state, 2);
    message.comm = (int)below(state, 2);
    message.nbytes = lengths[below(state, sizeof lengths / sizeof lengths[0])];
    message.room = message.nbytes + (below(state, 4) ? 0 : 1 + below(state, 1000));
    message.delay = message.nbytes <= SMALL && below(state, 2) ? (int)below(state, 100) : 0;
    message.any_tag = below(state, 8) == 0;
    message.send = random_side(state, pure);
    message.receive = random_side(state, pure);
    return message;
}

static bool may_overtake(const struct message *one, const struct message *other)
{
    return one->from != other->from || one->to != other->to || one->comm != other->comm ||
           (one->tag != other->tag && !one->any_tag && !other->any_tag);
}

/* After message now has been sent: receives whose time has come, and those of earlier messages that they would
 * match otherwise. */
static void find_due(const struct message *messages, int now, bool *due)
{
    for (int i = now; i >= 0; i--) {
        due[i] = i + messages[i].delay <= now;
        for (int later = i + 1; later <= now && !due[i]; later++)
            due[i] = due[later] && !may_overtake(&messages[i], &messages[later]);
    }
}

static int plan(const struct message *messages, struct call *calls)
{
    bool received[MESSAGES] = {false}, due[MESSAGES] = {false};
    int n = 0;

    for (int now = 0; now < MESSAGES; now++) {
        calls[n++] = (struct call){now, true};
        find_due(messages, now, due);
        for (int i = 0; i <= now; i++) {
            if (!received[i] && (due[i] || now == MESSAGES - 1))
                calls[n++] = (struct call){i, false};
            received[i] |= due[i];
        }
    }
    return n;
}

static char *slot(const struct buffer *buffer, int i)
{
    return buffer->at + (size_t)i * SLOT;
}

static cuda_address place(const struct buffer *buffer, int i)
{
    return address_of(buffer) + (size_t)i * SLOT;
}

/* What a call on a stream sends is written by the stream before, and overwritten after, where it waits. */
static int send(const struct message *message, int i)
{
    const int n = (int)message->nbytes, to = message->to, tag = message->tag;
    const bool on_stream = message->send.form <= I_ON_STREAM;
    struct CUstream_st *stream = streams[message->send.stream];
    MPI_Comm comm = comms[message->comm];
    char *at = slot(on_stream ? &out : &prepared, i);
    int status;

    if (on_stream && n > 0)
        cuda.cuMemcpyDtoDAsync_v2(place(&out, i), place(&prepared, i), message->nbytes, stream);
    switch (message->send.form) {
    case BLOCKING:
        return MPI_GPUSend(at, n, MPI_BYTE, to, tag, comm);
    case NONBLOCKING:
        return gpubind_isend(at, n, MPI_BYTE, to, tag, comm, &requests[nrequests++]);
    case I_ON_STREAM:
        return gpubind_isend_on_stream(at, n, MPI_BYTE, to, tag, comm, stream);
    default:
        status = gpubind_send_on_stream(at, n, MPI_BYTE, to, tag, comm, stream);
        if (n > 0)
            cuda.cuMemsetD8Async(place(&out, i), 0, message->nbytes, stream);
        return status;
    }
}

/* What is received is read by the stream after, where it waits. */
static int receive(const struct message *message, int i)
{
    const int n = (int)message->room, from = message->from;
    const int tag = message->any_tag ? MPI_ANY_TAG : message->tag;
    struct CUstream_st *stream = streams[message->receive.stream];
    MPI_Comm comm = comms[message->comm];
    char *at = slot(&in, i);
    int status;

    switch (message->receive.form) {
    case BLOCKING:
        return MPI_GPURecv(at, n, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE);
    case NONBLOCKING:
        return gpubind_irecv(at, n, MPI_BYTE, from, tag, comm, &requests[nrequests++]);
    case I_ON_STREAM:
        return gpubind_irecv_on_stream(at, n, MPI_BYTE, from, tag, comm, stream);
    default:
        status = gpubind_recv_on_stream(at, n, MPI_BYTE, from, tag, comm, stream);
        cuda.cuMemcpyDtoDAsync_v2(place(&seen, i), place(&in, i), SLOT, stream);
        return status;
    }
}

static void make_call(const struct message *messages, const struct call *call)
{
    const struct message *message = &messages[call->message];

    if (job.rank == message->from && call->sends)
        succeeds(send(message, call->message), "send %d of %zu bytes, form %d", call->message,
                 message->nbytes, message->send.form);
    if (job.rank == message->to && !call->sends)
        succeeds(receive(message, call->message), "receive %d of %zu bytes, form %d", call->message,
                 message->nbytes, message->receive.form);
}

static uint64_t seed_of(unsigned round, int i)
{
    return 1000 * (uint64_t)round + (uint64_t)i;
}

static void look(const struct message *message, int i, unsigned round)
{
    char *wanted = malloc(SLOT), *there = malloc(SLOT);
    size_t at = 0;

    memset(wanted, (char)BUFFER_UNTOUCHED, SLOT);
    bytes_of_seed(wanted, message->nbytes, seed_of(round, i));
    gpu_get(there, slot(message->receive.form == ON_STREAM ? &seen : &in, i), SLOT);
    while (at < SLOT && there[at] == wanted[at])
        at++;
    expect(at == SLOT,
           "message %d of %zu bytes, room for %zu, from rank %d, form %d met form %d: byte %zu is "
           "wrong",
           i, message->nbytes, message->room, message->from, message->receive.form,
           message->send.form, at);
    free(wanted);
    free(there);
}

/* Now and then, so that the others' calls come first. */
static void be_late(uint64_t *state)
{
    if (below(state, 50) == 0)
        nanosleep(&(struct timespec){0, (long)below(state, 2000000)}, NULL);
}

static void mix(unsigned round, uint64_t *state)
{
    struct message messages[MESSAGES];
    struct call calls[2 * MESSAGES];
    uint64_t own = *state + (uint64_t)job.rank;
    int n;

    job_test("%d messages, some received late, round %u", MESSAGES, round);
    for (int i = 0; i < MESSAGES; i++)
        messages[i] = random_message(state, round % 2);
    n = plan(messages, calls);
    buffer_reset(&in);
    for (int i = 0; i < MESSAGES; i++)
        if (messages[i].from == job.rank)
            buffer_fill(&prepared, (size_t)i * SLOT, messages[i].nbytes, seed_of(round, i));
    job_barrier();
    for (int i = 0; i < n; i++) {
        be_late(&own);
        make_call(messages, &calls[i]);
    }
    succeeds(gpubind_waitall(nrequests, requests, MPI_STATUSES_IGNORE), "waitall");
    nrequests = 0;
    for (int i = 0; i < STREAMS; i++) {
        succeeds(gpubind_quiet_on_stream(streams[i]), "quiet");
        stream_ends(streams[i]);
    }
    for (int i = 0; i < MESSAGES; i++)
        if (messages[i].to == job.rank)
            look(&messages[i], i, round);
    job_result();
}

/* The receive comes after a message of its rank's stream, which comes after the send. */
static void receive_is_held(void)
{
    const int large = 70001;

    job_test("a small blocking send ends while the GPU's work holds its receive");
    buffer_fill(&prepared, 0, (size_t)large, 5);
    buffer_reset(&in);
    if (job.rank == 0) {
        succeeds(
            gpubind_send_on_stream(prepared.at, large, MPI_BYTE, 1, 1, MPI_COMM_WORLD, streams[0]),
            "send on a blocking stream");
        succeeds(MPI_GPURecv(in.at, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
        received(&in, 8, 5, "receive");
    }
    if (job.rank == 1) {
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        succeeds(MPI_GPUSend(prepared.at, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD), "send");
        succeeds(gpubind_recv_on_stream(in.at, large, MPI_BYTE, 0, 1, MPI_COMM_WORLD, streams[1]),
                 "receive on a stream");
        stream_ends(streams[1]);
        received(&in, (size_t)large, 5, "receive on a stream");
    }
    job_result();
}

/* Arguments: rounds, the seed. */
void test_on_stream_direct(void)
{
    struct buffer *const buffers[] = {&prepared, &out, &in, &seen};
    const unsigned rounds = nargs > 0 ? (unsigned)atoi(arguments[0]) : 4;
    uint64_t state = nargs > 1 ? strtoull(arguments[1], NULL, 10) : 1;

    for (int i = 0; i < 4; i++)
        need_buffer(buffers[i], MEMORY_DEVICE, (size_t)MESSAGES * SLOT);
    for (int i = 0; i < STREAMS; i++)
        cuda.cuStreamCreate(&streams[i], i ? CUDA_STREAM_NON_BLOCKING : 0);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    receive_is_held();
    for (unsigned round = 0; round < rounds; round++)
        mix(round, &state);
    MPI_Comm_free(&comms[1]);
    for (int i = 0; i < STREAMS; i++)
        cuda.cuStreamDestroy_v2(streams[i]);
    for (int i = 0; i < 4; i++)
        buffer_clear(buffers[i]);
}
