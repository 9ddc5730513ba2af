/* Arguments that no call may accept: the error class, a text that names the input, and
 * nothing sent. For two ranks and more. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

enum verb {
    SEND,
    ISEND,
    SENDRECV_SEND,
    RECV,
    IRECV,
    SENDRECV_RECV,
    PROBE,
    IPROBE,
    RECV_ALLOC,
    VERBS
};

static const char *const verbs[] = {"send",  "isend",  "sendrecv's send",
                                    "recv",  "irecv",  "sendrecv's receive",
                                    "probe", "iprobe", "recv_alloc"};

/* What the verbs have in common; one of these is bad. */
struct call {
    void *buf;
    int count;
    MPI_Datatype type;
    int peer, tag;
    MPI_Comm comm;
};

static struct buffer buffer, other;

static int make(enum verb verb, const struct call *call)
{
    gpubind_request request = GPUBIND_REQUEST_NULL;
    struct gpubind_message message;
    void *made;
    int flag;

    switch (verb) {
    case SEND:
        return MPI_GPUSend(call->buf, call->count, call->type, call->peer, call->tag, call->comm);
    case ISEND:
        return gpubind_isend(call->buf, call->count, call->type, call->peer, call->tag, call->comm,
                             &request);
    case SENDRECV_SEND:
        return gpubind_sendrecv(call->buf, call->count, call->type, call->peer, call->tag, other.at,
                                10, MPI_BYTE, MPI_PROC_NULL, 0, call->comm, MPI_STATUS_IGNORE);
    case RECV:
        return MPI_GPURecv(call->buf, call->count, call->type, call->peer, call->tag, call->comm,
                           MPI_STATUS_IGNORE);
    case IRECV:
        return gpubind_irecv(call->buf, call->count, call->type, call->peer, call->tag, call->comm,
                             &request);
    case SENDRECV_RECV:
        return gpubind_sendrecv(other.at, 10, MPI_BYTE, MPI_PROC_NULL, 0, call->buf, call->count,
                                call->type, call->peer, call->tag, call->comm, MPI_STATUS_IGNORE);
    case PROBE:
        return gpubind_probe(call->peer, call->tag, call->comm, &message);
    case IPROBE:
        return gpubind_iprobe(call->peer, call->tag, call->comm, &flag, &message);
    default:
        return gpubind_recv_alloc(&made, call->peer, call->tag, call->comm, NULL);
    }
}

static void all(enum verb from, enum verb to, const struct call *call, int class, const char *words,
                const char *what)
{
    for (int verb = from; verb < (int)to; verb++) {
        char text[100];

        snprintf(text, sizeof text, "%s with %s", verbs[verb], what);
        fails(make((enum verb)verb, call), class, words, text);
    }
}

static struct call good(void)
{
    return (struct call){buffer.at, 10, MPI_BYTE, (job.rank + 1) % job.size, 3, MPI_COMM_WORLD};
}

static void ranks_and_tags(void)
{
    struct call call = good();
    int flag, *most;
    char number[20];

    job_test("ranks that are not");
    snprintf(number, sizeof number, "%d", job.size);
    call.peer = job.size;
    all(SEND, VERBS, &call, MPI_ERR_RANK, number, "the rank behind the last");
    call.peer = -77;
    all(SEND, VERBS, &call, MPI_ERR_RANK, "-77", "a negative rank");
    call.peer = MPI_ANY_SOURCE;
    all(SEND, RECV, &call, MPI_ERR_RANK, "any_source|-1|-2|destination|rank", "MPI_ANY_SOURCE");
    job_result();

    job_test("tags that are not");
    call = good();
    call.tag = -5;
    all(SEND, VERBS, &call, MPI_ERR_TAG, "-5", "a negative tag");
    call.tag = MPI_ANY_TAG;
    all(SEND, RECV, &call, MPI_ERR_TAG, "any_tag|-1|-2|tag", "MPI_ANY_TAG");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &flag);
    if (flag && *most < INT_MAX) {
        call.tag = *most + 1;
        snprintf(number, sizeof number, "%d", call.tag);
        all(SEND, VERBS, &call, MPI_ERR_TAG, number, "a tag above MPI_TAG_UB");
    }
    job_result();
}

static void counts_and_types(void)
{
    struct call call = good();
    MPI_Datatype type;

    job_test("counts that are not");
    call.count = -1;
    all(SEND, PROBE, &call, MPI_ERR_COUNT, "-1", "a negative count");
    fails(MPI_GPUSend_c(buffer.at, -3, MPI_BYTE, 0, 3, MPI_COMM_WORLD), MPI_ERR_COUNT, "-3",
          "send_c");
    fails(MPI_GPURecv_c(buffer.at, -3, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          MPI_ERR_COUNT, "-3", "recv_c");
    job_result();

    job_test("types that are not");
    call = good();
    call.type = MPI_DATATYPE_NULL;
    all(SEND, PROBE, &call, MPI_ERR_TYPE, "type", "MPI_DATATYPE_NULL");
    job_result();

    job_test("a type that was not committed is refused, or taken as MPI would take it");
    MPI_Type_contiguous(3, MPI_INT, &type);
    call.type = type;
    call.count = 1;
    for (int verb = SEND; verb < PROBE; verb++) {
        int status;

        call.peer = MPI_PROC_NULL;
        status = make((enum verb)verb, &call);
        if (status != MPI_SUCCESS)
            fails(status, MPI_ERR_TYPE, "type", verbs[verb]);
    }
    MPI_Type_free(&type);
    job_result();
}

static void buffers(void)
{
    struct call call = good();

    job_test("NULL for a buffer");
    call.buf = NULL;
    all(SEND, PROBE, &call, MPI_ERR_BUFFER, "NULL|buffer", "NULL");
    job_result();
}

static void communicators(void)
{
    struct call call = good();
    MPI_Comm half, inter, unseen;
    char ranks[40];

    job_test("MPI_COMM_NULL");
    call.comm = MPI_COMM_NULL;
    all(SEND, VERBS, &call, MPI_ERR_COMM, "comm", "MPI_COMM_NULL");
    fails(gpubind_comm_attach(MPI_COMM_NULL), MPI_ERR_COMM, "comm", "attach");
    job_result();

    job_test("an intercommunicator");
    MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, job.rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !(job.rank % 2), 8, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    call.comm = inter;
    call.peer = 0;
    all(SEND, VERBS, &call, MPI_ERR_COMM, "inter", "an intercommunicator");
    fails(gpubind_comm_attach(inter), MPI_ERR_COMM, "inter", "attach");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    job_result();

    job_test("a communicator that nobody attached is refused by its name, then attached");
    PMPI_Comm_split(MPI_COMM_WORLD, 0, job.rank, &unseen);
    MPI_Comm_set_errhandler(unseen, MPI_ERRORS_RETURN);
    call = good();
    call.comm = unseen;
    snprintf(ranks, sizeof ranks, "of %d ranks", job.size);
    all(SEND, VERBS, &call, MPI_ERR_COMM, ranks, "one that nobody attached or named");
    MPI_Comm_set_name(unseen, "the_grid");
    all(SEND, VERBS, &call, MPI_ERR_COMM, "the_grid", "one that nobody attached");
    succeeds(gpubind_comm_attach(unseen), "attach");
    buffer_fill(&buffer, 0, 10, 8 + (uint64_t)job.rank);
    buffer_reset(&other);
    succeeds(gpubind_sendrecv(buffer.at, 10, MPI_BYTE, (job.rank + 1) % job.size, 3, other.at, 10,
                              MPI_BYTE, (job.rank + job.size - 1) % job.size, 3, unseen,
                              MPI_STATUS_IGNORE),
             "sendrecv");
    received(&other, 10, 8 + (uint64_t)((job.rank + job.size - 1) % job.size), "sendrecv");
    MPI_Comm_free(&unseen);
    job_result();
}

static void nothing_was_sent(void)
{
    struct gpubind_message message;
    int flag = 1;

    job_test("none of this sent anything, and a good message is right");
    job_barrier();
    succeeds(gpubind_iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message),
             "iprobe");
    expect(!flag, "a message from %d with tag %d", message.source, message.tag);
    job_barrier();
    buffer_fill(&buffer, 0, 1000, (uint64_t)job.rank);
    buffer_reset(&other);
    succeeds(gpubind_sendrecv(buffer.at, 1000, MPI_BYTE, (job.rank + 1) % job.size, 3, other.at,
                              1000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE),
             "sendrecv");
    received(&other, 1000, (uint64_t)((job.rank + job.size - 1) % job.size), "sendrecv");
    job_result();
}

void test_arguments(void)
{
    need_buffer(&buffer, MEMORY_DEVICE, 1000);
    need_buffer(&other, MEMORY_DEVICE, 1000);
    ranks_and_tags();
    counts_and_types();
    buffers();
    communicators();
    nothing_was_sent();
    buffer_clear(&buffer);
    buffer_clear(&other);
}

/* `ranks abort WHAT`: rank 1 makes this mistake under MPI's default error handler, which
 * ends the job. */
void test_abort(void)
{
    const char *what = nargs ? arguments[0] : "";
    struct call call = {0}, receive;
    MPI_Comm unseen;

    need_buffer(&buffer, MEMORY_DEVICE, 1000);
    call = good();
    call.peer = 0;
    receive = call;
    receive.peer = 1;
    receive.count = 1; /* of 10 */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    PMPI_Comm_split(MPI_COMM_WORLD, 0, job.rank, &unseen);
    MPI_Comm_set_name(unseen, "the_grid");
    job_barrier();
    if (strcmp(what, "rank") == 0)
        call.peer = 4711;
    else if (strcmp(what, "tag") == 0)
        call.tag = -4711;
    else if (strcmp(what, "count") == 0)
        call.count = -4711;
    else if (strcmp(what, "type") == 0)
        call.type = MPI_DATATYPE_NULL;
    else if (strcmp(what, "buffer") == 0)
        call.buf = NULL;
    else if (strcmp(what, "comm") == 0)
        call.comm = unseen;
    if (job.rank == 1) {
        make(SEND, &call);
        if (strcmp(what, "truncate") != 0)
            printf("survived\n");
    } else if (job.rank == 0) {
        make(RECV, &receive);
        if (strcmp(what, "truncate") == 0)
            printf("survived\n");
    }
    fflush(stdout);
    job_barrier();
}
