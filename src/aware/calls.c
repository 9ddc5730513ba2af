#include "aware/calls.h"

int call_refused(MPI_Comm comm, int result)
{
    PMPI_Comm_call_errhandler(comm, result);
    return result;
}

int call_ended(struct staged *buffers, int n, int result, MPI_Comm comm)
{
    int error = MPI_SUCCESS;

    for (int i = 0; i < n; i++) {
        if (result == MPI_SUCCESS && error == MPI_SUCCESS)
            error = staged_write(&buffers[i], -1);
        staged_end(&buffers[i]);
    }
    requests_sweep(false); /* this call may tell that a freed receive is complete */
    return error == MPI_SUCCESS ? result : call_refused(comm, error);
}

int call_started(struct staged *buffers, int n, int result, MPI_Request request, bool persistent,
                 MPI_Comm comm)
{
    bool staged = false;

    for (int i = 0; i < n; i++)
        staged |= buffers[i].staged;
    if (!staged)
        return result;
    if (result == MPI_SUCCESS) {
        result = requests_add(request, buffers, n, persistent);
        /* Out of memory: MPI still uses the buffers, which are never given back. */
        return result == MPI_SUCCESS ? result : call_refused(comm, result);
    }
    for (int i = 0; i < n; i++)
        staged_end(&buffers[i]);
    return result;
}
