/* The calls that complete requests, or cancel them. */
#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/datatype/pack.h"
#include "mpi/gpubind.h"
#include "mpi/message/message.h"
#include "mpi/p2p/rndv_put.h"
#include "mpi/p2p/tag_match.h"
#include "mpi/persistent/persistent.h"

/* NULL or inactive: there is nothing to wait for. */
static bool is_idle(const struct gpubind_operation *operation)
{
    return !operation || operation->inactive;
}

/* Completes a request. A persistent one stays. */
static int end(gpubind_request *request, MPI_Status *status, struct gpubind_error *err)
{
    struct gpubind_operation *operation = *request;

    if (!operation->channel || request_is_stale(operation))
        *request = GPUBIND_REQUEST_NULL;
    if (!request_is_stale(operation))
        return request_finish(operation, status, err);
    request_empty_status(status);
    return request_refuse_stale(err);
}

static void complete_outlived(int n, const gpubind_request requests[])
{
    for (int i = 0; i < n && !library_started(); i++)
        request_has_outlived(requests[i]);
}

static MPI_Comm comm_of_request(const struct gpubind_operation *operation)
{
    return operation && operation->comm ? operation->comm->user : MPI_COMM_WORLD;
}

/* A receive that a thread waits for advertises its buffer to the sender. */
static void advertise(struct gpubind_operation *operation)
{
    if (!operation->done && operation->kind == REQUEST_RECEIVE && !operation->from &&
        !operation->channel)
        rtr_post(operation);
}

static int end_one(gpubind_request *request, bool wait, int *flag, MPI_Status *status,
                   const char *call)
{
    struct gpubind_error err;
    MPI_Comm comm;
    int result = MPI_SUCCESS;

    library_enter(call);
    complete_outlived(1, request);
    comm = comm_of_request(*request);
    *flag = 1;
    if (is_idle(*request)) {
        request_empty_status(status);
        result = persistent_take_error(*request, &err);
        return library_leave(comm, result, call, &err);
    }
    if (wait)
        advertise(*request);
    if (!(*request)->done && wait)
        progress_wait(request, 1, false);
    else if (!(*request)->done)
        progress_test(request, 1);
    *flag = wait || (*request)->done;
    if (*flag)
        result = end(request, status, &err);
    if (wait && library_started())
        message_sweep();
    return library_leave(comm, result, call, &err);
}

int gpubind_test(gpubind_request *request, int *flag, MPI_Status *status)
{
    return end_one(request, false, flag, status, "gpubind_test");
}

int gpubind_wait(gpubind_request *request, MPI_Status *status)
{
    int flag;

    return end_one(request, true, &flag, status, "gpubind_wait");
}

/* ---- lists of requests */

struct ends { /* what a call that completes several requests returns */
    int n, result;
    MPI_Comm comm; /* of the first that failed */
    struct gpubind_error err;
};

static struct ends ends_begin(int n)
{
    struct ends ends = {n, MPI_SUCCESS, MPI_COMM_WORLD, {""}};

    if (n < 0) {
        error_set(&ends.err, "the number of requests is %d", n);
        ends.result = MPI_ERR_COUNT;
    }
    return ends;
}

static MPI_Status *status_at(MPI_Status *statuses, int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/* Completes request i, which is done or idle. */
static void end_listed(gpubind_request requests[], int i, MPI_Status *status, struct ends *ends)
{
    const MPI_Comm comm = comm_of_request(requests[i]);
    struct gpubind_error err;
    int result;

    if (is_idle(requests[i])) {
        request_empty_status(status);
        result = persistent_take_error(requests[i], &err);
    } else {
        result = end(&requests[i], status, &err);
    }
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = result;
    if (result == MPI_SUCCESS || ends->result != MPI_SUCCESS)
        return;
    ends->result = MPI_ERR_IN_STATUS;
    ends->comm = comm;
    error_set(&ends->err, "request %d of %d: %.450s", i, ends->n, err.text);
}

static bool are_all_done(int n, gpubind_request requests[])
{
    for (int i = 0; i < n; i++)
        if (!is_idle(requests[i]) && !requests[i]->done)
            return false;
    return true;
}

static int end_all(int n, gpubind_request requests[], bool wait, int *flag, MPI_Status *statuses,
                   const char *call)
{
    struct ends ends;

    library_enter(call);
    complete_outlived(n, requests);
    ends = ends_begin(n);
    if (ends.result == MPI_SUCCESS && wait)
        progress_wait(requests, n, false);
    else if (ends.result == MPI_SUCCESS && !are_all_done(n, requests))
        progress_test(requests, n);
    *flag = ends.result == MPI_SUCCESS && are_all_done(n, requests);
    for (int i = 0; i < n && *flag; i++)
        end_listed(requests, i, status_at(statuses, i), &ends);
    if (wait && library_started())
        message_sweep();
    return library_leave(ends.comm, ends.result, call, &ends.err);
}

int gpubind_waitall(int n, gpubind_request requests[], MPI_Status *statuses)
{
    int flag;

    return end_all(n, requests, true, &flag, statuses, "gpubind_waitall");
}

int gpubind_testall(int n, gpubind_request requests[], int *flag, MPI_Status *statuses)
{
    return end_all(n, requests, false, flag, statuses, "gpubind_testall");
}

static int find_done(int n, gpubind_request requests[])
{
    for (int i = 0; i < n; i++)
        if (!is_idle(requests[i]) && requests[i]->done)
            return i;
    return MPI_UNDEFINED;
}

static bool are_all_idle(int n, gpubind_request requests[])
{
    for (int i = 0; i < n; i++)
        if (!is_idle(requests[i]))
            return false;
    return true;
}

/* *index: the request that has completed; *flag: one has, or all are idle. */
static int end_any(int n, gpubind_request requests[], bool wait, int *index, int *flag,
                   MPI_Status *status, const char *call)
{
    struct ends ends;

    library_enter(call);
    complete_outlived(n, requests);
    ends = ends_begin(n);
    *index = MPI_UNDEFINED;
    *flag = ends.result == MPI_SUCCESS;
    if (*flag && are_all_idle(n, requests)) {
        request_empty_status(status);
    } else if (*flag) {
        if (wait)
            progress_wait(requests, n, true);
        else if (find_done(n, requests) == MPI_UNDEFINED)
            progress_test(requests, n);
        *index = find_done(n, requests);
        *flag = *index != MPI_UNDEFINED;
        if (*flag) {
            ends.comm = comm_of_request(requests[*index]);
            ends.result = end(&requests[*index], status, &ends.err);
            if (library_started())
                message_sweep();
        }
    }
    return library_leave(ends.comm, ends.result, call, &ends.err);
}

int gpubind_waitany(int n, gpubind_request requests[], int *index, MPI_Status *status)
{
    int flag;

    return end_any(n, requests, true, index, &flag, status, "gpubind_waitany");
}

int gpubind_testany(int n, gpubind_request requests[], int *index, int *flag, MPI_Status *status)
{
    return end_any(n, requests, false, index, flag, status, "gpubind_testany");
}

static int end_some(int n, gpubind_request requests[], bool wait, int *nended, int indices[],
                    MPI_Status *statuses, const char *call)
{
    struct ends ends;

    library_enter(call);
    complete_outlived(n, requests);
    ends = ends_begin(n);
    *nended = MPI_UNDEFINED;
    if (ends.result == MPI_SUCCESS && !are_all_idle(n, requests)) {
        if (wait)
            progress_wait(requests, n, true);
        else
            progress_test(requests, n);
        *nended = 0;
        for (int i = 0; i < n; i++)
            if (!is_idle(requests[i]) && requests[i]->done) {
                indices[*nended] = i;
                end_listed(requests, i, status_at(statuses, *nended), &ends);
                ++*nended;
            }
        if (library_started())
            message_sweep();
    }
    return library_leave(ends.comm, ends.result, call, &ends.err);
}

int gpubind_waitsome(int n, gpubind_request requests[], int *nended, int indices[],
                     MPI_Status *statuses)
{
    return end_some(n, requests, true, nended, indices, statuses, "gpubind_waitsome");
}

int gpubind_testsome(int n, gpubind_request requests[], int *nended, int indices[],
                     MPI_Status *statuses)
{
    return end_some(n, requests, false, nended, indices, statuses, "gpubind_testsome");
}

/* ---- requests that stay */

int gpubind_request_get_status(gpubind_request request, int *flag, MPI_Status *status)
{
    struct gpubind_error err;
    MPI_Comm comm;
    int result = MPI_SUCCESS;

    library_enter("gpubind_request_get_status");
    complete_outlived(1, &request);
    comm = comm_of_request(request);
    if (!is_idle(request) && !request->done)
        progress_test(&request, 1);
    *flag = is_idle(request) || request->done;
    if (is_idle(request))
        request_empty_status(status);
    else if (request_is_stale(request))
        result = request_refuse_stale(&err);
    else if (*flag)
        request_status(request, status);
    return library_leave(comm, result, "gpubind_request_get_status", &err);
}

/* Cancels a receive that no message was matched to. A matched one completes as usual. */
static void take_back(struct gpubind_operation *receive)
{
    if (receive->done || !rtr_cancel(receive) || !match_withdraw(receive))
        return;
    receive->cancelled = true;
    request_succeed(receive);
}

int gpubind_cancel(gpubind_request *request)
{
    struct gpubind_operation *operation = *request;
    struct gpubind_error err;
    MPI_Comm comm;
    int result = MPI_SUCCESS;

    library_enter("gpubind_cancel");
    complete_outlived(1, request);
    comm = comm_of_request(operation);
    if (!operation || operation->channel) {
        error_set(&err, operation ? "a persistent request cannot be cancelled"
                                  : "the request is GPUBIND_REQUEST_NULL");
        result = MPI_ERR_REQUEST;
    } else if (request_is_stale(operation)) {
        result = request_refuse_stale(&err);
    } else if (operation->kind == REQUEST_RECEIVE && operation->rank != MPI_PROC_NULL &&
               !operation->done) {
        progress_step(); /* a message that has come already is matched */
        take_back(operation);
    }
    return library_leave(comm, result, "gpubind_cancel", &err);
}
