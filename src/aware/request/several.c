#include "aware/request/several.h"

#include <stdlib.h>

#include "aware/request/calls.h"
#include "aware/request/persistent.h"

bool requests_have_any(int n, const MPI_Request *requests)
{
    for (int i = 0; i < n; i++)
        if (requests_has(requests[i]))
            return true;
    return false;
}

bool several_begin(struct several *several, int n, MPI_Request *requests, MPI_Status *statuses)
{
    const bool many = n > SEVERAL_FEW;

    several->n = 0;
    several->requests = requests;
    several->failed = false;
    several->staged = many ? malloc((size_t)n * sizeof(void *)) : several->few;
    several->own = many && statuses == MPI_STATUSES_IGNORE ? malloc((size_t)n * sizeof *statuses)
                                                           : several->few_statuses;
    several->statuses = statuses == MPI_STATUSES_IGNORE ? several->own : statuses;
    if (!several->staged || !several->own)
        return false;
    for (int i = 0; i < n; i++) {
        several->staged[i] = requests_take(requests[i]);
        persistent_stand_in(several->staged[i], &requests[i]);
    }
    several->n = n;
    return true;
}

/* Request i is complete. */
static int complete(struct several *several, int i, MPI_Status *status)
{
    struct staged_request *request = several->staged[i];

    several->staged[i] = NULL;
    persistent_restore(request, &several->requests[i]);
    return requests_complete(request, several->requests[i], status);
}

void several_end(struct several *several)
{
    for (int i = 0; i < several->n; i++)
        if (several->staged[i]) {
            persistent_restore(several->staged[i], &several->requests[i]);
            requests_put_back(several->staged[i]);
        }
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

static bool is_pending(int result, const MPI_Status *status)
{
    return result == MPI_ERR_IN_STATUS && status->MPI_ERROR == MPI_ERR_PENDING;
}

int several_complete_all(struct several *several, int result)
{
    for (int i = 0; i < several->n; i++) {
        MPI_Status *status = &several->statuses[i];

        if (!is_pending(result, status))
            several_end_one(several, i, status, result == MPI_ERR_IN_STATUS ? 0 : several->n);
    }
    return several_result(several, result);
}

int several_see_all(struct several *several, int result)
{
    for (int i = 0; i < several->n; i++) {
        MPI_Status *status = &several->statuses[i];

        if (!is_pending(result, status))
            several_see_one(several, i, status, result == MPI_ERR_IN_STATUS ? 0 : several->n);
    }
    return several_result(several, result);
}

int several_complete_any(struct several *several, int i, MPI_Status *status, int result)
{
    const MPI_Comm comm = requests_comm(several->staged[i]);

    return call_completed(result, complete(several, i, status), comm);
}

int several_see_any(struct several *several, int i, MPI_Status *status, int result)
{
    struct staged_request *request = several->staged[i];

    return call_completed(result, requests_see_complete(request, status), requests_comm(request));
}
