/* The functions that start, complete, test, cancel and free one request. */
#include "aware/request/calls.h"
#include "aware/request/persistent.h"

/* MPI has completed the request. */
static int completed(int result, struct staged_request *staged, MPI_Request handle,
                     MPI_Status *status)
{
    const MPI_Comm comm = requests_comm(staged);
    const int error = requests_complete(staged, handle, status);

    requests_sweep(false); /* the request may tell that a freed receive is complete */
    return call_completed(result, error, comm);
}

NEXT(MPI_Wait)
AWARE_PUBLIC int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    TRACED_RANGE("MPI_Wait");
    struct staged_request *staged;
    MPI_Status own = {0};
    int result;

    call_wait_for_all(1, request);
    staged = requests_take(*request);
    status = staged && status == MPI_STATUS_IGNORE ? &own : status;
    persistent_stand_in(staged, request);
    result = BEHIND(MPI_Wait, request, status);
    persistent_restore(staged, request);
    return completed(result, staged, *request, status);
}

NEXT(MPI_Test)
AWARE_PUBLIC int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct staged_request *staged;
    MPI_Status own = {0};
    int result;

    progress_step();
    staged = requests_take(*request);
    status = staged && status == MPI_STATUS_IGNORE ? &own : status;
    *flag = 0;
    persistent_stand_in(staged, request);
    result = BEHIND(MPI_Test, request, flag, status);
    persistent_restore(staged, request);
    if (*flag || result != MPI_SUCCESS)
        return completed(result, staged, *request, status);
    if (staged)
        requests_put_back(staged);
    return result;
}

NEXT(MPI_Request_get_status)
AWARE_PUBLIC int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct staged_request *staged;
    MPI_Status own = {0};
    int result;

    progress_step();
    staged = requests_take(request);
    status = staged && status == MPI_STATUS_IGNORE ? &own : status;
    *flag = 0;
    persistent_stand_in(staged, &request);
    result = BEHIND(MPI_Request_get_status, request, flag, status);
    if (*flag)
        result = call_completed(result, requests_see_complete(staged, status),
                                requests_comm(staged));
    if (staged)
        requests_put_back(staged);
    requests_sweep(false);
    return result;
}

NEXT(MPI_Request_free)
AWARE_PUBLIC int MPI_Request_free(MPI_Request *request)
{
    struct staged_request *staged = requests_take(*request);

    if (staged && requests_free(staged)) {
        *request = MPI_REQUEST_NULL;
        return MPI_SUCCESS;
    }
    if (!staged && !is_behind)
        direct_send_freed(*request);
    return BEHIND(MPI_Request_free, request);
}

NEXT(MPI_Start)
AWARE_PUBLIC int MPI_Start(MPI_Request *request)
{
    TRACED_RANGE("MPI_Start");
    struct staged_request *staged = requests_take(*request);
    const MPI_Comm comm = requests_comm(staged);
    int result = persistent_prepare(staged);

    if (persistent_is_direct(staged))
        return persistent_start(staged);
    if (result == MPI_SUCCESS) {
        result = BEHIND(MPI_Start, request);
        requests_started(staged, *request, result == MPI_SUCCESS);
        return result;
    }
    requests_put_back(staged);
    return call_refused(comm, result);
}

/* A direct message is on its way: its receiver may have it. */
NEXT(MPI_Cancel)
AWARE_PUBLIC int MPI_Cancel(MPI_Request *request)
{
    return !is_behind && persistent_active(*request) != *request ? MPI_SUCCESS
                                                                 : BEHIND(MPI_Cancel, request);
}
