/* The calls that end operations. */
#include "mpi/requests.h"

#include "mpi/engine.h"
#include "mpi/gpubind.h"
#include "mpi/library.h"
#include "mpi/offers.h"
#include "mpi/pack.h"
#include "mpi/persistent.h"
#include "mpi/pt2pt.h"

static void fill_status(MPI_Status *status, int source, int tag, uint64_t nbytes)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    PMPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)nbytes);
    PMPI_Status_set_cancelled(status, 0);
}

void request_empty_status(MPI_Status *status)
{
    fill_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = MPI_SUCCESS;
}

int request_finish(struct gpubind_operation *operation, MPI_Status *status,
                   struct gpubind_error *err)
{
    int result = operation->result;

    *err = operation->error;
    if (pack_finish(operation, err) < 0)
        result = MPI_ERR_OTHER;
    if (operation->kind == OPERATION_RECEIVE) {
        fill_status(status, operation->source, operation->got_tag, operation->got_bytes);
    } else {
        fill_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    }
    operation->inactive = operation->pair;
    if (operation->pair)
        operations_count(-1);
    if (!operation->pair)
        operation_forget(operation);
    return result;
}

/* There is nothing to wait for. */
static bool is_idle(const struct gpubind_operation *operation)
{
    return !operation || operation->inactive;
}

/* A persistent one stays. */
static int end(gpubind_request *request, MPI_Status *status, struct gpubind_error *err)
{
    struct gpubind_operation *operation = *request;

    if (!operation->pair)
        *request = GPUBIND_REQUEST_NULL;
    return request_finish(operation, status, err);
}

static MPI_Comm comm_of_request(const struct gpubind_operation *operation)
{
    return operation && operation->comm ? operation->comm->user : MPI_COMM_WORLD;
}

int gpubind_test(gpubind_request *request, int *flag, MPI_Status *status)
{
    struct gpubind_error err;
    MPI_Comm comm;
    int result = MPI_SUCCESS;

    library_enter();
    comm = comm_of_request(*request);
    *flag = 1;
    if (is_idle(*request)) {
        request_empty_status(status);
        result = persistent_unsaid(*request, &err);
    } else {
        if (!(*request)->done)
            engine_test(*request);
        *flag = (*request)->done;
        if (*flag)
            result = end(request, status, &err);
    }
    return library_leave(comm, result, "gpubind_test", &err);
}

int gpubind_wait(gpubind_request *request, MPI_Status *status)
{
    struct gpubind_error err;
    MPI_Comm comm;
    int result = MPI_SUCCESS;

    library_enter();
    comm = comm_of_request(*request);
    if (is_idle(*request)) {
        request_empty_status(status);
        result = persistent_unsaid(*request, &err);
    } else {
        struct gpubind_operation *operation = *request;

        if (!operation->done && operation->kind == OPERATION_RECEIVE && !operation->from &&
            !operation->pair)
            offer_make(operation);
        if (!operation->done)
            engine_wait(request, 1, false);
        result = end(request, status, &err);
        message_sweep(true);
    }
    return library_leave(comm, result, "gpubind_wait", &err);
}

int gpubind_waitall(int n, gpubind_request requests[], MPI_Status *statuses)
{
    struct gpubind_error err, first;
    MPI_Comm comm = MPI_COMM_WORLD;
    int result = MPI_SUCCESS;

    library_enter();
    engine_wait(requests, n, false);
    for (int i = 0; i < n; i++) {
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        int ended = MPI_SUCCESS;

        if (is_idle(requests[i])) {
            request_empty_status(status);
            ended = persistent_unsaid(requests[i], &err);
            if (ended == MPI_SUCCESS)
                continue;
        }
        if (result == MPI_SUCCESS)
            comm = comm_of_request(requests[i]);
        if (ended == MPI_SUCCESS)
            ended = end(&requests[i], status, &err);
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = ended;
        if (ended != MPI_SUCCESS && result == MPI_SUCCESS) {
            result = MPI_ERR_IN_STATUS;
            error_set(&first, "request %d of %d: %.450s", i, n, err.text);
        }
    }
    if (library_started())
        message_sweep(true);
    return library_leave(comm, result, "gpubind_waitall", &first);
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

int gpubind_waitany(int n, gpubind_request requests[], int *index, MPI_Status *status)
{
    struct gpubind_error err;
    MPI_Comm comm = MPI_COMM_WORLD;
    int result = MPI_SUCCESS;

    library_enter();
    *index = MPI_UNDEFINED;
    if (are_all_idle(n, requests)) {
        request_empty_status(status);
    } else {
        engine_wait(requests, n, true);
        *index = find_done(n, requests);
        comm = comm_of_request(requests[*index]);
        result = end(&requests[*index], status, &err);
        message_sweep(true);
    }
    return library_leave(comm, result, "gpubind_waitany", &err);
}
