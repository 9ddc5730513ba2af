/* The functions that start, complete and test lists of requests. */
#include <stdlib.h>

#include "aware/request/calls.h"
#include "aware/request/persistent.h"
#include "aware/request/several.h"

/* The call may tell that a freed receive is complete. Returns result. */
static int swept(int result)
{
    requests_sweep(false);
    return result;
}

/* Those that were prepared, and are not to be started. */
static void abandon_from(struct several *several, int i)
{
    for (; i < several->n; i++)
        persistent_abandon(several->staged[i]);
}

/* The next two return the index of the first request that is not started yet. */
static int start_directly(struct several *several, int i, int *result)
{
    struct staged_request *request = several->staged[i];

    several->staged[i] = NULL;
    *result = persistent_start(request);
    if (*result != MPI_SUCCESS)
        abandon_from(several, i + 1);
    return i + 1;
}

NEXT(MPI_Startall)
static int start_by_mpi(struct several *several, int first, int *result)
{
    int end = first;

    while (end < several->n && !persistent_is_direct(several->staged[end]))
        end++;
    *result = BEHIND(MPI_Startall, end - first, several->requests + first);
    for (int i = first; i < end; i++) {
        requests_started(several->staged[i], several->requests[i], *result == MPI_SUCCESS);
        several->staged[i] = NULL;
    }
    if (*result != MPI_SUCCESS)
        abandon_from(several, end);
    return end;
}

AWARE_PUBLIC int MPI_Startall(int n, MPI_Request requests[])
{
    TRACED_RANGE("MPI_Startall");
    struct several several;
    MPI_Comm comm = MPI_COMM_SELF;
    int result = MPI_SUCCESS;

    if (!requests_have_any(n, requests))
        return BEHIND(MPI_Startall, n, requests);
    if (!several_begin(&several, n, requests, MPI_STATUSES_IGNORE))
        result = MPI_ERR_NO_MEM;
    for (int i = 0; i < n && result == MPI_SUCCESS; i++) {
        comm = requests_comm(several.staged[i]);
        result = persistent_prepare(several.staged[i]);
    }
    if (result != MPI_SUCCESS) {
        abandon_from(&several, 0);
        several_end(&several);
        return call_refused(comm, result);
    }
    for (int i = 0; i < n && result == MPI_SUCCESS;)
        i = persistent_is_direct(several.staged[i]) ? start_directly(&several, i, &result)
                                                    : start_by_mpi(&several, i, &result);
    several_end(&several);
    return result;
}

/* With more than so many requests and no statuses MPICH's MPI_Testall (4.0.2) takes a generalized request, as those of
 * direct messages are, for a message's, and aborts. */
#define WITHOUT_STATUSES 64

NEXT(MPI_Testall)
static int test_by_mpi(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    MPI_Status *own = statuses == MPI_STATUSES_IGNORE && n > WITHOUT_STATUSES
                          ? malloc((size_t)n * sizeof *own)
                          : NULL;
    const int result = BEHIND(MPI_Testall, n, requests, flag, own ? own : statuses);

    free(own);
    return result;
}

static int test_all(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    struct several several;
    int result = MPI_ERR_NO_MEM;

    if (!requests_have_any(n, requests))
        return swept(test_by_mpi(n, requests, flag, statuses));
    *flag = 0;
    if (several_begin(&several, n, requests, statuses)) {
        several_ends_all(&several);
        result = BEHIND(MPI_Testall, n, requests, flag, several.statuses);
        if (*flag || result == MPI_ERR_IN_STATUS)
            result = several_complete_all(&several, result);
    }
    several_end(&several);
    return swept(result);
}

AWARE_PUBLIC int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    progress_step();
    return test_all(n, requests, flag, statuses);
}

NEXT(MPI_Waitall)
static int wait_for_all(int n, MPI_Request requests[], MPI_Status statuses[])
{
    struct several several;
    int result = MPI_ERR_NO_MEM;

    if (!requests_have_any(n, requests))
        return swept(BEHIND(MPI_Waitall, n, requests, statuses));
    if (several_begin(&several, n, requests, statuses)) {
        several_ends_all(&several);
        result = BEHIND(MPI_Waitall, n, requests, several.statuses);
        result = several_complete_all(&several, result);
    }
    several_end(&several);
    return swept(result);
}

AWARE_PUBLIC int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    TRACED_RANGE("MPI_Waitall");
    struct call_waiting waiting;
    int result = MPI_SUCCESS, flag = 0;

    call_waiting_begin(&waiting);
    while (result == MPI_SUCCESS && !flag && call_is_to_test(&waiting))
        result = test_all(n, requests, &flag, statuses);
    call_waiting_end(&waiting);
    return result == MPI_SUCCESS && !flag ? wait_for_all(n, requests, statuses) : result;
}

NEXT(MPI_Testany)
static int test_any(int n, MPI_Request requests[], int *which, int *flag, MPI_Status *status)
{
    struct several several;
    MPI_Status own = {0};
    int result = MPI_ERR_NO_MEM;

    progress_step();
    if (!requests_have_any(n, requests))
        return swept(BEHIND(MPI_Testany, n, requests, which, flag, status));
    status = status == MPI_STATUS_IGNORE ? &own : status;
    if (several_begin(&several, n, requests, status)) {
        several_ends_one(&several, which);
        *which = MPI_UNDEFINED;
        *flag = 0;
        result = BEHIND(MPI_Testany, n, requests, which, flag, status);
        if (*which != MPI_UNDEFINED && (*flag || result != MPI_SUCCESS))
            result = several_complete_any(&several, *which, status, result);
    }
    several_end(&several);
    return swept(result);
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
    TRACED_RANGE("MPI_Waitany");
    struct several several;
    MPI_Status own = {0};
    int result = MPI_ERR_NO_MEM;

    if (progress_is_pending())
        return wait_for_any(n, requests, which, status);
    if (!requests_have_any(n, requests))
        return swept(BEHIND(MPI_Waitany, n, requests, which, status));
    status = status == MPI_STATUS_IGNORE ? &own : status;
    if (several_begin(&several, n, requests, status)) {
        several_ends_one(&several, which);
        *which = MPI_UNDEFINED;
        result = BEHIND(MPI_Waitany, n, requests, which, status);
        if (*which != MPI_UNDEFINED)
            result = several_complete_any(&several, *which, status, result);
    }
    several_end(&several);
    return swept(result);
}

#define SOME(name, function)                                                     \
    NEXT(name)                                                                   \
    static int function(int n, MPI_Request requests[], int *nended, int which[], \
                        MPI_Status statuses[])                                   \
    {                                                                            \
        struct several several;                                                  \
        int result = MPI_ERR_NO_MEM;                                             \
                                                                                 \
        if (!requests_have_any(n, requests))                                     \
            return swept(BEHIND(name, n, requests, nended, which, statuses));    \
        if (several_begin(&several, n, requests, statuses)) {                    \
            several_ends_some(&several, nended, which);                          \
            *nended = MPI_UNDEFINED;                                             \
            result = BEHIND(name, n, requests, nended, which, several.statuses); \
            several_complete_some(&several, *nended, which, result);             \
            result = several_result(&several, result);                           \
        }                                                                        \
        several_end(&several);                                                   \
        return swept(result);                                                    \
    }
SOME(MPI_Testsome, test_some)
SOME(MPI_Waitsome, wait_some)

AWARE_PUBLIC int MPI_Testsome(int n, MPI_Request requests[], int *nended, int which[],
                              MPI_Status statuses[])
{
    progress_step();
    return test_some(n, requests, nended, which, statuses);
}

AWARE_PUBLIC int MPI_Waitsome(int n, MPI_Request requests[], int *nended, int which[],
                              MPI_Status statuses[])
{
    TRACED_RANGE("MPI_Waitsome");
    int result;

    if (!progress_is_pending())
        return wait_some(n, requests, nended, which, statuses);
    do {
        progress_step();
        result = test_some(n, requests, nended, which, statuses);
    } while (result == MPI_SUCCESS && *nended == 0);
    return result;
}
