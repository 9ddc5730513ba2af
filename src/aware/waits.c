/* The functions that start, complete, test, cancel and free requests. */
#include <stdlib.h>
#include <string.h>

#include "aware/calls.h"

#define FEW 64

/* The handles as they were before the call, and statuses where the application wants none. */
struct ends {
    MPI_Request few[FEW], *before;
    MPI_Status few_statuses[FEW], *own, *statuses;
    int n;
};

/* false: out of memory. */
static bool ends_begin(struct ends *ends, int n, const MPI_Request *requests, MPI_Status *statuses)
{
    const bool many = n > FEW;

    requests_sweep();
    ends->n = n;
    ends->before = many ? malloc((size_t)n * sizeof *requests) : ends->few;
    ends->own = many && statuses == MPI_STATUSES_IGNORE ? malloc((size_t)n * sizeof *statuses)
                                                        : ends->few_statuses;
    ends->statuses = statuses == MPI_STATUSES_IGNORE ? ends->own : statuses;
    if (!ends->before || !ends->own)
        return false;
    if (n > 0)
        memcpy(ends->before, requests, (size_t)n * sizeof *requests);
    return true;
}

static void ends_end(struct ends *ends)
{
    if (ends->before != ends->few)
        free(ends->before);
    if (ends->own != ends->few_statuses)
        free(ends->own);
}

static int worse(int result, int error)
{
    return result == MPI_SUCCESS ? error : result;
}

/* ---- one */

NEXT(MPI_Wait)
AWARE_PUBLIC int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    const MPI_Request before = *request;
    MPI_Status own;
    int result;

    if (requests_are_plain())
        return next_of_MPI_Wait()(request, status);
    requests_sweep();
    status = status == MPI_STATUS_IGNORE ? &own : status;
    result = next_of_MPI_Wait()(request, status);
    return worse(result, requests_complete(before, status, true));
}

NEXT(MPI_Test)
AWARE_PUBLIC int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    const MPI_Request before = *request;
    MPI_Status own;
    int result;

    if (requests_are_plain())
        return next_of_MPI_Test()(request, flag, status);
    requests_sweep();
    status = status == MPI_STATUS_IGNORE ? &own : status;
    *flag = 0;
    result = next_of_MPI_Test()(request, flag, status);
    return *flag || result != MPI_SUCCESS ? worse(result, requests_complete(before, status, true))
                                          : result;
}

NEXT(MPI_Request_get_status)
AWARE_PUBLIC int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    MPI_Status own;
    int result;

    if (requests_are_plain())
        return next_of_MPI_Request_get_status()(request, flag, status);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    *flag = 0;
    result = next_of_MPI_Request_get_status()(request, flag, status);
    return *flag ? worse(result, requests_complete(request, status, false)) : result;
}

NEXT(MPI_Request_free)
AWARE_PUBLIC int MPI_Request_free(MPI_Request *request)
{
    if (!requests_are_plain() && requests_free(*request)) {
        *request = MPI_REQUEST_NULL;
        return MPI_SUCCESS;
    }
    return next_of_MPI_Request_free()(request);
}

NEXT(MPI_Start)
AWARE_PUBLIC int MPI_Start(MPI_Request *request)
{
    const int result = requests_start(*request);

    return result == MPI_SUCCESS ? next_of_MPI_Start()(request) : result;
}

NEXT(MPI_Startall)
AWARE_PUBLIC int MPI_Startall(int n, MPI_Request requests[])
{
    int result = MPI_SUCCESS;

    for (int i = 0; i < n && result == MPI_SUCCESS; i++)
        result = requests_start(requests[i]);
    return result == MPI_SUCCESS ? next_of_MPI_Startall()(n, requests) : result;
}

/* ---- all */

/* All n have ended, or those whose status says so. */
static int complete_all(const struct ends *ends, int result)
{
    int error = MPI_SUCCESS;

    for (int i = 0; i < ends->n; i++) {
        const bool failed = result == MPI_ERR_IN_STATUS;

        if (failed && ends->statuses[i].MPI_ERROR == MPI_ERR_PENDING)
            continue;
        error = worse(error, requests_complete(ends->before[i], &ends->statuses[i], true));
    }
    return worse(result, error);
}

NEXT(MPI_Waitall)
AWARE_PUBLIC int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    struct ends ends;
    int result = MPI_ERR_NO_MEM;

    if (requests_are_plain())
        return next_of_MPI_Waitall()(n, requests, statuses);
    if (ends_begin(&ends, n, requests, statuses)) {
        result = next_of_MPI_Waitall()(n, requests, ends.statuses);
        result = complete_all(&ends, result);
    }
    ends_end(&ends);
    return result;
}

NEXT(MPI_Testall)
AWARE_PUBLIC int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    struct ends ends;
    int result = MPI_ERR_NO_MEM;

    if (requests_are_plain())
        return next_of_MPI_Testall()(n, requests, flag, statuses);
    *flag = 0;
    if (ends_begin(&ends, n, requests, statuses)) {
        result = next_of_MPI_Testall()(n, requests, flag, ends.statuses);
        if (*flag || result == MPI_ERR_IN_STATUS)
            result = complete_all(&ends, result);
    }
    ends_end(&ends);
    return result;
}

/* ---- any */

NEXT(MPI_Waitany)
AWARE_PUBLIC int MPI_Waitany(int n, MPI_Request requests[], int *which, MPI_Status *status)
{
    struct ends ends;
    MPI_Status own;
    int result = MPI_ERR_NO_MEM;

    if (requests_are_plain())
        return next_of_MPI_Waitany()(n, requests, which, status);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    if (ends_begin(&ends, n, requests, MPI_STATUSES_IGNORE)) {
        *which = MPI_UNDEFINED;
        result = next_of_MPI_Waitany()(n, requests, which, status);
        if (*which != MPI_UNDEFINED)
            result = worse(result, requests_complete(ends.before[*which], status, true));
    }
    ends_end(&ends);
    return result;
}

NEXT(MPI_Testany)
AWARE_PUBLIC int MPI_Testany(int n, MPI_Request requests[], int *which, int *flag,
                             MPI_Status *status)
{
    struct ends ends;
    MPI_Status own;
    int result = MPI_ERR_NO_MEM;

    if (requests_are_plain())
        return next_of_MPI_Testany()(n, requests, which, flag, status);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    if (ends_begin(&ends, n, requests, MPI_STATUSES_IGNORE)) {
        *which = MPI_UNDEFINED;
        *flag = 0;
        result = next_of_MPI_Testany()(n, requests, which, flag, status);
        if (*which != MPI_UNDEFINED && (*flag || result != MPI_SUCCESS))
            result = worse(result, requests_complete(ends.before[*which], status, true));
    }
    ends_end(&ends);
    return result;
}

/* ---- some */

#define SOME(name)                                                                                 \
    NEXT(name)                                                                                     \
    AWARE_PUBLIC int name(int n, MPI_Request requests[], int *ended, int which[],                  \
                          MPI_Status statuses[])                                                   \
    {                                                                                              \
        struct ends ends;                                                                          \
        int result = MPI_ERR_NO_MEM;                                                               \
                                                                                                   \
        if (requests_are_plain())                                                                  \
            return next_of_##name()(n, requests, ended, which, statuses);                          \
        if (ends_begin(&ends, n, requests, statuses)) {                                            \
            *ended = MPI_UNDEFINED;                                                                \
            result = next_of_##name()(n, requests, ended, which, ends.statuses);                   \
            for (int i = 0; *ended != MPI_UNDEFINED && i < *ended; i++)                            \
                result = worse(result,                                                             \
                               requests_complete(ends.before[which[i]], &ends.statuses[i], true)); \
        }                                                                                          \
        ends_end(&ends);                                                                           \
        return result;                                                                             \
    }
SOME(MPI_Waitsome)
SOME(MPI_Testsome)
