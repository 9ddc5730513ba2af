#include "aware/coll/coll_buffers.h"

#include <stdint.h>
#include <stdlib.h>

#include "aware/coll/neighbours.h"
#include "aware/memory/gpu_buffer.h"

/* ---- who takes part */

static int is_inter(MPI_Comm comm)
{
    int inter = 0;

    PMPI_Comm_test_inter(comm, &inter);
    return inter;
}

/* The ranks on the other side of a collective call. */
static int size_of(MPI_Comm comm)
{
    int size = 0;

    if (is_inter(comm))
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    return size;
}

static bool is_root(const struct coll *coll)
{
    int rank;

    if (is_inter(coll->comm))
        return coll->root == MPI_ROOT;
    PMPI_Comm_rank(coll->comm, &rank);
    return rank == coll->root;
}

/* In the group of the root of an intercommunicator, but not the root: it does nothing. */
static bool is_aside(const struct coll *coll)
{
    return coll->root == MPI_PROC_NULL && is_inter(coll->comm);
}

/* The root of an intercommunicator only sends, or only receives. */
static bool is_lone_root(const struct coll *coll)
{
    return coll->root == MPI_ROOT && is_inter(coll->comm);
}

/* ---- parts */

static unsigned later(const struct coll *coll)
{
    return coll->later ? STAGED_LATER : 0;
}

static int begin(struct staged *staged, const struct coll *coll, const void *user, MPI_Count n,
                 MPI_Datatype type, unsigned use)
{
    return staged_begin(staged, user, n, type, use | later(coll));
}

/* One part for each rank. type: of all, displacements in its extents; or types, in bytes. */
static int begin_parts(struct staged *staged, const struct coll *coll, const void *user, int n,
                       struct numbers counts, struct numbers displs, MPI_Datatype type,
                       const MPI_Datatype *types, unsigned use)
{
    struct staged_part *parts = malloc(((size_t)n + 1) * sizeof *parts);
    MPI_Count lb, extent = 1;
    int result;

    if (!parts)
        return MPI_ERR_NO_MEM;
    if (!types && type != MPI_DATATYPE_NULL)
        PMPI_Type_get_extent_x(type, &lb, &extent);
    for (int i = 0; i < n; i++)
        parts[i] = (struct staged_part){displacement_at(displs, i) * extent, count_at(counts, i),
                                        types ? types[i] : type};
    result = staged_begin_parts(staged, user, n, parts, use | later(coll));
    free(parts);
    return result;
}

/* The second buffer: without it the first one goes, too. */
static int both(struct staged b[2], int result)
{
    if (result == MPI_SUCCESS) {
        result = staged_keep_apart(&b[0], &b[1]);
        if (result != MPI_SUCCESS)
            staged_end(&b[1]);
    }
    if (result != MPI_SUCCESS)
        staged_end(&b[0]);
    return result;
}

static unsigned written(const void *send)
{
    return send == MPI_IN_PLACE ? STAGED_READ | STAGED_WRITTEN : STAGED_WRITTEN;
}

/* The block of a neighbour MPI_PROC_NULL stays as it is, but is copied back with the others. */
static unsigned written_by(bool neighbours, const void *send)
{
    return neighbours ? STAGED_READ | STAGED_WRITTEN : written(send);
}

static int begin_send(struct staged *staged, const struct coll *coll, const void *send, MPI_Count n,
                      MPI_Datatype type)
{
    if (send != MPI_IN_PLACE)
        return begin(staged, coll, send, n, type, STAGED_READ);
    staged_pass(staged, send);
    return MPI_SUCCESS;
}

/* Both as the application passed them. true: this rank takes part, and they may be GPU memory. */
static bool may_be_staged(struct staged b[2], const struct coll *coll, const void *first,
                          const void *second)
{
    staged_pass(&b[0], first);
    staged_pass(&b[1], second);
    return gpu_is_in_use() && !is_aside(coll);
}

/* ---- the calls */

int coll_bcast(struct staged b[2], const struct coll *coll, void *buf, MPI_Count count,
               MPI_Datatype type)
{
    if (!may_be_staged(b, coll, buf, NULL))
        return MPI_SUCCESS;
    return begin(&b[0], coll, buf, count, type, is_root(coll) ? STAGED_READ : STAGED_WRITTEN);
}

int coll_reduce(struct staged b[2], const struct coll *coll, const void *send, void *recv,
                MPI_Count nsend, MPI_Count nrecv, MPI_Datatype type, bool exscan)
{
    const bool gets = coll->root == NO_ROOT || is_root(coll);
    int result = MPI_SUCCESS;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    if (!is_lone_root(coll))
        result = begin_send(&b[0], coll, send, nsend, type);
    if (result != MPI_SUCCESS || !gets)
        return result;
    return both(b,
                begin(&b[1], coll, recv, nrecv, type, written(send) | (exscan ? STAGED_READ : 0)));
}

int coll_reduce_scatter(struct staged b[2], const struct coll *coll, const void *send, void *recv,
                        struct numbers counts, MPI_Count nrecv, MPI_Datatype type)
{
    MPI_Count all = 0;
    int rank, size;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    /* Of an intercommunicator's local group: its counts add up to what the other group gives. */
    PMPI_Comm_size(coll->comm, &size);
    PMPI_Comm_rank(coll->comm, &rank);
    for (int i = 0; i < size; i++)
        all += counts.of ? count_at(counts, i) : nrecv;
    if (counts.of)
        nrecv = count_at(counts, rank);
    /* In place the receive buffer has the whole operand. */
    return coll_reduce(b, coll, send, recv, all, send == MPI_IN_PLACE ? all : nrecv, type, false);
}

int coll_gather(struct staged b[2], const struct coll *coll, const void *send, MPI_Count nsend,
                MPI_Datatype send_type, void *recv, MPI_Count nrecv, MPI_Datatype recv_type)
{
    const bool gets = coll->root == NO_ROOT || is_root(coll);
    int result = MPI_SUCCESS;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    if (!is_lone_root(coll))
        result = begin_send(&b[0], coll, send, nsend, send_type);
    if (result != MPI_SUCCESS || !gets)
        return result;
    return both(b, begin(&b[1], coll, recv, nrecv * size_of(coll->comm), recv_type, written(send)));
}

int coll_gatherv(struct staged b[2], const struct coll *coll, const void *send, MPI_Count nsend,
                 MPI_Datatype send_type, void *recv, struct numbers counts, struct numbers displs,
                 MPI_Datatype recv_type)
{
    const bool gets = coll->root == NO_ROOT || is_root(coll);
    int result = MPI_SUCCESS;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    if (!is_lone_root(coll))
        result = begin_send(&b[0], coll, send, nsend, send_type);
    if (result != MPI_SUCCESS || !gets)
        return result;
    return both(b, begin_parts(&b[1], coll, recv, size_of(coll->comm), counts, displs, recv_type,
                               NULL, written(send)));
}

/* What every rank but the lone root gets of a scatter. */
static int begin_scattered(struct staged b[2], const struct coll *coll, void *recv, MPI_Count nrecv,
                           MPI_Datatype type)
{
    if (is_lone_root(coll) || recv == MPI_IN_PLACE)
        return MPI_SUCCESS;
    return both(b, begin(&b[1], coll, recv, nrecv, type, STAGED_WRITTEN));
}

int coll_scatter(struct staged b[2], const struct coll *coll, const void *send, MPI_Count nsend,
                 MPI_Datatype send_type, void *recv, MPI_Count nrecv, MPI_Datatype recv_type)
{
    int result = MPI_SUCCESS;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    if (is_root(coll))
        result = begin_send(&b[0], coll, send, nsend * size_of(coll->comm), send_type);
    return result == MPI_SUCCESS ? begin_scattered(b, coll, recv, nrecv, recv_type) : result;
}

int coll_scatterv(struct staged b[2], const struct coll *coll, const void *send,
                  struct numbers counts, struct numbers displs, MPI_Datatype send_type, void *recv,
                  MPI_Count nrecv, MPI_Datatype recv_type)
{
    int result = MPI_SUCCESS;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    if (is_root(coll))
        result = begin_parts(&b[0], coll, send, size_of(coll->comm), counts, displs, send_type,
                             NULL, STAGED_READ);
    return result == MPI_SUCCESS ? begin_scattered(b, coll, recv, nrecv, recv_type) : result;
}

static void partners(const struct coll *coll, bool neighbours, int *in, int *out)
{
    if (neighbours)
        neighbours_count(coll->comm, in, out);
    else
        *in = *out = size_of(coll->comm);
}

int coll_alltoall(struct staged b[2], const struct coll *coll, bool neighbours, const void *send,
                  MPI_Count nsend, MPI_Datatype send_type, void *recv, MPI_Count nrecv,
                  MPI_Datatype recv_type)
{
    int in, out, result;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    partners(coll, neighbours, &in, &out);
    result = begin_send(&b[0], coll, send, nsend * out, send_type);
    if (result != MPI_SUCCESS)
        return result;
    return both(b, begin(&b[1], coll, recv, nrecv * in, recv_type, written_by(neighbours, send)));
}

static int begin_both_parts(struct staged b[2], const struct coll *coll, bool neighbours,
                            const void *send, struct numbers send_counts,
                            struct numbers send_displs, MPI_Datatype send_type,
                            const MPI_Datatype *send_types, void *recv, struct numbers recv_counts,
                            struct numbers recv_displs, MPI_Datatype recv_type,
                            const MPI_Datatype *recv_types)
{
    int in, out, result = MPI_SUCCESS;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    partners(coll, neighbours, &in, &out);
    if (send != MPI_IN_PLACE)
        result = begin_parts(&b[0], coll, send, out, send_counts, send_displs, send_type,
                             send_types, STAGED_READ);
    if (result != MPI_SUCCESS)
        return result;
    return both(b, begin_parts(&b[1], coll, recv, in, recv_counts, recv_displs, recv_type,
                               recv_types, written_by(neighbours, send)));
}

int coll_alltoallv(struct staged b[2], const struct coll *coll, bool neighbours, const void *send,
                   struct numbers send_counts, struct numbers send_displs, MPI_Datatype send_type,
                   void *recv, struct numbers recv_counts, struct numbers recv_displs,
                   MPI_Datatype recv_type)
{
    return begin_both_parts(b, coll, neighbours, send, send_counts, send_displs, send_type, NULL,
                            recv, recv_counts, recv_displs, recv_type, NULL);
}

int coll_alltoallw(struct staged b[2], const struct coll *coll, bool neighbours, const void *send,
                   struct numbers send_counts, struct numbers send_displs,
                   const MPI_Datatype *send_types, void *recv, struct numbers recv_counts,
                   struct numbers recv_displs, const MPI_Datatype *recv_types)
{
    return begin_both_parts(b, coll, neighbours, send, send_counts, send_displs, MPI_BYTE,
                            send_types, recv, recv_counts, recv_displs, MPI_BYTE, recv_types);
}

int coll_neighbour_gather(struct staged b[2], const struct coll *coll, const void *send,
                          MPI_Count nsend, MPI_Datatype send_type, void *recv, MPI_Count nrecv,
                          MPI_Datatype recv_type)
{
    int in, out, result;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    result = begin_send(&b[0], coll, send, nsend, send_type);
    if (result != MPI_SUCCESS)
        return result;
    partners(coll, true, &in, &out);
    return both(b, begin(&b[1], coll, recv, nrecv * in, recv_type, written_by(true, send)));
}

int coll_neighbour_gatherv(struct staged b[2], const struct coll *coll, const void *send,
                           MPI_Count nsend, MPI_Datatype send_type, void *recv,
                           struct numbers counts, struct numbers displs, MPI_Datatype recv_type)
{
    int in, out, result;

    if (!may_be_staged(b, coll, send, recv))
        return MPI_SUCCESS;
    result = begin_send(&b[0], coll, send, nsend, send_type);
    if (result != MPI_SUCCESS)
        return result;
    partners(coll, true, &in, &out);
    return both(b, begin_parts(&b[1], coll, recv, in, counts, displs, recv_type, NULL,
                               written_by(true, send)));
}
