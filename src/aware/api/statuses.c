/* The functions of MPI 4.1 that ask for the statuses of lists of requests, and free none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aware/base/handlers.h"
#include "aware/request/calls.h"
#include "aware/request/several.h"

#if MPI_VERSION < 4 || (MPI_VERSION == 4 && MPI_SUBVERSION < 1)
/* The program's MPI may be newer than this mpi.h: MPICH's ABI is the same since MPI 3.0. Where it is not, the
 * program calls none of them. */
int MPI_Request_get_status_all(int n, const MPI_Request requests[], int *flag,
                               MPI_Status statuses[]);
int MPI_Request_get_status_any(int n, const MPI_Request requests[], int *which, int *flag,
                               MPI_Status *status);
int MPI_Request_get_status_some(int n, const MPI_Request requests[], int *nended, int which[],
                                MPI_Status statuses[]);
#endif

/* With handles of this library's own, since others may stand in for the application's. */
struct looked {
    struct several several;
    MPI_Request few[SEVERAL_FEW], *handles;
};

/* MPICH 5.0.2 gives the status of a persistent request, which tells how much has come, once, and perhaps when the list
 * is not complete. So what has come is written before. */
static void see_persistent(struct several *several)
{
    for (int i = 0; i < several->n; i++) {
        MPI_Status status = {0};
        int flag = 0;

        if (!requests_is_persistent(several->staged[i]))
            continue;
        handler_status_quietly(several->requests[i], &flag, &status);
        if (flag)
            requests_see_complete(several->staged[i], &status);
    }
}

/* false: out of memory. In any case look_end is to be called. */
static bool look_begin(struct looked *looked, int n, const MPI_Request *requests,
                       MPI_Status *statuses)
{
    looked->handles = n > SEVERAL_FEW ? malloc((size_t)n * sizeof *requests) : looked->few;
    if (looked->handles)
        memcpy(looked->handles, requests, (size_t)n * sizeof *requests);
    if (!several_look(&looked->several, looked->handles ? n : 0, looked->handles, statuses) ||
        !looked->handles)
        return false;
    see_persistent(&looked->several);
    return true;
}

static int look_end(struct looked *looked, int result)
{
    several_end(&looked->several);
    if (looked->handles != looked->few)
        free(looked->handles);
    requests_sweep(false); /* the call may tell that a freed receive is complete */
    return result;
}

/* ---- where the MPI has none of them: programs that find these look for them by name, as mpi4py does */

/* MPI_Request_get_status, which need not write MPI_ERROR. */
static int status_of(MPI_Request request, int *flag, MPI_Status *status)
{
    const int result = MPI_Request_get_status(request, flag, status);

    if (result == MPI_SUCCESS && *flag && status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = MPI_SUCCESS;
    return result;
}

/* An inactive request counts as complete, since MPI does not tell. */
static int all_one_by_one(int n, const MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    int result = MPI_SUCCESS;

    *flag = 1;
    for (int i = 0; i < n && *flag && result == MPI_SUCCESS; i++)
        result = status_of(requests[i], flag,
                           statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
    return result;
}

static bool are_all_null(int n, const MPI_Request requests[])
{
    for (int i = 0; i < n; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            return false;
    return true;
}

static int any_one_by_one(int n, const MPI_Request requests[], int *which, int *flag,
                          MPI_Status *status)
{
    int result = MPI_SUCCESS;

    *which = MPI_UNDEFINED;
    *flag = 0;
    if (are_all_null(n, requests))
        return status_of(MPI_REQUEST_NULL, flag, status);
    for (int i = 0; i < n && !*flag && result == MPI_SUCCESS; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        result = status_of(requests[i], flag, status);
        if (*flag)
            *which = i;
    }
    return result;
}

static int some_one_by_one(int n, const MPI_Request requests[], int *nended, int which[],
                           MPI_Status statuses[])
{
    int result = MPI_SUCCESS;

    *nended = are_all_null(n, requests) ? MPI_UNDEFINED : 0;
    for (int i = 0; i < n && result == MPI_SUCCESS; i++) {
        int flag = 0;

        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        result = status_of(requests[i], &flag,
                           statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE
                                                           : &statuses[*nended]);
        if (flag)
            which[(*nended)++] = i;
    }
    return result;
}

/* ---- under names of their own here, as MPICH 4.2 declares two of MPI's without the const */

AWARE_PUBLIC int get_status_all(int n, const MPI_Request requests[], int *flag,
                                MPI_Status statuses[]) __asm__(NEXT_PREFIX
                                                               "MPI_Request_get_status_all");
AWARE_PUBLIC int get_status_any(int n, const MPI_Request requests[], int *which, int *flag,
                                MPI_Status *status) __asm__(NEXT_PREFIX
                                                            "MPI_Request_get_status_any");
AWARE_PUBLIC int get_status_some(int n, const MPI_Request requests[], int *nended, int which[],
                                 MPI_Status statuses[]) __asm__(NEXT_PREFIX
                                                                "MPI_Request_get_status_some");

static MPI_Request *without_const(const MPI_Request requests[])
{
    return (MPI_Request *)(uintptr_t)requests;
}

NEXT(MPI_Request_get_status_all)
AWARE_PUBLIC int get_status_all(int n, const MPI_Request requests[], int *flag,
                                MPI_Status statuses[])
{
    struct looked looked;
    int result = MPI_ERR_NO_MEM;

    if (!next_has(NEXT_PREFIX "MPI_Request_get_status_all"))
        return all_one_by_one(n, requests, flag, statuses);
    progress_step();
    if (!requests_have_any(n, requests))
        return BEHIND(MPI_Request_get_status_all, n, without_const(requests), flag, statuses);
    *flag = 0;
    if (look_begin(&looked, n, requests, statuses)) {
        result = BEHIND(MPI_Request_get_status_all, n, looked.handles, flag,
                        looked.several.statuses);
        if (*flag || result == MPI_ERR_IN_STATUS)
            result = several_see_all(&looked.several, result);
    }
    return look_end(&looked, result);
}

NEXT(MPI_Request_get_status_any)
AWARE_PUBLIC int get_status_any(int n, const MPI_Request requests[], int *which, int *flag,
                                MPI_Status *status)
{
    struct looked looked;
    MPI_Status own = {0};
    int result = MPI_ERR_NO_MEM;

    if (!next_has(NEXT_PREFIX "MPI_Request_get_status_any"))
        return any_one_by_one(n, requests, which, flag, status);
    progress_step();
    if (!requests_have_any(n, requests))
        return BEHIND(MPI_Request_get_status_any, n, without_const(requests), which, flag, status);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    *which = MPI_UNDEFINED;
    *flag = 0;
    if (look_begin(&looked, n, requests, MPI_STATUSES_IGNORE)) {
        result = BEHIND(MPI_Request_get_status_any, n, looked.handles, which, flag, status);
        if (*which != MPI_UNDEFINED && (*flag || result != MPI_SUCCESS))
            result = several_see_any(&looked.several, *which, status, result);
    }
    return look_end(&looked, result);
}

NEXT(MPI_Request_get_status_some)
AWARE_PUBLIC int get_status_some(int n, const MPI_Request requests[], int *nended, int which[],
                                 MPI_Status statuses[])
{
    struct looked looked;
    int result = MPI_ERR_NO_MEM;

    if (!next_has(NEXT_PREFIX "MPI_Request_get_status_some"))
        return some_one_by_one(n, requests, nended, which, statuses);
    progress_step();
    if (!requests_have_any(n, requests))
        return BEHIND(MPI_Request_get_status_some, n, without_const(requests), nended, which,
                      statuses);
    *nended = MPI_UNDEFINED;
    if (look_begin(&looked, n, requests, statuses)) {
        struct several *several = &looked.several;

        result = BEHIND(MPI_Request_get_status_some, n, looked.handles, nended, which,
                        several->statuses);
        for (int i = 0; *nended != MPI_UNDEFINED && i < *nended; i++)
            several_see_one(several, which[i], &several->statuses[i],
                            result == MPI_ERR_IN_STATUS ? 0 : *nended);
        result = several_result(several, result);
    }
    return look_end(&looked, result);
}
