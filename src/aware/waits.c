/* The functions that start, complete, test, cancel and free requests. */
#include <sched.h>
#include <stdlib.h>

#include "aware/calls.h"
#include "aware/counts.h"

/* After the call of MPI: result, and the error of a copy to the GPU, for which there is no
 * communicator. */
static int ended(int result, int error)
{
    return result != MPI_SUCCESS || error == MPI_SUCCESS ? result
                                                         : call_refused(MPI_COMM_SELF, error);
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
    return ended(result, requests_complete(staged, status));
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
        return ended(result, requests_complete(staged, status));
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
    staged = requests_find(request);
    status = staged && status == MPI_STATUS_IGNORE ? &own : status;
    *flag = 0;
    result = BEHIND(MPI_Request_get_status, request, flag, status);
    return *flag ? ended(result, requests_see_complete(staged, status)) : result;
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

/* All of them, or none. */
static int read_all(int n, const MPI_Request requests[])
{
    int result = MPI_SUCCESS;

    for (int i = 0; i < n && result == MPI_SUCCESS; i++)
        result = requests_read(requests_find(requests[i]));
    return result == MPI_SUCCESS ? result : call_refused(MPI_COMM_SELF, result);
}

static int started(int n, const MPI_Request requests[], int result)
{
    for (int i = 0; i < n && result == MPI_SUCCESS; i++)
        requests_started(requests_find(requests[i]));
    return result;
}

NEXT(MPI_Start)
AWARE_PUBLIC int MPI_Start(MPI_Request *request)
{
    const int result = read_all(1, request);

    return result == MPI_SUCCESS ? started(1, request, BEHIND(MPI_Start, request)) : result;
}

NEXT(MPI_Startall)
AWARE_PUBLIC int MPI_Startall(int n, MPI_Request requests[])
{
    const int result = read_all(n, requests);

    return result == MPI_SUCCESS ? started(n, requests, BEHIND(MPI_Startall, n, requests)) : result;
}

/* ---- several */

#define FEW 64

/* The staged ones of n requests, and statuses where the application wants none. */
struct several {
    int n;
    struct staged_request *few[FEW], **staged;
    MPI_Status few_statuses[FEW], *own, *statuses;
};

static bool is_any_staged(int n, const MPI_Request *requests)
{
    requests_sweep(false);
    for (int i = 0; i < n; i++)
        if (requests_find(requests[i]))
            return true;
    return false;
}

/* false: out of memory. */
static bool several_begin(struct several *several, int n, const MPI_Request *requests,
                          MPI_Status *statuses)
{
    const bool many = n > FEW;

    several->n = 0;
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
    return requests_complete(request, status);
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

/* All n have ended, or those whose status says so. */
static int complete_all(struct several *several, int result)
{
    int error = MPI_SUCCESS;

    for (int i = 0; i < several->n; i++) {
        int worse;

        if (result == MPI_ERR_IN_STATUS && several->statuses[i].MPI_ERROR == MPI_ERR_PENDING)
            continue;
        worse = several_complete(several, i, &several->statuses[i]);
        error = error == MPI_SUCCESS ? worse : error;
    }
    return ended(result, error);
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
            result = ended(result, several_complete(&several, *which, status));
    }
    several_end(&several);
    return result;
}

AWARE_PUBLIC int MPI_Testany(int n, MPI_Request requests[], int *which, int *flag,
                             MPI_Status *status)
{
    return test_any(n, requests, which, flag, status);
}

/* With direct messages under way. */
static int wait_for_any(int n, MPI_Request requests[], int *which, MPI_Status *status)
{
    int result, flag = 0;

    do
        result = test_any(n, requests, which, &flag, status);
    while (result == MPI_SUCCESS && !flag);
    return result;
}

NEXT(MPI_Waitany)
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
            result = ended(result, several_complete(&several, *which, status));
    }
    several_end(&several);
    return result;
}

#define SOME(name, function)                                                                \
    NEXT(name)                                                                              \
    static int function(int n, MPI_Request requests[], int *nended, int which[],            \
                        MPI_Status statuses[])                                              \
    {                                                                                       \
        struct several several;                                                             \
        int result = MPI_ERR_NO_MEM;                                                        \
                                                                                            \
        if (!is_any_staged(n, requests))                                                    \
            return BEHIND(name, n, requests, nended, which, statuses);                      \
        if (several_begin(&several, n, requests, statuses)) {                               \
            *nended = MPI_UNDEFINED;                                                        \
            result = BEHIND(name, n, requests, nended, which, several.statuses);            \
            for (int i = 0; *nended != MPI_UNDEFINED && i < *nended; i++)                   \
                result = ended(result,                                                      \
                               several_complete(&several, which[i], &several.statuses[i])); \
        }                                                                                   \
        several_end(&several);                                                              \
        return result;                                                                      \
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
    direct_segment_end();
    direct_sends_end();
    counts_print();
    return BEHIND(MPI_Finalize);
}
