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

/* Whether the request is complete or has failed; then it is freed. The lock is held, but for an error handler of
 * the application, which need not return. */
static bool is_over(MPI_Request *request, bool wait, MPI_Status *status)
{
    int over = 1, result;

    handler_unlocks = &requests_lock;
    is_behind = true; /* PMPI_Test is ours, too */
    result = wait ? PMPI_Wait(request, status) : PMPI_Test(request, &over, status);
    if ((result != MPI_SUCCESS || over) && *request != MPI_REQUEST_NULL)
        PMPI_Request_free(request); /* a persistent one, inactive now */
    is_behind = false;
    handler_unlocks = NULL;
    return result != MPI_SUCCESS || over;
}

void requests_sweep(bool wait)
{
    struct staged_request *request;
    int n;
    QUEUE_OF(struct staged_request) over = {0};

    if (atomic_load_explicit(&nfreed, memory_order_relaxed) == 0 || is_behind || is_in_operation)
        return;
    pthread_mutex_lock(&requests_lock);
    n = atomic_load(&nfreed);
    /* The list may change while a handler runs. */
    while (n-- > 0 && (request = QUEUE_POP(&freed, next))) {
        if (is_over(&request->request, wait, &request->status)) {
            atomic_fetch_sub(&nfreed, 1);
            QUEUE_PUSH(&over, request, next);
        } else {
            QUEUE_PUSH(&freed, request, next);
        }
    }
    pthread_mutex_unlock(&requests_lock);
    /* Without the lock: libgpubind, which may copy, calls functions of MPI. */
    while ((request = over.first)) {
        over.first = request->next;
        request_write(request, &request->status);
        request_end(request);
    }
}
