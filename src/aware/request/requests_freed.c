/* Requests that the application frees while they are active: they end when MPI has completed them. */
#include <pthread.h>
#include <stdatomic.h>

#include "aware/base/handlers.h"
#include "aware/base/next.h"
#include "aware/message/direct_send.h"
#include "aware/request/application.h"
#include "aware/request/staged_request.h"
#include "core/base/list.h"

static QUEUE_OF(struct staged_request) freed;
static atomic_int nfreed;

static bool leave_to_sweep(struct staged_request *request)
{
    pthread_mutex_lock(&requests_lock);
    QUEUE_PUSH(&freed, request, next);
    atomic_fetch_add(&nfreed, 1);
    pthread_mutex_unlock(&requests_lock);
    return true;
}

bool requests_free(struct staged_request *request)
{
    if (request->standing_in == MPI_REQUEST_NULL && request->active)
        return leave_to_sweep(request);
    if (request->standing_in != MPI_REQUEST_NULL) {
        direct_send_freed(request->standing_in);
        CALL_MPI(PMPI_Request_free(&request->standing_in));
    }
    request_end(request);
    return false;
}

/* Whether the request is complete or has failed; then it is freed. */
static bool is_over(MPI_Request *request, bool wait, MPI_Status *status)
{
    int over = 1, result;

    is_behind = true; /* PMPI_Test is ours, too */
    result = wait ? PMPI_Wait(request, status) : PMPI_Test(request, &over, status);
    if ((result != MPI_SUCCESS || over) && *request != MPI_REQUEST_NULL)
        PMPI_Request_free(request); /* a persistent one, inactive now */
    is_behind = false;
    return result != MPI_SUCCESS || over;
}

static struct staged_request *next_freed(void)
{
    struct staged_request *request;

    pthread_mutex_lock(&requests_lock);
    request = QUEUE_POP(&freed, next);
    pthread_mutex_unlock(&requests_lock);
    return request;
}

void requests_sweep(bool wait)
{
    struct staged_request *request;

    if (atomic_load_explicit(&nfreed, memory_order_relaxed) == 0 || is_behind || is_in_operation)
        return;
    /* Without the lock: MPI calls functions of the application, and libgpubind, which may copy, calls MPI. */
    for (int n = atomic_load(&nfreed); n > 0 && (request = next_freed()); n--) {
        atomic_fetch_sub(&nfreed, 1);
        if (!is_over(&request->request, wait, &request->status)) {
            leave_to_sweep(request);
            continue;
        }
        request_write(request, &request->status);
        request_end(request);
    }
}
