#include "aware/request/carried.h"

#include "aware/base/counts.h"
#include "aware/request/requests.h"

void carried_sent(struct traced *call, const struct staged *staged, MPI_Count count,
                  MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    direct_send_plain(count, type);
    if (traced_has_begun(call))
        traced_message(call, TRACE_SEND, call_path(staged), count, type, dest, tag, comm);
    if (staged->staged && dest != MPI_PROC_NULL)
        count_one(COUNT_STAGED);
}

void carried_receives(struct traced *call, const struct staged *staged, int source, int tag,
                      MPI_Comm comm)
{
    if (traced_has_begun(call))
        traced_message(call, TRACE_RECEIVE, call_path(staged), 0, MPI_BYTE, source, tag, comm);
}

static bool is_truncated(int result)
{
    int class = MPI_SUCCESS;

    if (result != MPI_SUCCESS)
        PMPI_Error_class(result, &class);
    return class == MPI_ERR_TRUNCATE;
}

static void trace_received(struct traced *call, enum trace_path path, const MPI_Status *status,
                           MPI_Comm comm)
{
    traced_message(call, TRACE_RECEIVE, path, 0, MPI_BYTE, status->MPI_SOURCE, 0, comm);
    if (!traced_is_event(call))
        return;
    traced_matched(call, status);
    traced_end(call);
}

int carried_received(struct traced *call, struct staged *staged, int result, MPI_Status *status,
                     MPI_Comm comm)
{
    const bool came = result == MPI_SUCCESS || is_truncated(result);
    enum trace_path path = call_path(staged);
    MPI_Count nbytes = -1;
    int error = MPI_SUCCESS;

    if (came && !direct_receive(staged, status, &path, &error) && result == MPI_SUCCESS &&
        staged->staged) {
        PMPI_Get_elements_x(status, MPI_BYTE, &nbytes);
        error = staged_write(staged, nbytes == MPI_UNDEFINED ? -1 : nbytes);
    }
    if (traced_has_begun(call) && result == MPI_SUCCESS && error == MPI_SUCCESS)
        trace_received(call, path, status, comm);
    staged_end(staged);
    requests_sweep(false); /* the message may tell that a freed receive is complete */
    return error == MPI_SUCCESS || result != MPI_SUCCESS ? result : call_refused(comm, error);
}

MPI_Status *carried_status(const struct traced *call, const struct staged *staged,
                           MPI_Status *status, MPI_Status *own)
{
    const bool is_read = staged->staged || staged->direct || traced_has_begun(call);

    return is_read && status == MPI_STATUS_IGNORE ? own : status;
}
