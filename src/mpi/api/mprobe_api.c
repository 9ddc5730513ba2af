/* The calls that take a message and receive it later: nobody else receives it meanwhile. */
#include "mpi/api/probe_api.h"
#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/p2p/message.h"
#include "mpi/p2p/tag_match.h"

static struct incoming_msg *arrival_of(gpubind_matched matched)
{
    return (struct incoming_msg *)matched;
}

/* The message that was seen, whose communicator stays until it is received. */
static gpubind_matched take(struct comm *comm, const struct gpubind_message *message)
{
    if (message->source == MPI_PROC_NULL)
        return GPUBIND_MATCHED_NO_PROC;
    comm->operations++;
    return (gpubind_matched)match_extract(comm, message->source, message->tag);
}

static int look_and_take(MPI_Comm user, int source, int tag, bool wait, int *flag,
                         gpubind_matched *matched, struct gpubind_message *message,
                         const char *call)
{
    struct gpubind_message here;
    struct gpubind_error err;
    struct looking looking;
    struct comm *comm;
    int result;

    library_enter();
    *matched = GPUBIND_MATCHED_NULL;
    *flag = 0;
    comm = library_comm(user, &result, &err);
    looking = (struct looking){comm, source, tag};
    if (comm)
        result = probe_look(&looking, wait, flag, &here, &err);
    if (result == MPI_SUCCESS && *flag) {
        *matched = take(comm, &here);
        if (message)
            *message = here;
    }
    return library_leave(user, result, call, &err);
}

int gpubind_mprobe(int source, int tag, MPI_Comm comm, gpubind_matched *matched,
                   struct gpubind_message *message)
{
    int flag;

    return look_and_take(comm, source, tag, true, &flag, matched, message, "gpubind_mprobe");
}

int gpubind_improbe(int source, int tag, MPI_Comm comm, int *flag, gpubind_matched *matched,
                    struct gpubind_message *message)
{
    return look_and_take(comm, source, tag, false, flag, matched, message, "gpubind_improbe");
}

/* Its communicator; that of a message from nobody is any. NULL with a sentence. */
static struct comm *comm_of_matched(gpubind_matched matched, int *result,
                                    struct gpubind_error *err)
{
    struct comm *world = library_comm(MPI_COMM_WORLD, result, err);

    if (!world || matched == GPUBIND_MATCHED_NO_PROC)
        return world;
    if (matched != GPUBIND_MATCHED_NULL && match_is_extracted(arrival_of(matched)))
        return comm_with(arrival_of(matched)->header.context);
    *result = MPI_ERR_REQUEST;
    error_set(err, matched == GPUBIND_MATCHED_NULL
                       ? "the message is GPUBIND_MATCHED_NULL"
                       : "the message was received already, or is of no gpubind_mprobe");
    return NULL;
}

/* A receive of that message, under way; NULL with *result and a sentence, and the message
 * stays. */
static struct gpubind_operation *start(void *buf, MPI_Count count, MPI_Datatype type,
                                       gpubind_matched *matched, struct comm *comm, bool blocking,
                                       int *result, struct gpubind_error *err)
{
    const bool nobody = *matched == GPUBIND_MATCHED_NO_PROC;
    struct incoming_msg *incoming = nobody ? NULL : arrival_of(*matched);
    const struct arguments arguments = {buf, count, type,
                                        nobody ? MPI_PROC_NULL : incoming->header.source,
                                        nobody ? 0 : incoming->header.tag, comm->user};
    struct gpubind_operation *receive = message_prepare(
        &arguments, comm, REQUEST_RECEIVE, blocking ? CALL_BLOCKING : CALL_NONBLOCKING, result,
        err);

    if (!receive)
        return NULL;
    *matched = GPUBIND_MATCHED_NULL;
    if (nobody) {
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

    library_enter();
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

    library_enter();
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
