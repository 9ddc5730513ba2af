#include "aware/request/several.h"

#include <sched.h>
#include <stdlib.h>

#include "aware/base/handlers.h"
#include "aware/request/calls.h"
#include "aware/request/persistent.h"
#include "aware/request/staged_request.h"

bool requests_have_any(int n, const MPI_Request *requests)
{
    for (int i = 0; i < n; i++)
        if (requests_has(requests[i]))
            return true;
    return false;
}

/* Request i is complete. */
static int complete(struct several *several, int i, MPI_Status *status)
{
    struct staged_request *request = several->staged[i];

    several->staged[i] = NULL;
    persistent_restore(request, &several->requests[i]);
    return requests_complete(request, several->requests[i], status);
}

static void put_back(struct several *several)
{
    for (int i = 0; i < several->n; i++) {
        struct staged_request *request = several->staged[i];

        if (!request)
            continue;
        several->staged[i] = NULL;
        persistent_restore(request, &several->requests[i]);
        if (several->looks) {
            requests_release(request);
            continue;
        }
        /* After an error Open MPI frees others of the list that have failed, too. */
        if (several->requests[i] == MPI_REQUEST_NULL && !request->persistent)
            request_end(request);
        else
            requests_put_back(request);
    }
}

void several_end(struct several *several)
{
    undo_end(&several->undo);
    put_back(several);
    if (several->staged != several->few)
        free(several->staged);
    if (several->own != several->few_statuses)
        free(several->own);
}

/* What has come of a request could not be written. */
static void fail(struct several *several, MPI_Comm comm, int error, MPI_Status *status, int n)
{
    if (error == MPI_SUCCESS)
        return;
    for (int j = 0; !several->failed && j < n; j++)
        several->statuses[j].MPI_ERROR = MPI_SUCCESS;
    if (!several->failed)
        several->comm = comm;
    several->failed = true;
    status->MPI_ERROR = error;
}

void several_end_one(struct several *several, int i, MPI_Status *status, int n)
{
    const MPI_Comm comm = requests_comm(several->staged[i]);

    fail(several, comm, complete(several, i, status), status, n);
}

void several_see_one(struct several *several, int i, MPI_Status *status, int n)
{
    struct staged_request *request = several->staged[i];

    fail(several, requests_comm(request), requests_see_complete(request, status), status, n);
}

int several_result(const struct several *several, int result)
{
    return several->failed && result == MPI_SUCCESS ? call_refused(several->comm, MPI_ERR_IN_STATUS)
                                                    : result;
}

/* The request of an error with that code, or class, is active: of ULFM, a receive from any source. */
static bool is_pending(int code)
{
    int class = code;

    PMPI_Error_class(code, &class);
#if defined MPI_ERR_PROC_FAILED_PENDING
    if (class == MPI_ERR_PROC_FAILED_PENDING)
        return true;
#elif defined MPIX_ERR_PROC_FAILED_PENDING
    if (class == MPIX_ERR_PROC_FAILED_PENDING)
        return true;
#endif
    return class == MPI_ERR_PENDING;
}

/* MPI has ended request i with that code, or found something else wrong. */
static bool is_active(const struct several *several, int i, int code)
{
    return code != MPI_SUCCESS &&
           (is_pending(code) || (!persistent_keeps_handle(several->staged[i]) &&
                                 several->requests[i] != MPI_REQUEST_NULL));
}

/* The same, of all that a call was to complete with result. */
static bool is_left(const struct several *several, int i, int result, const MPI_Status *status)
{
    return is_active(several, i, result == MPI_ERR_IN_STATUS ? status->MPI_ERROR : result);
}

int several_complete_all(struct several *several, int result)
{
    for (int i = 0; i < several->n; i++) {
        MPI_Status *status = &several->statuses[i];

        if (!is_left(several, i, result, status))
            several_end_one(several, i, status, result == MPI_ERR_IN_STATUS ? 0 : several->n);
    }
    return several_result(several, result);
}

int several_see_all(struct several *several, int result)
{
    for (int i = 0; i < several->n; i++) {
        MPI_Status *status = &several->statuses[i];

        if (result != MPI_ERR_IN_STATUS || !is_pending(status->MPI_ERROR))
            several_see_one(several, i, status, result == MPI_ERR_IN_STATUS ? 0 : several->n);
    }
    return several_result(several, result);
}

void several_complete_some(struct several *several, int nended, const int *which, int result)
{
    for (int i = 0; nended != MPI_UNDEFINED && i < nended; i++)
        if (!is_left(several, which[i], result, &several->statuses[i]))
            several_end_one(several, which[i], &several->statuses[i],
                            result == MPI_ERR_IN_STATUS ? 0 : nended);
}

int several_complete_any(struct several *several, int i, MPI_Status *status, int result)
{
    const MPI_Comm comm = requests_comm(several->staged[i]);

    if (is_active(several, i, result))
        return result;
    return call_completed(result, complete(several, i, status), comm);
}

int several_see_any(struct several *several, int i, MPI_Status *status, int result)
{
    struct staged_request *request = several->staged[i];

    return call_completed(result, requests_see_complete(request, status), requests_comm(request));
}

/* ---- before an error handler of the application */

/* Of a call for all: a request that has ended has no handle any more, and a persistent one is inactive, which MPI says
 * as it does of a message from nobody. */
static bool has_ended(const struct several *several, int i)
{
    MPI_Status status = {.MPI_SOURCE = MPI_ANY_SOURCE};
    int inactive = 0;

    if (several->requests[i] == MPI_REQUEST_NULL || !persistent_keeps_handle(several->staged[i]))
        return several->requests[i] == MPI_REQUEST_NULL;
    handler_status_quietly(several->requests[i], &inactive, &status);
    return inactive && status.MPI_SOURCE == MPI_ANY_SOURCE;
}

static void undo(void *what, int code)
{
    struct several *several = what;

    switch (several->ends) {
    case SEVERAL_NONE_END:
        for (int i = 0; i < several->n; i++)
            persistent_abandon(several->staged[i]);
        break;
    case SEVERAL_ALL_END:
        for (int i = 0; i < several->n; i++)
            if (has_ended(several, i))
                several_end_one(several, i, &several->statuses[i], 0);
        break;
    case SEVERAL_SOME_END:
        several_complete_some(several, *several->nended, several->which, MPI_ERR_IN_STATUS);
        break;
    case SEVERAL_ONE_ENDS:
        if (*several->which != MPI_UNDEFINED && !is_active(several, *several->which, code))
            several_end_one(several, *several->which, several->statuses, 0);
        break;
    }
    put_back(several);
}

/* false: out of memory. */
static bool prepare(struct several *several, int n, MPI_Request *requests, MPI_Status *statuses)
{
    const bool many = n > SEVERAL_FEW;

    several->n = 0;
    several->ends = SEVERAL_NONE_END;
    undo_begin(&several->undo, undo, several);
    several->requests = requests;
    several->looks = several->failed = false;
    several->staged = many ? malloc((size_t)n * sizeof(void *)) : several->few;
    several->own = many && statuses == MPI_STATUSES_IGNORE ? malloc((size_t)n * sizeof *statuses)
                                                           : several->few_statuses;
    several->statuses = statuses == MPI_STATUSES_IGNORE ? several->own : statuses;
    return several->staged && several->own;
}

static void have(struct several *several, int n, MPI_Request *requests)
{
    for (int i = 0; i < n; i++)
        persistent_stand_in(several->staged[i], &requests[i]);
    several->n = n;
}

bool several_begin(struct several *several, int n, MPI_Request *requests, MPI_Status *statuses)
{
    if (!prepare(several, n, requests, statuses))
        return false;
    for (int i = 0; i < n; i++)
        several->staged[i] = requests_take(requests[i]);
    have(several, n, requests);
    return true;
}

static bool is_before(const MPI_Request *requests, int i)
{
    for (int before = 0; before < i; before++)
        if (requests[before] == requests[i])
            return true;
    return false;
}

bool several_look(struct several *several, int n, MPI_Request *requests, MPI_Status *statuses)
{
    if (!prepare(several, n, requests, statuses))
        return false;
    several->looks = true;
    for (int i = 0; i < n;) {
        if (requests_claim(requests[i], &several->staged[i])) {
            i++;
        } else if (is_before(requests, i)) {
            several->staged[i++] = NULL;
        } else {
            while (i > 0) /* the thread that has this one may wait for one of those */
                requests_release(several->staged[--i]);
            sched_yield();
        }
    }
    have(several, n, requests);
    return true;
}

void several_ends_all(struct several *several)
{
    several->ends = SEVERAL_ALL_END;
}

void several_ends_some(struct several *several, const int *nended, const int *which)
{
    several->ends = SEVERAL_SOME_END;
    several->nended = nended;
    several->which = which;
}

void several_ends_one(struct several *several, const int *which)
{
    several->ends = SEVERAL_ONE_ENDS;
    several->which = which;
}
