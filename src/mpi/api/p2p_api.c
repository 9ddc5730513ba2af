/* MPI_GPUSend, MPI_GPURecv, and the other calls that send or receive one message or two. */
#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/gpubind.h"
#include "mpi/message/message.h"

enum verb { SEND, SYNCHRONOUS_SEND, RECEIVE };

/* Starts a message. The caller takes the request, or waits for the message (request NULL). */
static int transfer(const struct arguments *arguments, enum verb verb, gpubind_request *request,
                    MPI_Status *status, const char *call)
{
    const enum request_kind kind = verb == RECEIVE ? REQUEST_RECEIVE : REQUEST_SEND;
    struct gpubind_operation *operation = NULL;
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter_for(call, arguments->rank);
    comm = library_comm(arguments->comm, &result, &err);
    if (comm)
        operation = message_prepare(arguments, comm, kind,
                                    request ? CALL_NONBLOCKING : CALL_BLOCKING, &result, &err);
    if (operation) {
        operation->synchronous = verb == SYNCHRONOUS_SEND;
        message_start(operation, !request);
    }
    if (request) {
        *request = operation;
    } else if (operation) {
        if (!operation->done)
            progress_wait(&operation, 1, false);
        result = request_finish(operation, status, &err);
    }
    return library_leave(arguments->comm, result, call, &err);
}

static int exchange(const struct arguments *sending, const struct arguments *receiving,
                    MPI_Status *status, const char *call)
{
    struct gpubind_operation *both[2] = {NULL, NULL};
    struct gpubind_error err;
    struct comm *comm;
    int result, other;

    library_enter_for(call, sending->rank);
    comm = library_comm(sending->comm, &result, &err);
    if (comm)
        both[0] = message_prepare(receiving, comm, REQUEST_RECEIVE, CALL_BLOCKING, &result, &err);
    if (both[0])
        both[1] = message_prepare(sending, comm, REQUEST_SEND, CALL_BLOCKING, &result, &err);
    if (both[1]) {
        struct gpubind_error second;

        message_start(both[0], false);
        message_start(both[1], true);
        progress_wait(both, 2, false);
        result = request_finish(both[0], status, &err);
        other = request_finish(both[1], MPI_STATUS_IGNORE, &second);
        if (result == MPI_SUCCESS) {
            result = other;
            err = second;
        }
    } else if (both[0]) {
        request_free(both[0]);
    }
    return library_leave(sending->comm, result, call, &err);
}

int MPI_GPUSend_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag,
                  MPI_Comm comm)
{
    return transfer(&(struct arguments){buf, count, type, dest, tag, comm}, SEND, NULL,
                    MPI_STATUS_IGNORE, "MPI_GPUSend");
}

int MPI_GPUSend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    return MPI_GPUSend_c(buf, count, type, dest, tag, comm);
}

int MPI_GPURecv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Status *status)
{
    return transfer(&(struct arguments){buf, count, type, source, tag, comm}, RECEIVE, NULL, status,
                    "MPI_GPURecv");
}

int MPI_GPURecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                MPI_Status *status)
{
    return MPI_GPURecv_c(buf, count, type, source, tag, comm, status);
}

int gpubind_ssend_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag,
                    MPI_Comm comm)
{
    return transfer(&(struct arguments){buf, count, type, dest, tag, comm}, SYNCHRONOUS_SEND, NULL,
                    MPI_STATUS_IGNORE, "gpubind_ssend");
}

int gpubind_ssend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    return gpubind_ssend_c(buf, count, type, dest, tag, comm);
}

int gpubind_isend_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag,
                    MPI_Comm comm, gpubind_request *request)
{
    return transfer(&(struct arguments){buf, count, type, dest, tag, comm}, SEND, request,
                    MPI_STATUS_IGNORE, "gpubind_isend");
}

int gpubind_isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                  gpubind_request *request)
{
    return gpubind_isend_c(buf, count, type, dest, tag, comm, request);
}

int gpubind_issend_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag,
                     MPI_Comm comm, gpubind_request *request)
{
    return transfer(&(struct arguments){buf, count, type, dest, tag, comm}, SYNCHRONOUS_SEND,
                    request, MPI_STATUS_IGNORE, "gpubind_issend");
}

int gpubind_issend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                   gpubind_request *request)
{
    return gpubind_issend_c(buf, count, type, dest, tag, comm, request);
}

int gpubind_irecv_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag,
                    MPI_Comm comm, gpubind_request *request)
{
    return transfer(&(struct arguments){buf, count, type, source, tag, comm}, RECEIVE, request,
                    MPI_STATUS_IGNORE, "gpubind_irecv");
}

int gpubind_irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  gpubind_request *request)
{
    return gpubind_irecv_c(buf, count, type, source, tag, comm, request);
}

int gpubind_sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                       int sendtag, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                       int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    return exchange(&(struct arguments){sendbuf, sendcount, sendtype, dest, sendtag, comm},
                    &(struct arguments){recvbuf, recvcount, recvtype, source, recvtag, comm},
                    status, "gpubind_sendrecv");
}

int gpubind_sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
                     int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype, int source,
                     int recvtag, MPI_Comm comm, MPI_Status *status)
{
    return gpubind_sendrecv_c(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                              recvtype, source, recvtag, comm, status);
}
