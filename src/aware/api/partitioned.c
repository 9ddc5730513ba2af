/* Partitioned messages: host memory stands for GPU memory, and each partition is copied when the
 * application says that it is ready, or asks for it when it has arrived. */
#include <stdlib.h>

#include "aware/request/calls.h"

#ifdef AWARE_MPI_4

static int begin(struct staged *staged, const void *buf, int n, MPI_Count count, MPI_Datatype type,
                 int rank, unsigned use)
{
    MPI_Count lb, extent;
    struct staged_part *parts;
    int result;

    staged_pass(staged, buf);
    if (rank == MPI_PROC_NULL || n <= 0 || count < 0 || type == MPI_DATATYPE_NULL)
        return MPI_SUCCESS; /* MPI may find what is wrong */
    parts = malloc((size_t)n * sizeof *parts);
    if (!parts)
        return MPI_ERR_NO_MEM;
    PMPI_Type_get_extent_x(type, &lb, &extent);
    for (int i = 0; i < n; i++)
        parts[i] = (struct staged_part){i * count * extent, count, type};
    result = staged_begin_parts(staged, buf, n, parts, use | STAGED_LATER);
    free(parts);
    return result == MPI_SUCCESS ? staged_keep_written(staged) : result;
}

NEXT(MPI_Psend_init)
AWARE_PUBLIC int MPI_Psend_init(const void *buf, int n, MPI_Count count, MPI_Datatype type,
                                int rank, int tag, MPI_Comm comm, MPI_Info info,
                                MPI_Request *request)
{
    TRACED(call, "MPI_Psend_init", rank);
    struct staged staged;
    int result;

    result = begin(&staged, buf, n, count, type, rank, 0);
    if (result != MPI_SUCCESS)
        return call_refused(comm, result);
    if (traced_has_begun(&call))
        traced_message(&call, TRACE_SEND, call_path(&staged), n * count, type, rank, tag, comm);
    result = BEHIND(MPI_Psend_init, staged.host, n, count, type, rank, tag, comm, info, request);
    return call_started(&call, &staged, 1, result, *request, true, comm);
}

NEXT(MPI_Precv_init)
AWARE_PUBLIC int MPI_Precv_init(void *buf, int n, MPI_Count count, MPI_Datatype type, int rank,
                                int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    TRACED(call, "MPI_Precv_init", rank);
    struct staged staged;
    int result;

    result = begin(&staged, buf, n, count, type, rank, STAGED_WRITTEN);
    if (result != MPI_SUCCESS)
        return call_refused(comm, result);
    if (traced_has_begun(&call))
        traced_message(&call, TRACE_RECEIVE, call_path(&staged), n * count, type, rank, tag, comm);
    result = BEHIND(MPI_Precv_init, staged.host, n, count, type, rank, tag, comm, info, request);
    return call_started(&call, &staged, 1, result, *request, true, comm);
}

/* Copies partitions of a request that is sent; MPI finds those that are none. */
static int copy_ready(MPI_Request request, int low, int high)
{
    MPI_Comm comm = MPI_COMM_SELF;
    const struct staged *staged = requests_partitions(request, &comm);
    int result = MPI_SUCCESS;

    for (int i = low < 0 ? 0 : low; staged && i < staged->nparts && i <= high; i++)
        if (result == MPI_SUCCESS)
            result = staged_read_part(staged, i);
    return result == MPI_SUCCESS ? result : call_refused(comm, result);
}

NEXT(MPI_Pready)
AWARE_PUBLIC int MPI_Pready(int partition, MPI_Request request)
{
    const int result = copy_ready(request, partition, partition);

    return result == MPI_SUCCESS ? BEHIND(MPI_Pready, partition, request) : result;
}

NEXT(MPI_Pready_range)
AWARE_PUBLIC int MPI_Pready_range(int low, int high, MPI_Request request)
{
    const int result = copy_ready(request, low, high);

    return result == MPI_SUCCESS ? BEHIND(MPI_Pready_range, low, high, request) : result;
}

/* MPI 4.0 and 4.1 differ in whether the list is const. */
NEXT(MPI_Pready_list)
AWARE_PUBLIC int ready_list(int n, int *partitions,
                            MPI_Request request) __asm__(NEXT_PREFIX "MPI_Pready_list");
int ready_list(int n, int *partitions, MPI_Request request)
{
    int result = MPI_SUCCESS;

    for (int i = 0; i < n && result == MPI_SUCCESS; i++)
        result = copy_ready(request, partitions[i], partitions[i]);
    return result == MPI_SUCCESS ? BEHIND(MPI_Pready_list, n, partitions, request) : result;
}

NEXT(MPI_Parrived)
AWARE_PUBLIC int MPI_Parrived(MPI_Request request, int partition, int *flag)
{
    const int result = BEHIND(MPI_Parrived, request, partition, flag);
    MPI_Comm comm = MPI_COMM_SELF;
    const struct staged *staged = result == MPI_SUCCESS && *flag
                                      ? requests_partitions(request, &comm)
                                      : NULL;

    return staged ? call_completed(result, staged_write_part(staged, partition), comm) : result;
}

#endif
