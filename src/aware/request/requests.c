#include "aware/request/requests.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "aware/base/creations.h"
#include "aware/base/handlers.h"
#include "aware/base/next.h"
#include "aware/message/direct_data.h"
#include "aware/message/direct_receive.h"
#include "aware/request/staged_request.h"
#include "core/base/list.h"

#define TABLE 256 /* lists; a power of 2 */

static QUEUE_OF(struct staged_request) table[TABLE];
/* Whose partitions become ready while another thread waits for them, and has taken them. */
static QUEUE_OF(struct staged_request) partitioned;
static atomic_int nrequests, nwindow; /* nwindow: of one-sided calls */
pthread_mutex_t requests_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned list_of(MPI_Request request)
{
    const uintptr_t value = (uintptr_t)request; /* a pointer, or MPICH's number */

    return (unsigned)(value >> 4 ^ value >> 12 ^ value) & (TABLE - 1);
}

static struct staged_request *find(MPI_Request handle)
{
    struct staged_request *request = table[list_of(handle)].first;

    while (request && request->request != handle)
        request = request->next;
    return request;
}

static bool is_empty(void)
{
    return atomic_load_explicit(&nrequests, memory_order_relaxed) == 0 || is_behind;
}

/* Waits for the thread that looks at it. The lock is held. */
static struct staged_request *find_settled(MPI_Request handle)
{
    struct staged_request *request;

    while ((request = find(handle)) && request->busy) {
        pthread_mutex_unlock(&requests_lock);
        sched_yield();
        pthread_mutex_lock(&requests_lock);
    }
    return request;
}

bool requests_has(MPI_Request handle)
{
    bool has;

    if (is_empty())
        return false;
    pthread_mutex_lock(&requests_lock);
    has = find(handle);
    pthread_mutex_unlock(&requests_lock);
    return has;
}

const struct staged *requests_partitions(MPI_Request handle, MPI_Comm *comm)
{
    const struct staged_request *request;

    if (is_empty())
        return NULL;
    pthread_mutex_lock(&requests_lock);
    request = partitioned.first;
    while (request && (request->request != handle || !request->active))
        request = request->next_partitioned;
    if (request)
        *comm = request->comm;
    pthread_mutex_unlock(&requests_lock);
    return request ? &request->buffers[0] : NULL;
}

void requests_for_each(void (*visit)(struct staged_request *request, const void *argument),
                       const void *argument)
{
    pthread_mutex_lock(&requests_lock);
    for (int i = 0; i < TABLE; i++)
        for (struct staged_request *request = table[i].first; request; request = request->next)
            visit(request, argument);
    pthread_mutex_unlock(&requests_lock);
}

static void belong_to_self(struct staged_request *request, const void *comm)
{
    if (request->comm == *(const MPI_Comm *)comm)
        request->comm = MPI_COMM_SELF;
}

void requests_comm_freed(MPI_Comm comm)
{
    if (!is_empty())
        requests_for_each(belong_to_self, &comm);
}

MPI_Request requests_standing_in(MPI_Request handle)
{
    const struct staged_request *request;

    if (is_empty())
        return handle;
    pthread_mutex_lock(&requests_lock);
    request = find(handle);
    if (request && request->standing_in != MPI_REQUEST_NULL)
        handle = request->standing_in;
    pthread_mutex_unlock(&requests_lock);
    return handle;
}

MPI_Comm requests_comm(const struct staged_request *request)
{
    return request ? request->comm : MPI_COMM_SELF;
}

bool requests_is_persistent(const struct staged_request *request)
{
    return request && request->persistent;
}

struct staged_request *requests_take(MPI_Request handle)
{
    struct staged_request *request;

    if (is_empty())
        return NULL;
    pthread_mutex_lock(&requests_lock);
    request = find_settled(handle);
    if (request) {
        QUEUE_REMOVE(&table[list_of(handle)], request, next);
        if (request->pulled)
            request_expects_no_more(request);
    }
    pthread_mutex_unlock(&requests_lock);
    return request;
}

void requests_put_back(struct staged_request *request)
{
    pthread_mutex_lock(&requests_lock);
    QUEUE_PUSH_FRONT(&table[list_of(request->request)], request, next);
    if (request->pulled)
        request_expects(request);
    pthread_mutex_unlock(&requests_lock);
}

static bool is_partitioned(const struct staged_request *request)
{
    return request->buffers[0].written;
}

static bool is_one_sided(const struct staged_request *request)
{
    return request->buffers[request->n - 1].use & STAGED_WINDOW;
}

void request_end(struct staged_request *request)
{
    if (is_one_sided(request))
        atomic_fetch_sub(&nwindow, 1);
    if (is_partitioned(request)) {
        pthread_mutex_lock(&requests_lock);
        QUEUE_REMOVE(&partitioned, request, next_partitioned);
        pthread_mutex_unlock(&requests_lock);
    }
    for (int i = 0; i < request->n; i++)
        staged_end(&request->buffers[i]);
    traced_drop(&request->call);
    creation_end(&request->creates);
    free(request);
    atomic_fetch_sub(&nrequests, 1);
}

int requests_read(struct staged_request *request)
{
    int result = MPI_SUCCESS;

    for (int i = 0; request && i < request->n && result == MPI_SUCCESS; i++)
        if (request->buffers[i].use & STAGED_READ)
            result = staged_read(&request->buffers[i]);
    return result;
}

void requests_started(struct staged_request *request, MPI_Request handle, bool started)
{
    if (!request)
        return;
    if (started) {
        pthread_mutex_lock(&requests_lock);
        request->request = handle;
        request->active = true;
        pthread_mutex_unlock(&requests_lock);
        request->written = request->ordinary = false;
        request->direct = -1;
        for (int i = 0; i < request->n; i++)
            staged_restart(&request->buffers[i]);
        if (traced_is_event(&request->call) && request->standing_in == MPI_REQUEST_NULL)
            traced_restart(&request->call);
    }
    requests_put_back(request);
}

/* Senders of small messages wait less than it takes to look for them, and other processes send no direct
 * messages to one without GPU memory. */
static bool is_to_be_pulled(const struct staged *buffer)
{
    return buffer->direct && direct_own()->receives &&
           (buffer->staged || buffer->direct >= DIRECT_LARGE);
}

#ifdef OPEN_MPI
/* A message of host memory. */
static bool is_only_traced(const struct staged_request *request)
{
    const int kind = request->call.event.kind;

    return (kind == TRACE_SEND || kind == TRACE_RECEIVE) && !request->buffers[0].staged &&
           !request->buffers[request->n - 1].staged;
}
#endif

/* Open MPI has one request for all messages that are complete from the start. To ask for any other's status
 * costs a call of its progress, and with one between two MPI_Comm_idup Open MPI 4.1 hangs. */
static bool is_surely_no_other(const struct staged_request *request)
{
#ifdef OPEN_MPI
    static _Atomic(MPI_Request) complete = NULL;

    if (!request->buffers[request->n - 1].direct && !is_only_traced(request) && !request->creates)
        return false;
    if (!atomic_load_explicit(&complete, memory_order_relaxed)) {
        MPI_Request made = NULL;

        CALL_MPI(PMPI_Irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &made));
        atomic_store(&complete, made);
        CALL_MPI(PMPI_Wait(&made, MPI_STATUS_IGNORE));
    }
    return request->request != atomic_load_explicit(&complete, memory_order_relaxed);
#else
    (void)request;
    return false;
#endif
}

/* MPI may give one handle to all requests that are complete from the start; such a handle does not
 * tell them apart, and so they never enter the table. A direct message's does, since its status is still
 * to be changed: it is copied later, together with others. */
static bool is_complete_at_once(struct staged_request *request, int *result)
{
    MPI_Status status = {0};
    int over = 0;

    if (is_surely_no_other(request) || request->buffers[0].use & STAGED_AT_FREE)
        return false;
    handler_status_quietly(request->request, &over, &status);
    if (!over || direct_has_come(buffer_of_message(request)))
        return false;
    *result = request_write(request, &status);
    return true;
}

/* NULL: out of memory. */
static struct staged_request *make(MPI_Request handle, MPI_Comm comm)
{
    struct staged_request *request = calloc(1, sizeof *request);

    if (!request)
        return NULL;
    request->request = handle;
    request->comm = comm;
    request->direct = -1;
    request->standing_in = MPI_REQUEST_NULL;
    return request;
}

static int add(struct staged_request *request)
{
    int result = MPI_SUCCESS;

    atomic_fetch_add(&nrequests, 1);
    if (is_one_sided(request))
        atomic_fetch_add(&nwindow, 1);
    if (is_partitioned(request)) {
        pthread_mutex_lock(&requests_lock);
        QUEUE_PUSH(&partitioned, request, next_partitioned);
        pthread_mutex_unlock(&requests_lock);
    }
    if (!request->persistent && is_complete_at_once(request, &result))
        request_end(request);
    else
        requests_put_back(request);
    return result;
}

int requests_add(MPI_Request handle, const struct traced *call, const struct staged *buffers, int n,
                 bool persistent, MPI_Comm comm)
{
    struct staged_request *request = make(handle, comm);

    if (!request)
        return MPI_ERR_NO_MEM;
    if (call)
        request->call = *call;
    if (persistent)
        request->call.event.start = 0;
    request->n = n;
    request->pulled = is_to_be_pulled(&buffers[n - 1]);
    request->persistent = persistent;
    request->active = !persistent;
    for (int i = 0; i < n; i++) {
        request->buffers[i] = buffers[i];
        if (buffers[i].parts == &buffers[i].part)
            request->buffers[i].parts = &request->buffers[i].part;
    }
    return add(request);
}

bool requests_add_creation(MPI_Request handle, MPI_Comm comm)
{
    struct staged_request *request = make(handle, comm);

    if (!request)
        return false;
    request->creates = true;
    request->active = true;
    request->n = 1;
    staged_pass(&request->buffers[0], NULL);
    add(request);
    return true;
}

bool request_is_over(struct staged_request *request, MPI_Status *status)
{
    int over = 0;

    request->busy = true;
    pthread_mutex_unlock(&requests_lock);
    handler_status_quietly(request->request, &over, status);
    pthread_mutex_lock(&requests_lock);
    request->busy = over;
    return over;
}

bool requests_claim(MPI_Request handle, struct staged_request **request)
{
    bool free = true;

    *request = NULL;
    if (is_empty())
        return true;
    pthread_mutex_lock(&requests_lock);
    *request = find(handle);
    if (*request) {
        free = !(*request)->busy;
        (*request)->busy = true;
    }
    pthread_mutex_unlock(&requests_lock);
    return free;
}

void requests_release(struct staged_request *request)
{
    if (!request)
        return;
    pthread_mutex_lock(&requests_lock);
    request->busy = false;
    pthread_mutex_unlock(&requests_lock);
}

/* A one-sided one that MPI has completed, and nobody has written. It is busy then. */
static struct staged_request *claim_synchronised(MPI_Status *status)
{
    struct staged_request *request = NULL;

    pthread_mutex_lock(&requests_lock);
    for (int i = 0; i < TABLE && !request; i++) {
        request = table[i].first;
        while (request && (!is_one_sided(request) || request->written || request->busy ||
                           !request_is_over(request, status)))
            request = request->next;
    }
    pthread_mutex_unlock(&requests_lock);
    return request;
}

int requests_synchronised(void)
{
    struct staged_request *request;
    MPI_Status status = {0};
    int result = MPI_SUCCESS;

    if (atomic_load_explicit(&nwindow, memory_order_relaxed) == 0 || is_behind)
        return result;
    while ((request = claim_synchronised(&status))) {
        const int error = request_write(request, &status);

        result = result == MPI_SUCCESS ? error : result;
        requests_release(request);
    }
    return result;
}

int requests_complete(struct staged_request *request, MPI_Request handle, MPI_Status *status)
{
    int result = MPI_SUCCESS;

    if (!request)
        return MPI_SUCCESS;
    if (request->active)
        result = request_write(request, status);
    request->active = false;
    /* Open MPI frees a persistent one that has failed. */
    if (request->persistent && handle != MPI_REQUEST_NULL)
        requests_put_back(request);
    else
        request_end(request);
    return result;
}

int requests_see_complete(struct staged_request *request, MPI_Status *status)
{
    if (!request || !request->active || request->buffers[0].use & STAGED_AT_FREE)
        return MPI_SUCCESS;
    return request_write(request, status);
}
