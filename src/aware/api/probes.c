/* Probes, which tell the length of the data where they have seen a descriptor. What they find may tell that a freed
 * receive is complete. */
#include "aware/request/calls.h"
#include "aware/request/matched.h"

static bool is_gone(MPI_Comm comm, MPI_Status *status)
{
    return !direct_probed(comm, status) && direct_probed_is_gone(comm, status);
}

NEXT(MPI_Probe)
AWARE_PUBLIC int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int result;

    do
        result = BEHIND(MPI_Probe, source, tag, comm, status);
    while (result == MPI_SUCCESS && is_gone(comm, status));
    requests_sweep(false);
    return result;
}

/* The receive of a matched message is to know its communicator. No other thread can receive it. */
static bool is_to_be_kept(MPI_Comm comm, MPI_Status *status)
{
    return direct_probed(comm, status) || (trace_part_is_on && !is_behind);
}

NEXT(MPI_Mprobe)
AWARE_PUBLIC int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message,
                            MPI_Status *status)
{
    MPI_Status own = {0};
    int result;

    status = status == MPI_STATUS_IGNORE ? &own : status;
    result = BEHIND(MPI_Mprobe, source, tag, comm, message, status);
    requests_sweep(false);
    if (result == MPI_SUCCESS && is_to_be_kept(comm, status))
        matched_add(*message, comm);
    return result;
}

NEXT(MPI_Iprobe)
AWARE_PUBLIC int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    int result;

    progress_step();
    do
        result = BEHIND(MPI_Iprobe, source, tag, comm, flag, status);
    while (result == MPI_SUCCESS && *flag && is_gone(comm, status));
    requests_sweep(false);
    return result;
}

NEXT(MPI_Improbe)
AWARE_PUBLIC int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                             MPI_Status *status)
{
    MPI_Status own = {0};
    int result;

    progress_step();
    status = status == MPI_STATUS_IGNORE ? &own : status;
    result = BEHIND(MPI_Improbe, source, tag, comm, flag, message, status);
    requests_sweep(false);
    if (result == MPI_SUCCESS && *flag && is_to_be_kept(comm, status))
        matched_add(*message, comm);
    return result;
}
