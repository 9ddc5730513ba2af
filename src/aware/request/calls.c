#include "aware/request/calls.h"

#include <sched.h>

/* A program that starts MPI by sessions alone has neither MPI_COMM_SELF nor MPI_COMM_WORLD. */
static bool has_handler(MPI_Comm comm)
{
    int initialized = 1;

    if (comm == MPI_COMM_SELF)
        PMPI_Initialized(&initialized);
    return initialized;
}

int call_refused(MPI_Comm comm, int result)
{
    if (has_handler(comm))
        PMPI_Comm_call_errhandler(comm, result);
    return result;
}

int call_completed(int result, int error, MPI_Comm comm)
{
    return result != MPI_SUCCESS || error == MPI_SUCCESS ? result : call_refused(comm, error);
}

static void end_traced(struct traced *call, int result)
{
    if (result != MPI_SUCCESS)
        call->event.kind = TRACE_NOTHING;
    traced_end(call);
    traced_drop(call);
}

int call_ended(struct traced *call, struct staged *buffers, int n, int result, MPI_Comm comm)
{
    int error = MPI_SUCCESS;

    for (int i = 0; i < n; i++) {
        if (result == MPI_SUCCESS && error == MPI_SUCCESS)
            error = staged_write(&buffers[i], -1);
        staged_end(&buffers[i]);
    }
    if (call && traced_has_begun(call))
        end_traced(call, result == MPI_SUCCESS ? error : result);
    requests_sweep(false); /* this call may tell that a freed receive is complete */
    return error == MPI_SUCCESS ? result : call_refused(comm, error);
}

int call_started(struct traced *call, struct staged *buffers, int n, int result,
                 MPI_Request request, bool persistent, MPI_Comm comm)
{
    bool staged = traced_is_event(call);

    for (int i = 0; i < n; i++)
        staged |= buffers[i].staged || buffers[i].direct;
    if (!staged)
        return result;
    if (result == MPI_SUCCESS) {
        result = requests_add(request, call, buffers, n, persistent, comm);
        /* Out of memory: MPI still uses the buffers, which are never given back. */
        return result == MPI_SUCCESS ? result : call_refused(comm, result);
    }
    for (int i = 0; i < n; i++)
        staged_end(&buffers[i]);
    traced_drop(call);
    return result;
}

/* ---- direct messages */

#define POLLS 4 /* of MPI, for one look at direct messages */

void call_wait_for(struct direct_send *send)
{
    for (unsigned spins = 1; !direct_send_end(send); spins++)
        progress_idle(spins);
}

void call_wait_for_both(struct direct_send *send, MPI_Request *descriptor)
{
    call_wait_for(send);
    CALL_MPI(PMPI_Wait(descriptor, MPI_STATUS_IGNORE));
}

void call_abandon(void *send, int code)
{
    (void)code;
    direct_send_abandon(send);
}

int call_sent(struct direct_send *send, int result)
{
    if (send && result == MPI_SUCCESS)
        call_wait_for(send);
    else if (send)
        direct_send_abandon(send);
    requests_sweep(false);
    return result;
}

int call_sends(struct direct_send *send, int result, MPI_Request descriptor, MPI_Request *request,
               MPI_Comm comm)
{
    if (!send)
        return result;
    if (result != MPI_SUCCESS) {
        direct_send_abandon(send);
        return result;
    }
    result = direct_send_later(send, descriptor, request);
    return result == MPI_SUCCESS ? result : call_refused(comm, result);
}

static void end_look(void *nothing, int code)
{
    (void)nothing, (void)code;
    direct_look_end();
}

void call_waiting_begin(struct call_waiting *waiting)
{
    waiting->tests = 0;
    direct_look_begin();
    undo_begin(&waiting->undo, end_look, NULL);
}

bool call_is_to_test(struct call_waiting *waiting)
{
    if (!progress_is_pending())
        return false;
    if (waiting->tests % PROGRESS_SPINS == 1)
        sched_yield();
    if (waiting->tests++ % POLLS == 0)
        progress_step();
    return true;
}

void call_waiting_end(struct call_waiting *waiting)
{
    if (!undo_end(&waiting->undo))
        direct_look_end();
}
