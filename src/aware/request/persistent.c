#include "aware/request/persistent.h"

#include <stdatomic.h>

#include "aware/base/undo.h"
#include "aware/request/calls.h"
#include "aware/request/staged_request.h"

static atomic_int ndirect; /* requests whose messages may go directly */

void persistent_may_go_directly(MPI_Request handle, persistent_send *send, int dest, int tag)
{
    struct staged_request *request = send ? requests_take(handle) : NULL;

    if (!request)
        return;
    request->send = send;
    request->dest = dest;
    request->tag = tag;
    atomic_store(&ndirect, 1);
    requests_put_back(request);
}

static void use_mpi(struct staged_request *request, const void *comm)
{
    if (request->comm == *(const MPI_Comm *)comm)
        request->send = NULL;
}

void persistent_comm_freed(MPI_Comm comm)
{
    if (atomic_load_explicit(&ndirect, memory_order_relaxed))
        requests_for_each(use_mpi, &comm);
}

int persistent_prepare(struct staged_request *request)
{
    if (!request)
        return MPI_SUCCESS;
    if (request->active) /* MPI's own may not be, while another request stands in for it */
        return MPI_ERR_REQUEST;
    if (request->send) {
        const struct staged *buffer = &request->buffers[0];
        struct traced call;

        traced_begin(&call, NULL, 0);
        request->direct_send = direct_send_begin(&call, true, buffer->user, buffer->parts[0].count,
                                                 buffer->parts[0].type, request->dest, request->tag,
                                                 request->comm);
    }
    return request->direct_send ? MPI_SUCCESS : requests_read(request);
}

bool persistent_is_direct(const struct staged_request *request)
{
    return request && request->direct_send;
}

static void undo_start(void *request, int code)
{
    (void)code;
    persistent_abandon(request);
    requests_put_back(request);
}

int persistent_start(struct staged_request *request)
{
    struct direct_send *send = request->direct_send;
    MPI_Request descriptor = MPI_REQUEST_NULL;
    struct undo undo;
    int result;

    undo_begin(&undo, undo_start, request);
    result = request->send(send, request->dest, request->tag, request->comm, &descriptor);
    if (undo_end(&undo))
        return result;
    request->direct_send = NULL;
    result = call_sends(send, result, descriptor, &request->standing_in, request->comm);
    requests_started(request, request->request, result == MPI_SUCCESS);
    return result;
}

void persistent_abandon(struct staged_request *request)
{
    if (!persistent_is_direct(request))
        return;
    direct_send_abandon(request->direct_send);
    request->direct_send = NULL;
}

bool persistent_keeps_handle(const struct staged_request *request)
{
    return request && request->persistent && request->standing_in == MPI_REQUEST_NULL;
}

void persistent_stand_in(const struct staged_request *request, MPI_Request *handle)
{
    if (request && request->standing_in != MPI_REQUEST_NULL)
        *handle = request->standing_in;
}

void persistent_restore(struct staged_request *request, MPI_Request *handle)
{
    if (!request || request->standing_in == MPI_REQUEST_NULL)
        return;
    request->standing_in = *handle;
    *handle = request->request;
}

MPI_Request persistent_active(MPI_Request handle)
{
    return atomic_load_explicit(&ndirect, memory_order_relaxed) ? requests_standing_in(handle)
                                                                : handle;
}
