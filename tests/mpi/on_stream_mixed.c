/* Messages on streams, nonblocking and blocking ones in a random order that all ranks know,
 * on one communicator. Every rank makes its calls in that order, so that none waits for
 * one behind it, whatever the other side chose for its own call. */
#include <stdlib.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

#define MESSAGES 160 /* a round */
#define STREAMS 3
#define SLOT (96u << 10) /* bytes, of a message and the gap behind it */

enum form { BLOCKING, NONBLOCKING, ON_STREAM, I_ON_STREAM, FORMS };

/* One side of a message. */
struct side {
    enum form form;
    int stream;
    bool host;          /* memory */
    bool wild;          /* a receive from anybody, of any tag */
    bool waits, quiets; /* behind it, for all requests, for that stream */
};

struct message {
    int from, to, tag;
    size_t nbytes;
    struct side send, receive;
};

static const size_t lengths[] = {0, 8, 1000, 4096, 4097, 20000, 65537, 90001};
static struct buffer outs[2], ins[2]; /* of the device, of the host */
static struct CUstream_st *streams[STREAMS];
static gpubind_request requests[MESSAGES];
static int nrequests;

static struct side random_side(uint64_t *state)
{
    return (struct side){.form = (enum form)(random_next(state) % FORMS),
                         .stream = (int)(random_next(state) % STREAMS),
                         .host = random_next(state) % 4 == 0,
                         .wild = job.size == 2 && random_next(state) % 4 == 0,
                         .waits = random_next(state) % 16 == 0,
                         .quiets = random_next(state) % 16 == 0};
}

static struct message random_message(uint64_t *state)
{
    struct message message = {.from = (int)(random_next(state) % (unsigned)job.size)};

    message.to = (message.from + 1 + (int)(random_next(state) % (unsigned)(job.size - 1))) %
                 job.size;
    message.tag = (int)(random_next(state) % 3);
    message.nbytes = lengths[random_next(state) % (sizeof lengths / sizeof lengths[0])];
    message.send = random_side(state);
    message.receive = random_side(state);
    return message;
}

static int send(const struct message *message, char *at)
{
    const int n = (int)message->nbytes, to = message->to, tag = message->tag;
    struct CUstream_st *stream = streams[message->send.stream];

    switch (message->send.form) {
    case BLOCKING:
        return MPI_GPUSend(at, n, MPI_BYTE, to, tag, MPI_COMM_WORLD);
    case NONBLOCKING:
        return gpubind_isend(at, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[nrequests++]);
    case ON_STREAM:
        return gpubind_send_on_stream(at, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, stream);
    default:
        return gpubind_isend_on_stream(at, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, stream);
    }
}

static int receive(const struct message *message, char *at)
{
    const int n = (int)message->nbytes;
    const int from = message->receive.wild ? MPI_ANY_SOURCE : message->from;
    const int tag = message->receive.wild ? MPI_ANY_TAG : message->tag;
    struct CUstream_st *stream = streams[message->receive.stream];

    switch (message->receive.form) {
    case BLOCKING:
        return MPI_GPURecv(at, n, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    case NONBLOCKING:
        return gpubind_irecv(at, n, MPI_BYTE, from, tag, MPI_COMM_WORLD, &requests[nrequests++]);
    case ON_STREAM:
        return gpubind_recv_on_stream(at, n, MPI_BYTE, from, tag, MPI_COMM_WORLD, stream);
    default:
        return gpubind_irecv_on_stream(at, n, MPI_BYTE, from, tag, MPI_COMM_WORLD, stream);
    }
}

static void wait_for_all(void)
{
    succeeds(gpubind_waitall(nrequests, requests, MPI_STATUSES_IGNORE), "waitall");
    nrequests = 0;
}

static void make_call(const struct message *message, int i)
{
    const bool sends = job.rank == message->from;
    const struct side *side = sends ? &message->send : &message->receive;
    char *at = (sends ? outs : ins)[side->host].at + (size_t)i * SLOT;

    succeeds(sends ? send(message, at) : receive(message, at), "message %d of %zu bytes, form %d",
             i, message->nbytes, side->form);
    if (side->waits)
        wait_for_all();
    if (side->quiets)
        succeeds(gpubind_quiet_on_stream(streams[side->stream]), "quiet");
}

static uint64_t seed_of(unsigned round, int i)
{
    return 1000 * (uint64_t)round + (uint64_t)i;
}

static void fill(const struct message *messages, unsigned round)
{
    for (int i = 0; i < 2; i++)
        buffer_reset(&ins[i]);
    for (int i = 0; i < MESSAGES; i++)
        if (messages[i].from == job.rank)
            buffer_fill(&outs[messages[i].send.host], (size_t)i * SLOT, messages[i].nbytes,
                        seed_of(round, i));
}

static void look(const struct message *messages, unsigned round)
{
    for (int i = 0; i < MESSAGES; i++) {
        const size_t at = (size_t)i * SLOT;
        size_t differs = 0;

        if (messages[i].to == job.rank)
            expect(buffer_holds(&ins[messages[i].receive.host], at, messages[i].nbytes,
                                seed_of(round, i), &differs),
                   "message %d of %zu bytes from rank %d, form %d met form %d: byte %zu is wrong",
                   i, messages[i].nbytes, messages[i].from, messages[i].receive.form,
                   messages[i].send.form, differs);
    }
}

static void mix(unsigned round, uint64_t *state)
{
    struct message messages[MESSAGES];

    job_test("%d messages of all forms, round %u", MESSAGES, round);
    for (int i = 0; i < MESSAGES; i++)
        messages[i] = random_message(state);
    fill(messages, round);
    job_barrier();
    for (int i = 0; i < MESSAGES; i++)
        if (messages[i].from == job.rank || messages[i].to == job.rank)
            make_call(&messages[i], i);
    wait_for_all();
    for (int i = 0; i < STREAMS; i++) {
        succeeds(gpubind_quiet_on_stream(streams[i]), "quiet");
        stream_ends(streams[i]);
    }
    look(messages, round);
    job_result();
}

/* Arguments: rounds, the seed. */
void test_on_stream_mixed(void)
{
    const unsigned rounds = nargs > 0 ? (unsigned)atoi(arguments[0]) : 4;
    uint64_t state = nargs > 1 ? strtoull(arguments[1], NULL, 10) : 1;

    for (int i = 0; i < 2; i++) {
        need_buffer(&outs[i], i ? MEMORY_HOST : MEMORY_DEVICE, MESSAGES * SLOT);
        need_buffer(&ins[i], i ? MEMORY_HOST : MEMORY_DEVICE, MESSAGES * SLOT);
    }
    for (int i = 0; i < STREAMS; i++)
        cuda.cuStreamCreate(&streams[i], i ? CUDA_STREAM_NON_BLOCKING : 0);
    for (unsigned round = 0; round < rounds; round++)
        mix(round, &state);
    for (int i = 0; i < STREAMS; i++)
        cuda.cuStreamDestroy_v2(streams[i]);
    for (int i = 0; i < 2; i++) {
        buffer_clear(&outs[i]);
        buffer_clear(&ins[i]);
    }
}
