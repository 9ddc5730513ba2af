/* The calls that set up, start and free persistent requests. */
#include "mpi/api/freed_requests.h"
#include "mpi/core/context.h"
#include "mpi/gpubind.h"
#include "mpi/persistent/persistent.h"

static int init(const struct arguments *arguments, enum request_kind kind, gpubind_request *request,
                const char *call)
{
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter(call);
    *request = GPUBIND_REQUEST_NULL;
    comm = library_comm(arguments->comm, &result, &err);
    if (comm)
        *request = persistent_make(arguments, comm, kind, PERSISTENT_CALL, false, &result, &err);
    return library_leave(arguments->comm, result, call, &err);
}

int gpubind_send_init_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag,
                        MPI_Comm comm, gpubind_request *request)
{
    return init(&(struct arguments){buf, count, type, dest, tag, comm}, REQUEST_SEND, request,
                "gpubind_send_init");
}

int gpubind_send_init(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                      MPI_Comm comm, gpubind_request *request)
{
    return gpubind_send_init_c(buf, count, type, dest, tag, comm, request);
}

int gpubind_recv_init_c(void *buf, MPI_Count count, MPI_Datatype type, int source, int tag,
                        MPI_Comm comm, gpubind_request *request)
{
    return init(&(struct arguments){buf, count, type, source, tag, comm}, REQUEST_RECEIVE, request,
                "gpubind_recv_init");
}

int gpubind_recv_init(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                      gpubind_request *request)
{
    return gpubind_recv_init_c(buf, count, type, source, tag, comm, request);
}

/* Errors go to the handler of the first request's communicator. */
static MPI_Comm comm_of_requests(int n, gpubind_request requests[])
{
    for (int i = 0; i < n; i++)
        if (requests[i] && requests[i]->comm)
            return requests[i]->comm->user;
    return MPI_COMM_WORLD;
}

/* MPI_SUCCESS, or an error class with a sentence. */
static int check(int n, struct gpubind_error *err)
{
    if (n < 0) {
        error_set(err, "the number of requests is %d", n);
        return MPI_ERR_COUNT;
    }
    if (library_started())
        return MPI_SUCCESS;
    error_set(err, "the library has not begun, or has ended");
    return MPI_ERR_OTHER;
}

static int start(int n, gpubind_request requests[], const char *call)
{
    struct gpubind_error err;
    MPI_Comm comm;
    int result;

    library_enter(call);
    comm = comm_of_requests(n, requests);
    result = check(n, &err);
    if (result == MPI_SUCCESS)
        result = persistent_start(requests, n, &err);
    return library_leave(comm, result, call, &err);
}

int gpubind_start(gpubind_request *request)
{
    return start(1, request, "gpubind_start");
}

int gpubind_startall(int n, gpubind_request requests[])
{
    return start(n, requests, "gpubind_startall");
}

int gpubind_startall_on_stream(int n, gpubind_request requests[], gpubind_stream stream)
{
    struct gpubind_error err;
    MPI_Comm comm;
    int result;

    library_enter("gpubind_startall_on_stream");
    comm = comm_of_requests(n, requests);
    result = check(n, &err);
    if (result == MPI_SUCCESS)
        result = persistent_start_on_stream(requests, n, stream, &err);
    return library_leave(comm, result, "gpubind_startall_on_stream", &err);
}

int gpubind_request_free(gpubind_request *request)
{
    struct gpubind_operation *operation = *request;
    struct gpubind_error err;
    MPI_Comm comm;
    bool outlived;
    int result;

    library_enter("gpubind_request_free");
    outlived = request_has_outlived(operation);
    comm = comm_of_requests(1, request);
    result = MPI_SUCCESS;
    if (!operation) {
        error_set(&err, "the request is GPUBIND_REQUEST_NULL");
        result = MPI_ERR_REQUEST;
    } else if (request_is_stale(operation)) {
        result = request_refuse_stale(&err);
    } else if (operation->inactive) {
        result = persistent_free(operation, &err);
    } else if (outlived) {
        request_finish(operation, MPI_STATUS_IGNORE, &err);
    } else {
        freed_add(operation);
    }
    *request = GPUBIND_REQUEST_NULL;
    return library_leave(comm, result, "gpubind_request_free", &err);
}
