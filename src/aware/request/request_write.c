/* MPI has completed a request: what it has written to host memory, or a direct message, goes to the application's
 * buffers, and the trace is told. */
#include "aware/message/direct_receive.h"
#include "aware/request/staged_request.h"

/* Of a message; collectives have no count in their status. */
static MPI_Count bytes_that_came(const struct staged_request *request, const MPI_Status *status)
{
    const bool message = request->buffers[request->n - 1].use & STAGED_DENSE;
    MPI_Count nbytes = -1;

    if (message && PMPI_Get_elements_x(status, MPI_BYTE, &nbytes) != MPI_SUCCESS)
        nbytes = -1;
    return nbytes == MPI_UNDEFINED ? -1 : nbytes;
}

/* A direct message that has come. false: it is an ordinary one. */
static bool write_direct(struct staged_request *request, MPI_Status *status)
{
    enum trace_path path;
    int error;

    if (!request->written && direct_receive(buffer_of_message(request), status, &path, &error)) {
        request->call.event.path = (uint8_t)path;
        PMPI_Get_elements_x(status, MPI_BYTE, &request->direct);
        request->error = error;
        request->written = true;
    }
    if (request->direct >= 0)
        PMPI_Status_set_elements_x(status, MPI_BYTE, request->direct);
    return request->direct >= 0;
}

/* Only receives are, and only their statuses say so: MPICH 4.0's MPI_Request_get_status leaves those of
 * collectives as they were, and Open MPI 4 those of nonblocking reads of files. */
static bool is_cancelled(const struct staged_request *request, const MPI_Status *status)
{
    const unsigned use = request->buffers[request->n - 1].use;
    int cancelled = 0;

    if (use & STAGED_MESSAGE && !(use & STAGED_READ))
        PMPI_Test_cancelled(status, &cancelled);
    return cancelled;
}

static int write(struct staged_request *request, MPI_Status *status, bool cancelled)
{
    int result = MPI_SUCCESS;

    if (!cancelled && write_direct(request, status))
        return request->error;
    for (int i = 0; i < request->n && !request->written && !cancelled; i++) {
        const int error = staged_write(&request->buffers[i], bytes_that_came(request, status));

        if (result == MPI_SUCCESS)
            result = error;
    }
    if (!request->written)
        request->error = result;
    request->written = true;
    return request->error; /* also of an earlier look */
}

int request_write(struct staged_request *request, MPI_Status *status)
{
    const bool cancelled = is_cancelled(request, status);
    const int result = write(request, status, cancelled);

    if (!traced_has_begun(&request->call))
        return result;
    if (cancelled || result != MPI_SUCCESS)
        request->call.event.start = 0;
    else if (request->call.event.kind == TRACE_RECEIVE)
        traced_matched(&request->call, status);
    traced_end(&request->call);
    return result;
}
