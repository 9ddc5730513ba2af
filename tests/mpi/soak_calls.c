/* The calls that send and receive the soak's messages. */
#include <sched.h>

#include "tests/mpi/soak_messages.h"

const char *const send_names[SENDS] = {"isend",     "issend",          "isend and request_free",
                                       "send_init", "isend_on_stream", "send",
                                       "ssend",     "send_on_stream"};
const char *const receive_names[RECEIVES] = {
    "recv",    "irecv",      "irecv and request_free", "recv_init",     "probe", "iprobe", "mprobe",
    "improbe", "recv_alloc", "irecv_on_stream",        "recv_on_stream"};

/* Of a request that was set up, and is freed when the round is over. */
static int start(gpubind_request request, struct pending *pending)
{
    gpubind_request *place = pending_add(pending);

    *place = request;
    return gpubind_start(place);
}

int message_send(struct message *message, MPI_Comm comm, struct pending *pending)
{
    const void *at = slot_at(&message->out);
    const int n = message->sent.count, to = message->to, tag = message->tag;
    const MPI_Datatype type = message->sent.type;
    struct CUstream_st *stream = soak_streams[message->send_stream];
    gpubind_request request;
    int status;

    switch (message->send) {
    case SEND:
        return MPI_GPUSend(at, n, type, to, tag, comm);
    case SSEND:
        return gpubind_ssend(at, n, type, to, tag, comm);
    case ISEND:
        return gpubind_isend(at, n, type, to, tag, comm, pending_add(pending));
    case ISSEND:
        return gpubind_issend_c(at, n, type, to, tag, comm, pending_add(pending));
    case ISEND_FREED:
        status = gpubind_isend_c(at, n, type, to, tag, comm, &request);
        return status == MPI_SUCCESS ? gpubind_request_free(&request) : status;
    case SEND_STARTED:
        status = gpubind_send_init(at, n, type, to, tag, comm, &message->requests[0]);
        return status == MPI_SUCCESS ? start(message->requests[0], pending) : status;
    case SEND_ON_STREAM:
        return gpubind_send_on_stream(at, n, type, to, tag, comm, stream);
    default:
        return gpubind_isend_on_stream(at, n, type, to, tag, comm, stream);
    }
}

static void is_described(const struct message *message, const struct gpubind_message *got)
{
    expect(got->source == message->from && got->tag == message->tag &&
               got->nbytes == (MPI_Count)message->sent.nbytes,
           "%s describes rank %d, tag %d, %lld bytes instead of rank %d, tag %d, %zu bytes",
           receive_names[message->receive], got->source, got->tag, (long long)got->nbytes,
           message->from, message->tag, message->sent.nbytes);
}

void message_status(const struct message *message, MPI_Status *status)
{
    int count = -7;

    status_is(status, message->from, message->tag, (MPI_Count)message->sent.nbytes,
              receive_names[message->receive]);
    MPI_Get_count(status, message->got.type, &count);
    is_int(count, message->got.count, "elements of a status");
}

static int ended(const struct message *message, int status, MPI_Status *got)
{
    if (status == MPI_SUCCESS)
        message_status(message, got);
    return status;
}

/* Looks until the message is there, and takes it by improbe. */
static int look(const struct message *message, MPI_Comm comm, gpubind_matched *matched)
{
    struct gpubind_message got = {0};
    int status = MPI_SUCCESS, flag = 0;

    while (!flag && status == MPI_SUCCESS) {
        if (message->receive == IPROBE)
            status = gpubind_iprobe(message->source, message->wanted, comm, &flag, &got);
        else
            status = gpubind_improbe(message->source, message->wanted, comm, &flag, matched, &got);
        sched_yield();
    }
    if (status == MPI_SUCCESS)
        is_described(message, &got);
    return status;
}

static int receive_looked_for(struct message *message, MPI_Comm comm, struct pending *pending)
{
    const struct layout *layout = &message->got;
    gpubind_matched matched = GPUBIND_MATCHED_NULL;
    int status = look(message, comm, &matched);

    if (status != MPI_SUCCESS)
        return status;
    message->waits = pending->n;
    if (message->receive == IMPROBE)
        return gpubind_imrecv(slot_at(&message->in), layout->count, layout->type, &matched,
                              pending_add(pending));
    return gpubind_irecv(slot_at(&message->in), layout->count, layout->type, message->from,
                         message->tag, comm, pending_add(pending));
}

static int receive_probed(struct message *message, MPI_Comm comm)
{
    const struct layout *layout = &message->got;
    struct gpubind_message seen = {0};
    gpubind_matched matched;
    MPI_Status got;
    int status;

    if (message->receive == MPROBE)
        status = gpubind_mprobe(message->source, message->wanted, comm, &matched, &seen);
    else
        status = gpubind_probe(message->source, message->wanted, comm, &seen);
    if (status != MPI_SUCCESS)
        return status;
    is_described(message, &seen);
    if (message->receive == MPROBE)
        status = gpubind_mrecv(slot_at(&message->in), layout->count, layout->type, &matched, &got);
    else
        status = MPI_GPURecv_c(slot_at(&message->in), layout->count, layout->type, message->from,
                               message->tag, comm, &got);
    return ended(message, status, &got);
}

static int receive_new(struct message *message, MPI_Comm comm)
{
    struct gpubind_message got;
    const int status = gpubind_recv_alloc(&message->made, message->source, message->wanted, comm,
                                          &got);

    if (status == MPI_SUCCESS)
        is_described(message, &got);
    return status;
}

static int receive_started(struct message *message, MPI_Comm comm, struct pending *pending)
{
    const int status = gpubind_recv_init(slot_at(&message->in), message->got.count,
                                         message->got.type, message->source, message->wanted, comm,
                                         &message->requests[1]);

    message->waits = pending->n;
    return status == MPI_SUCCESS ? start(message->requests[1], pending) : status;
}

int message_receive(struct message *message, MPI_Comm comm, struct pending *pending)
{
    void *at = slot_at(&message->in);
    const int n = message->got.count, source = message->source, tag = message->wanted;
    const MPI_Datatype type = message->got.type;
    struct CUstream_st *stream = soak_streams[message->receive_stream];
    gpubind_request request;
    MPI_Status got;
    int status;

    switch (message->receive) {
    case RECV:
        status = MPI_GPURecv(at, n, type, source, tag, comm, &got);
        return ended(message, status, &got);
    case IRECV:
        message->waits = pending->n;
        return gpubind_irecv(at, n, type, source, tag, comm, pending_add(pending));
    case IRECV_FREED:
        status = gpubind_irecv_c(at, n, type, source, tag, comm, &request);
        return status == MPI_SUCCESS ? gpubind_request_free(&request) : status;
    case RECV_STARTED:
        return receive_started(message, comm, pending);
    case PROBE:
    case MPROBE:
        return receive_probed(message, comm);
    case IPROBE:
    case IMPROBE:
        return receive_looked_for(message, comm, pending);
    case RECV_ALLOC:
        return receive_new(message, comm);
    case RECV_ON_STREAM:
        return gpubind_recv_on_stream(at, n, type, source, tag, comm, stream);
    default:
        return gpubind_irecv_on_stream(at, n, type, source, tag, comm, stream);
    }
}
