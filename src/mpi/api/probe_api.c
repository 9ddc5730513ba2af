/* The calls that look at messages before they are received: probes, matched probes and their
 * receives, and a receive into new memory. */
#include "mpi/core/context.h"
#include "mpi/core/peer_alive.h"
#include "mpi/core/progress.h"
#include "mpi/core/wait_notice.h"
#include "mpi/datatype/type_cache.h"
#include "mpi/gpubind.h"
#include "mpi/message/message.h"
#include "mpi/p2p/device_memory.h"
#include "mpi/p2p/incoming.h"
#include "mpi/p2p/tag_match.h"

struct looking {
    struct comm *comm;
    int source, tag;
};

static bool is_there(const void *argument)
{
    const struct looking *looking = argument;

    return match_peek(looking->comm, looking->source, looking->tag);
}

static void describe(const struct msg_header *header, struct gpubind_message *message)
{
    message->source = header->source;
    message->tag = header->tag;
    message->on_gpu = (header->flags & MSG_ON_GPU) != 0;
    message->type = type_numbered(header->type);
    message->count = (MPI_Count)(header->nbytes / type_numbered_size(header->type));
    message->nbytes = (MPI_Count)header->nbytes;
}

static void describe_nothing(struct gpubind_message *message)
{
    *message = (struct gpubind_message){MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_BYTE, 0, 0};
}

static int check(const struct looking *looking, struct gpubind_error *err)
{
    if (looking->source != MPI_ANY_SOURCE && looking->source != MPI_PROC_NULL &&
        (looking->source < 0 || looking->source >= looking->comm->size)) {
        error_set(err, "the source is rank %d of a communicator of %d", looking->source,
                  looking->comm->size);
        return MPI_ERR_RANK;
    }
    if (looking->tag != MPI_ANY_TAG &&
        (looking->tag < 0 || looking->tag > looking->comm->tag_most)) {
        error_set(err, "the tag is %d, not 0 to %d", looking->tag, looking->comm->tag_most);
        return MPI_ERR_TAG;
    }
    return MPI_SUCCESS;
}

/* The rank from which a message is awaited, or one of any source, is gone. */
static bool is_lost(const struct looking *looking, struct gpubind_error *err)
{
    const struct comm *comm = looking->comm;
    const bool any = looking->source == MPI_ANY_SOURCE;
    const int lost = any ? comm_lost_rank(comm) : looking->source;

    if (lost < 0 ||
        (!any && !peer_is_gone(comm->domain, &comm->domain->peers[comm->domain_ranks[lost]])))
        return false;
    incoming_read_all();
    if (is_there(looking))
        return false;
    if (any)
        comm_lost_told(looking->comm, lost);
    error_set(err, "rank %d is gone", lost);
    return true;
}

static int await(const struct looking *looking, struct gpubind_error *err)
{
    const double since = clock_seconds();

    while (!progress_wait_for(is_there, looking, 0.1)) {
        if (is_lost(looking, err))
            return MPI_ERR_OTHER;
        wait_notice_check_probe(looking->comm, looking->source, looking->tag, since);
    }
    return MPI_SUCCESS;
}

/* Describes the message that a receive would take. wait: until there is one. *flag: message was
 * filled. An MPI error class, with a sentence. */
static int look(const struct looking *looking, bool wait, int *flag,
                struct gpubind_message *message, struct gpubind_error *err)
{
    int result = check(looking, err);

    *flag = 0;
    if (result != MPI_SUCCESS)
        return result;
    *flag = 1;
    if (looking->source == MPI_PROC_NULL) {
        describe_nothing(message);
        return MPI_SUCCESS;
    }
    if (wait)
        result = await(looking, err);
    else
        progress_poll();
    *flag = is_there(looking);
    if (*flag && result == MPI_SUCCESS)
        describe(&match_peek(looking->comm, looking->source, looking->tag)->header, message);
    return result;
}

static struct incoming_msg *incoming_of(gpubind_matched matched)
{
    return (struct incoming_msg *)matched;
}

/* Takes the message that was found. Its communicator stays until it is received. */
static gpubind_matched take(struct comm *comm, const struct gpubind_message *message)
{
    if (message->source == MPI_PROC_NULL)
        return GPUBIND_MATCHED_NO_PROC;
    comm->operations++;
    return (gpubind_matched)match_extract(comm, message->source, message->tag);
}

/* matched: takes the message. NULL: only describes it. */
static int look_in(MPI_Comm user, int source, int tag, bool wait, int *flag,
                   gpubind_matched *matched, struct gpubind_message *message, const char *call)
{
    struct gpubind_message here;
    struct gpubind_error err;
    struct looking looking;
    int result;

    library_enter(call);
    *flag = 0;
    if (matched)
        *matched = GPUBIND_MATCHED_NULL;
    looking = (struct looking){library_comm(user, &result, &err), source, tag};
    if (looking.comm)
        result = look(&looking, wait, flag, &here, &err);
    if (result == MPI_SUCCESS && *flag) {
        if (matched)
            *matched = take(looking.comm, &here);
        if (message)
            *message = here;
    }
    return library_leave(user, result, call, &err);
}

int gpubind_probe(int source, int tag, MPI_Comm comm, struct gpubind_message *message)
{
    int flag;

    return look_in(comm, source, tag, true, &flag, NULL, message, "gpubind_probe");
}

int gpubind_iprobe(int source, int tag, MPI_Comm comm, int *flag, struct gpubind_message *message)
{
    return look_in(comm, source, tag, false, flag, NULL, message, "gpubind_iprobe");
}

int gpubind_mprobe(int source, int tag, MPI_Comm comm, gpubind_matched *matched,
                   struct gpubind_message *message)
{
    int flag;

    return look_in(comm, source, tag, true, &flag, matched, message, "gpubind_mprobe");
}

int gpubind_improbe(int source, int tag, MPI_Comm comm, int *flag, gpubind_matched *matched,
                    struct gpubind_message *message)
{
    return look_in(comm, source, tag, false, flag, matched, message, "gpubind_improbe");
}

/* ---- receives of matched messages */

/* The communicator of the message, any for one from MPI_PROC_NULL. NULL with a sentence. */
static struct comm *comm_of_matched(gpubind_matched matched, int *result, struct gpubind_error *err)
{
    struct comm *world = library_comm(MPI_COMM_WORLD, result, err);

    if (!world || matched == GPUBIND_MATCHED_NO_PROC)
        return world;
    if (matched != GPUBIND_MATCHED_NULL && match_is_extracted(incoming_of(matched)))
        return comm_with(incoming_of(matched)->header.context);
    *result = MPI_ERR_REQUEST;
    error_set(err, matched == GPUBIND_MATCHED_NULL
                       ? "the message is GPUBIND_MATCHED_NULL"
                       : "the message was received already, or is of no gpubind_mprobe");
    return NULL;
}

/* Starts to receive the message. NULL with *result and a sentence: the message stays. */
static struct gpubind_operation *start(void *buf, MPI_Count count, MPI_Datatype type,
                                       gpubind_matched *matched, struct comm *comm, bool blocking,
                                       int *result, struct gpubind_error *err)
{
    const bool no_proc = *matched == GPUBIND_MATCHED_NO_PROC;
    struct incoming_msg *incoming = no_proc ? NULL : incoming_of(*matched);
    const struct arguments arguments = {buf,
                                        count,
                                        type,
                                        no_proc ? MPI_PROC_NULL : incoming->header.source,
                                        no_proc ? 0 : incoming->header.tag,
                                        comm->user};
    struct gpubind_operation *receive = message_prepare(&arguments, comm, REQUEST_RECEIVE,
                                                        blocking ? CALL_BLOCKING : CALL_NONBLOCKING,
                                                        result, err);

    if (!receive)
        return NULL;
    *matched = GPUBIND_MATCHED_NULL;
    if (no_proc) {
        message_start(receive, blocking);
        return receive;
    }
    match_receive_extracted(receive, incoming);
    comm_leave(comm); /* the receive is one of its operations now */
    return receive;
}

int gpubind_mrecv_c(void *buf, MPI_Count count, MPI_Datatype type, gpubind_matched *matched,
                    MPI_Status *status)
{
    struct gpubind_operation *receive = NULL;
    MPI_Comm user = MPI_COMM_WORLD;
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter("gpubind_mrecv");
    comm = comm_of_matched(*matched, &result, &err);
    if (comm) {
        user = comm->user;
        receive = start(buf, count, type, matched, comm, true, &result, &err);
    }
    if (receive) {
        if (!receive->done)
            progress_wait(&receive, 1, false);
        result = request_finish(receive, status, &err);
        message_sweep();
    }
    return library_leave(user, result, "gpubind_mrecv", &err);
}

int gpubind_mrecv(void *buf, int count, MPI_Datatype type, gpubind_matched *matched,
                  MPI_Status *status)
{
    return gpubind_mrecv_c(buf, count, type, matched, status);
}

int gpubind_imrecv_c(void *buf, MPI_Count count, MPI_Datatype type, gpubind_matched *matched,
                     gpubind_request *request)
{
    MPI_Comm user = MPI_COMM_WORLD;
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter("gpubind_imrecv");
    *request = GPUBIND_REQUEST_NULL;
    comm = comm_of_matched(*matched, &result, &err);
    if (comm) {
        user = comm->user;
        *request = start(buf, count, type, matched, comm, false, &result, &err);
    }
    return library_leave(user, result, "gpubind_imrecv", &err);
}

int gpubind_imrecv(void *buf, int count, MPI_Datatype type, gpubind_matched *matched,
                   gpubind_request *request)
{
    return gpubind_imrecv_c(buf, count, type, matched, request);
}

/* ---- a receive into new memory */

/* Receives the message that was found: no other thread can, since the lock is held from the look
 * to the match. */
static int receive_seen(struct comm *comm, const struct gpubind_message *message, void *buf,
                        struct gpubind_error *err)
{
    struct gpubind_operation *receive = request_make(REQUEST_RECEIVE);

    if (!receive) {
        error_set(err, "out of memory");
        return MPI_ERR_NO_MEM;
    }
    request_attach(receive, comm);
    receive->rank = message->source;
    receive->tag = message->tag;
    receive->buffer = buf;
    receive->nbytes = (uint64_t)message->nbytes;
    if (memory_of(buf, &receive->memory, err) < 0) {
        request_free(receive);
        return MPI_ERR_OTHER;
    }
    match_receive(receive);
    if (!receive->done)
        progress_wait(&receive, 1, false);
    return request_finish(receive, MPI_STATUS_IGNORE, err);
}

/* Memory for the message that a receive would take, which is described. An allocation that waits for memory lets
 * other threads go on, which may receive that message: then it is none for this buffer. */
static int allocate_for_next(const struct looking *looking, void **buf,
                             struct gpubind_message *message, struct gpubind_error *err)
{
    struct gpubind_message again;
    int flag, result;

    for (;;) {
        result = look(looking, true, &flag, message, err);
        if (result != MPI_SUCCESS || message->source == MPI_PROC_NULL || message->nbytes == 0)
            return result;
        result = memory_allocate(buf, (size_t)message->nbytes, err);
        if (result != MPI_SUCCESS)
            return result;
        result = look(looking, false, &flag, &again, err);
        if (result == MPI_SUCCESS && flag && again.source == message->source &&
            again.tag == message->tag && again.nbytes == message->nbytes)
            return result;
        memory_free_later(*buf, NULL);
        *buf = NULL;
        if (result != MPI_SUCCESS)
            return result;
    }
}

static int receive_new(const struct looking *looking, struct comm *comm, void **buf,
                       struct gpubind_message *message, struct gpubind_error *err)
{
    int result = allocate_for_next(looking, buf, message, err);

    if (result != MPI_SUCCESS || message->source == MPI_PROC_NULL)
        return result;
    result = receive_seen(comm, message, *buf, err);
    if (result != MPI_SUCCESS && *buf) {
        memory_free_later(*buf, NULL);
        *buf = NULL;
    }
    return result;
}

int gpubind_recv_alloc(void **buf, int source, int tag, MPI_Comm user,
                       struct gpubind_message *message)
{
    struct gpubind_message here;
    struct gpubind_error err;
    struct looking looking;
    struct comm *comm;
    int result;

    library_enter("gpubind_recv_alloc");
    *buf = NULL;
    comm = library_comm(user, &result, &err);
    looking = (struct looking){comm, source, tag};
    if (comm)
        result = receive_new(&looking, comm, buf, message ? message : &here, &err);
    return library_leave(user, result, "gpubind_recv_alloc", &err);
}
