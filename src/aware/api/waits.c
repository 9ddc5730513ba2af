/* The functions that start, complete, test, cancel and free one request. */
#include "aware/request/calls.h"
#include "aware/request/persistent.h"
#include "aware/request/several.h"

/* The status that MPI is given. */
static MPI_Status *status_for(const struct several *several, MPI_Status *status)
{
    return several->staged[0] ? several->statuses : status;
}

static int ended(struct several *several, int result)
{
    several_end(several);
    requests_sweep(false); /* the request may tell that a freed receive is complete */
    return result;
}

static const int first = 0;

NEXT(MPI_Test)
static int test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct several several;
    int result;

    several_begin(&several, 1, request, status);
    several_ends_one(&several, &first);
    *flag = 0;
    result = BEHIND(MPI_Test, request, flag, status_for(&several, status));
    if (*flag || result != MPI_SUCCESS)
        result = several_complete_any(&several, 0, several.statuses, result);
    return ended(&several, result);
}

AWARE_PUBLIC int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    progress_step();
    return test(request, flag, status);
}

NEXT(MPI_Wait)
static int wait_for(MPI_Request *request, MPI_Status *status)
{
    struct several several;
    int result;

    several_begin(&several, 1, request, status);
    several_ends_one(&several, &first);
    result = BEHIND(MPI_Wait, request, status_for(&several, status));
    result = several_complete_any(&several, 0, several.statuses, result);
    return ended(&several, result);
}

AWARE_PUBLIC int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    TRACED_RANGE("MPI_Wait");
    struct call_waiting waiting;
    int result = MPI_SUCCESS, flag = 0;

    call_waiting_begin(&waiting);
    while (result == MPI_SUCCESS && !flag && call_is_to_test(&waiting))
        result = test(request, &flag, status);
    call_waiting_end(&waiting);
    return result == MPI_SUCCESS && !flag ? wait_for(request, status) : result;
}

NEXT(MPI_Request_get_status)
AWARE_PUBLIC int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct several several;
    int result;

    progress_step();
    several_look(&several, 1, &request, status);
    *flag = 0;
    result = BEHIND(MPI_Request_get_status, request, flag, status_for(&several, status));
    if (*flag)
        result = several_see_any(&several, 0, several.statuses, result);
    return ended(&several, result);
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

static void undo_start(void *staged, int code)
{
    (void)code;
    if (staged)
        requests_put_back(staged);
}

NEXT(MPI_Start)
AWARE_PUBLIC int MPI_Start(MPI_Request *request)
{
    TRACED_RANGE("MPI_Start");
    struct staged_request *staged = requests_take(*request);
    const MPI_Comm comm = requests_comm(staged);
    int result = persistent_prepare(staged);
    struct undo undo;

    if (persistent_is_direct(staged))
        return persistent_start(staged);
    if (result == MPI_SUCCESS) {
        undo_begin(&undo, undo_start, staged);
        result = BEHIND(MPI_Start, request);
        requests_started(undo_end(&undo) ? NULL : staged, *request, result == MPI_SUCCESS);
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
