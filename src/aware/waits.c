/* The functions that start, complete, test, cancel and free requests. */
#include <sched.h>
#include <stdlib.h>

#include "aware/calls.h"
#include "aware/counts.h"

/* After the call of MPI: result, and the error of a copy to the GPU, or of a direct message, of a request
 * of that communicator. */
static int ended(int result, int error, MPI_Comm comm)
{
    return result != MPI_SUCCESS || error == MPI_SUCCESS ? result : call_refused(comm, error);
}

/* MPI has completed the request. */
static int ended_one(int result, struct staged_request *staged, MPI_Request handle,
                     MPI_Status *status)
{
    const MPI_Comm comm = requests_comm(staged);

    return ended(result, requests_complete(staged, handle, status), comm);
}

static bool is_complete(MPI_Request request)
{
    const bool was_behind = is_behind;
    int complete = 1;

    is_behind = true;
    if (request != MPI_REQUEST_NULL &&
        PMPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        complete = 1; /* MPI's wait finds the error */
    is_behind = was_behind;
    return complete;
}

/* While direct messages are under way, this process looks after them, until MPI's wait for the requests
 * would return at once. */
static void wait_for_all(int n, const MPI_Request requests[])
{
    int ncomplete = 0;

    for (unsigned spins = 1; ncomplete < n && calls_are_pending(); spins++) {
        calls_progress();
        if (is_complete(requests[ncomplete]))
            ncomplete++;
        else if (spins % 64 == 0)
            sched_yield();
    }
}

/* ---- one */

NEXT(MPI_Wait)
AWARE_PUBLIC int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct staged_request *staged;
    MPI_Status own = {0};
    int result;

    wait_for_all(1, request);
    staged = requests_take(*request);
    requests_sweep(false);
    status = staged && status == MPI_STATUS_IGNORE ? &own : status;
    result = BEHIND(MPI_Wait, request, status);
    return ended_one(result, staged, *request, status);
}

NEXT(MPI_Test)
AWARE_PUBLIC int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct staged_request *staged;
    MPI_Status own = {0};
    int result;

    calls_progress();
    staged = requests_take(*request);
    requests_sweep(false);
    status = staged && status == MPI_STATUS_IGNORE ? &own : status;
    *flag = 0;
    result = BEHIND(MPI_Test, request, flag, status);
    if (*flag || result != MPI_SUCCESS)
        return ended_one(result, staged, *request, status);
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

    calls_progress();
    staged = requests_take(request);
    status = staged && status == MPI_STATUS_IGNORE ? &own : status;
    *flag = 0;
    result = BEHIND(MPI_Request_get_status, request, flag, status);
    if (*flag)
        result = ended(result, requests_see_complete(staged, status), requests_comm(staged));
    if (staged)
        requests_put_back(staged);
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
    return BEHIND(MPI_Request_free, request);
}

NEXT(MPI_Start)
AWARE_PUBLIC int MPI_Start(MPI_Request *request)
{
    struct staged_request *staged = requests_take(*request);
    const MPI_Comm comm = requests_comm(staged);
    int result = requests_read(staged);

    if (result == MPI_SUCCESS) {
        result = BEHIND(MPI_Start, request);
        requests_started(staged, *request, result == MPI_SUCCESS);
        return result;
    }
    requests_put_back(staged);
    return call_refused(comm, result);
}

/* ---- several */

#define FEW 64

/* The staged ones of n requests, and statuses where the application wants none. */
struct several {
    int n;
    struct staged_request *few[FEW], **staged;
    MPI_Status few_statuses[FEW], *own, *statuses;
    MPI_Request *requests;
    bool failed;   /* a request has, by an error of this library */
    MPI_Comm comm; /* of the first one */
};

static bool is_any_staged(int n, const MPI_Request *requests)
{
    requests_sweep(false);
    for (int i = 0; i < n; i++)
        if (requests_has(requests[i]))
            return true;
    return false;
}

/* false: out of memory. */
static bool several_begin(struct several *several, int n, MPI_Request *requests,
                          MPI_Status *statuses)
{
    const bool many = n > FEW;

    several->n = 0;
    several->requests = requests;
    several->failed = false;
    several->staged = many ? malloc((size_t)n * sizeof(void *)) : several->few;
    several->own = many && statuses == MPI_STATUSES_IGNORE ? malloc((size_t)n * sizeof *statuses)
                                                           : several->few_statuses;
    several->statuses = statuses == MPI_STATUSES_IGNORE ? several->own : statuses;
    if (!several->staged || !several->own)
        return false;
    for (int i = 0; i < n; i++)
        several->staged[i] = requests_take(requests[i]);
    several->n = n;
    return true;
}

/* Request i is complete. */
static int several_complete(struct several *several, int i, MPI_Status *status)
{
    struct staged_request *request = several->staged[i];

    several->staged[i] = NULL;
    return requests_complete(request, several->requests[i], status);
}

/* Puts those back that are not complete. */
static void several_end(struct several *several)
{
    for (int i = 0; i < several->n; i++)
        if (several->staged[i])
            requests_put_back(several->staged[i]);
    if (several->staged != several->few)
        free(several->staged);
    if (several->own != several->few_statuses)
        free(several->own);
}

/* Request i of those that ended, of which the first n statuses tell, is complete. */
static void several_end_one(struct several *several, int i, MPI_Status *status, int n)
{
    const MPI_Comm comm = requests_comm(several->staged[i]);
    const int error = several_complete(several, i, status);

    if (error == MPI_SUCCESS)
        return;
    for (int j = 0; !several->failed && j < n; j++)
        several->statuses[j].MPI_ERROR = MPI_SUCCESS;
    if (!several->failed)
        several->comm = comm;
    several->failed = true;
    status->MPI_ERROR = error;
}

/* What the call returns. */
static int several_result(const struct several *several, int result)
{
    return several->failed && result == MPI_SUCCESS ? call_refused(several->comm, MPI_ERR_IN_STATUS)
                                                    : result;
}

/* All n have ended, or those whose status says so. */
static int complete_all(struct several *several, int result)
{
    for (int i = 0; i < several->n; i++) {
        MPI_Status *status = &several->statuses[i];

        if (result != MPI_ERR_IN_STATUS || status->MPI_ERROR != MPI_ERR_PENDING)
            several_end_one(several, i, status, result == MPI_ERR_IN_STATUS ? 0 : several->n);
    }
    return several_result(several, result);
}

/* That one has ended. */
static int complete_any(struct several *several, int i, MPI_Status *status, int result)
{
    const MPI_Comm comm = requests_comm(several->staged[i]);

    return ended(result, several_complete(several, i, status), comm);
}

NEXT(MPI_Startall)
AWARE_PUBLIC int MPI_Startall(int n, MPI_Request requests[])
{
    struct several several;
    int result = MPI_SUCCESS;

    if (!is_any_staged(n, requests))
        return BEHIND(MPI_Startall, n, requests);
    if (!several_begin(&several, n, requests, MPI_STATUSES_IGNORE))
        result = MPI_ERR_NO_MEM;
    for (int i = 0; i < n && result == MPI_SUCCESS; i++)
        result = requests_read(several.staged[i]);
    if (result != MPI_SUCCESS) {
        several_end(&several);
        return call_refused(MPI_COMM_SELF, result);
    }
    result = BEHIND(MPI_Startall, n, requests);
    for (int i = 0; i < n; i++) {
        requests_started(several.staged[i], requests[i], result == MPI_SUCCESS);
        several.staged[i] = NULL;
    }
    several_end(&several);
    return result;
}

NEXT(MPI_Waitall)
AWARE_PUBLIC int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    struct several several;
    int result = MPI_ERR_NO_MEM;

    wait_for_all(n, requests);
    if (!is_any_staged(n, requests))
        return BEHIND(MPI_Waitall, n, requests, statuses);
    if (several_begin(&several, n, requests, statuses)) {
        result = BEHIND(MPI_Waitall, n, requests, several.statuses);
        result = complete_all(&several, result);
    }
    several_end(&several);
    return result;
}

NEXT(MPI_Testall)
AWARE_PUBLIC int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    struct several several;
    int result = MPI_ERR_NO_MEM;

    calls_progress();
    if (!is_any_staged(n, requests))
        return BEHIND(MPI_Testall, n, requests, flag, statuses);
    *flag = 0;
    if (several_begin(&several, n, requests, statuses)) {
        result = BEHIND(MPI_Testall, n, requests, flag, several.statuses);
        if (*flag || result == MPI_ERR_IN_STATUS)
            result = complete_all(&several, result);
    }
    several_end(&several);
    return result;
}

NEXT(MPI_Testany)
static int test_any(int n, MPI_Request requests[], int *which, int *flag, MPI_Status *status)
{
    struct several several;
    MPI_Status own = {0};
    int result = MPI_ERR_NO_MEM;

    calls_progress();
    if (!is_any_staged(n, requests))
        return BEHIND(MPI_Testany, n, requests, which, flag, status);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    if (several_begin(&several, n, requests, MPI_STATUSES_IGNORE)) {
        *which = MPI_UNDEFINED;
        *flag = 0;
        result = BEHIND(MPI_Testany, n, requests, which, flag, status);
        if (*which != MPI_UNDEFINED && (*flag || result != MPI_SUCCESS))
            result = complete_any(&several, *which, status, result);
    }
    several_end(&several);
    return result;
}

AWARE_PUBLIC int MPI_Testany(int n, MPI_Request requests[], int *which, int *flag,
                             MPI_Status *status)
{
    return test_any(n, requests, which, flag, status);
}

NEXT(MPI_Waitany)
/* With direct messages under way. */
static int wait_for_any(int n, MPI_Request requests[], int *which, MPI_Status *status)
{
    int result, flag = 0;

    do
        result = test_any(n, requests, which, &flag, status);
    while (result == MPI_SUCCESS && !flag);
    /* MPICH's MPI_Testany sets no status where all are inactive. */
    return result == MPI_SUCCESS && *which == MPI_UNDEFINED
               ? BEHIND(MPI_Waitany, n, requests, which, status)
               : result;
}

AWARE_PUBLIC int MPI_Waitany(int n, MPI_Request requests[], int *which, MPI_Status *status)
{
    struct several several;
    MPI_Status own = {0};
    int result = MPI_ERR_NO_MEM;

    if (calls_are_pending())
        return wait_for_any(n, requests, which, status);
    if (!is_any_staged(n, requests))
        return BEHIND(MPI_Waitany, n, requests, which, status);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    if (several_begin(&several, n, requests, MPI_STATUSES_IGNORE)) {
        *which = MPI_UNDEFINED;
        result = BEHIND(MPI_Waitany, n, requests, which, status);
        if (*which != MPI_UNDEFINED)
            result = complete_any(&several, *which, status, result);
    }
    several_end(&several);
    return result;
}

#define SOME(name, function)                                                     \
    NEXT(name)                                                                   \
    static int function(int n, MPI_Request requests[], int *nended, int which[], \
                        MPI_Status statuses[])                                   \
    {                                                                            \
        struct several several;                                                  \
        int result = MPI_ERR_NO_MEM;                                             \
                                                                                 \
        if (!is_any_staged(n, requests))                                         \
            return BEHIND(name, n, requests, nended, which, statuses);           \
        if (several_begin(&several, n, requests, statuses)) {                    \
            *nended = MPI_UNDEFINED;                                             \
            result = BEHIND(name, n, requests, nended, which, several.statuses); \
            for (int i = 0; *nended != MPI_UNDEFINED && i < *nended; i++)        \
                several_end_one(&several, which[i], &several.statuses[i],        \
                                result == MPI_ERR_IN_STATUS ? 0 : *nended);      \
            result = several_result(&several, result);                           \
        }                                                                        \
        several_end(&several);                                                   \
        return result;                                                           \
    }
SOME(MPI_Testsome, test_some)
SOME(MPI_Waitsome, wait_some)

AWARE_PUBLIC int MPI_Testsome(int n, MPI_Request requests[], int *nended, int which[],
                              MPI_Status statuses[])
{
    calls_progress();
    return test_some(n, requests, nended, which, statuses);
}

AWARE_PUBLIC int MPI_Waitsome(int n, MPI_Request requests[], int *nended, int which[],
                              MPI_Status statuses[])
{
    int result;

    if (!calls_are_pending())
        return wait_some(n, requests, nended, which, statuses);
    do {
        calls_progress();
        result = test_some(n, requests, nended, which, statuses);
    } while (result == MPI_SUCCESS && *nended == 0);
    return result;
}

/* ---- the end */

NEXT(MPI_Finalize)
AWARE_PUBLIC int MPI_Finalize(void)
{
    requests_sweep(true); /* those that the application has freed, as MPI would complete them */
    if (direct_segment_end())
        direct_sends_end();
    counts_print();
    return BEHIND(MPI_Finalize);
}
