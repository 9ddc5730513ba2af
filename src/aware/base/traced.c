#include "aware/base/traced.h"

#include "aware/base/world_ranks.h"

__thread bool traced_inside;
bool traced_is_on;
static bool has_ranks;

void traced_open(void)
{
    if (trace_part_open(TRACE_LIBGPUBIND_AWARE))
        has_ranks = world_ranks_start();
    traced_is_on = nvtx_part_open(NULL) > 0 || trace_part_is_on;
}

void traced_write(void)
{
    trace_part_close();
    traced_is_on = nvtx_part_is_on;
    if (has_ranks)
        world_ranks_end();
    has_ranks = false;
}

void traced_start(struct traced *call, const char *name, int rank)
{
    if (trace_part_is_on && !is_behind && !traced_inside)
        call->event.start = trace_part_now();
    call->is_range = nvtx_part_is_on && name && traced_push(name, rank);
}

bool traced_push(const char *name, int rank)
{
    if (is_behind || traced_inside)
        return false;
    nvtx_part_push(name, rank);
    return true;
}

/* ---- events */

static void find_peer(struct traced *call, int rank, MPI_Comm comm)
{
    call->from_any = rank == MPI_ANY_SOURCE;
    call->event.peer = TRACE_NOBODY;
    if (call->from_any && comm != MPI_COMM_WORLD) {
        call->ranks = world_ranks_of(comm);
        call->from_any = call->ranks;
    } else if (!call->from_any) {
        call->event.peer = trace_part_peer(comm == MPI_COMM_WORLD ? rank : world_rank(comm, rank));
    }
}

void traced_message(struct traced *call, enum trace_kind kind, enum trace_path way, MPI_Count count,
                    MPI_Datatype type, int rank, int tag, MPI_Comm comm)
{
    MPI_Count size = 0;

    if (rank == MPI_PROC_NULL || comm == MPI_COMM_NULL ||
        (comm != MPI_COMM_WORLD && world_ranks_are_hidden(comm)))
        return;
    if (count > 0 && type != MPI_DATATYPE_NULL)
        PMPI_Type_size_x(type, &size);
    call->event.kind = (uint8_t)kind;
    call->event.path = (uint8_t)way;
    call->event.bytes = size > 0 ? (uint64_t)(count * size) : 0;
    call->event.name = NULL;
    call->event.tag = tag;
    call->event.end = 0;
    find_peer(call, rank, comm);
}

void traced_matched(struct traced *call, const MPI_Status *status)
{
    MPI_Count nbytes = 0;

    if (call->from_any && call->ranks)
        call->event.peer = trace_part_peer(world_ranks_at(call->ranks, status->MPI_SOURCE));
    else if (call->from_any)
        call->event.peer = trace_part_peer(status->MPI_SOURCE);
    if (status->MPI_SOURCE == MPI_PROC_NULL) /* of a matched message that is none */
        call->event.kind = TRACE_NOTHING;
    call->event.tag = status->MPI_TAG;
    if (PMPI_Get_elements_x(status, MPI_BYTE, &nbytes) == MPI_SUCCESS && nbytes >= 0)
        call->event.bytes = (uint64_t)nbytes;
}

void traced_end(struct traced *call)
{
    if (!traced_has_begun(call))
        return;
    if (call->event.end == 0)
        call->event.end = trace_part_now();
    if (traced_is_event(call))
        trace_part_record(&call->event);
    call->event.start = 0;
}

void traced_restart(struct traced *call)
{
    call->event.start = trace_part_now();
    call->event.end = 0;
}

void traced_drop(struct traced *call)
{
    world_ranks_release(call->ranks);
    call->ranks = NULL;
}
