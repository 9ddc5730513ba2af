#include "bench/coll/operations.h"

/* ---- MPI */

static int mpi_allreduce(const struct coll_call *call)
{
    return MPI_Allreduce(call->send, call->recv, call->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int mpi_bcast(const struct coll_call *call)
{
    return MPI_Bcast(call->recv, call->count, MPI_DOUBLE, COLL_ROOT, MPI_COMM_WORLD);
}

static int mpi_alltoall(const struct coll_call *call)
{
    return MPI_Alltoall(call->send, call->count, MPI_DOUBLE, call->recv, call->count, MPI_DOUBLE,
                        MPI_COMM_WORLD);
}

static int mpi_allgather(const struct coll_call *call)
{
    return MPI_Allgather(call->send, call->count, MPI_DOUBLE, call->recv, call->count, MPI_DOUBLE,
                         MPI_COMM_WORLD);
}

static int mpi_reduce_scatter_block(const struct coll_call *call)
{
    return MPI_Reduce_scatter_block(call->send, call->recv, call->count, MPI_DOUBLE, MPI_SUM,
                                    MPI_COMM_WORLD);
}

static int mpi_reduce(const struct coll_call *call)
{
    return MPI_Reduce(call->send, call->recv, call->count, MPI_DOUBLE, MPI_SUM, COLL_ROOT,
                      MPI_COMM_WORLD);
}

static int mpi_gather(const struct coll_call *call)
{
    return MPI_Gather(call->send, call->count, MPI_DOUBLE, call->recv, call->count, MPI_DOUBLE,
                      COLL_ROOT, MPI_COMM_WORLD);
}

static int mpi_scatter(const struct coll_call *call)
{
    return MPI_Scatter(call->send, call->count, MPI_DOUBLE, call->recv, call->count, MPI_DOUBLE,
                       COLL_ROOT, MPI_COMM_WORLD);
}

static int mpi_alltoallv(const struct coll_call *call)
{
    return MPI_Alltoallv(call->send, call->counts, call->offsets, MPI_DOUBLE, call->recv,
                         call->counts, call->offsets, MPI_DOUBLE, MPI_COMM_WORLD);
}

static int mpi_neighbor_alltoall(const struct coll_call *call)
{
    return MPI_Neighbor_alltoall(call->send, call->count, MPI_DOUBLE, call->recv, call->count,
                                 MPI_DOUBLE, call->neighbours);
}

/* The nonblocking ones are waited for at once. */

static int wait_for(int status, MPI_Request *request)
{
    return status == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : status;
}

static int mpi_iallreduce(const struct coll_call *call)
{
    MPI_Request request;

    return wait_for(MPI_Iallreduce(call->send, call->recv, call->count, MPI_DOUBLE, MPI_SUM,
                                   MPI_COMM_WORLD, &request),
                    &request);
}

static int mpi_ibcast(const struct coll_call *call)
{
    MPI_Request request;

    return wait_for(
        MPI_Ibcast(call->recv, call->count, MPI_DOUBLE, COLL_ROOT, MPI_COMM_WORLD, &request),
        &request);
}

static int mpi_ialltoall(const struct coll_call *call)
{
    MPI_Request request;

    return wait_for(MPI_Ialltoall(call->send, call->count, MPI_DOUBLE, call->recv, call->count,
                                  MPI_DOUBLE, MPI_COMM_WORLD, &request),
                    &request);
}

static int mpi_iallgather(const struct coll_call *call)
{
    MPI_Request request;

    return wait_for(MPI_Iallgather(call->send, call->count, MPI_DOUBLE, call->recv, call->count,
                                   MPI_DOUBLE, MPI_COMM_WORLD, &request),
                    &request);
}

/* ---- NCCL */

static int nccl_allreduce(const struct coll_call *call)
{
    const struct nccl *nccl = call->nccl;

    return nccl->all_reduce(call->send, call->recv, (size_t)call->count, NCCL_DOUBLE, NCCL_SUM,
                            nccl->comm, nccl->stream);
}

static int nccl_bcast(const struct coll_call *call)
{
    const struct nccl *nccl = call->nccl;

    return nccl->broadcast(call->recv, call->recv, (size_t)call->count, NCCL_DOUBLE, COLL_ROOT,
                           nccl->comm, nccl->stream);
}

static int nccl_allgather(const struct coll_call *call)
{
    const struct nccl *nccl = call->nccl;

    return nccl->all_gather(call->send, call->recv, (size_t)call->count, NCCL_DOUBLE, nccl->comm,
                            nccl->stream);
}

static int nccl_reduce_scatter_block(const struct coll_call *call)
{
    const struct nccl *nccl = call->nccl;

    return nccl->reduce_scatter(call->send, call->recv, (size_t)call->count, NCCL_DOUBLE, NCCL_SUM,
                                nccl->comm, nccl->stream);
}

static int nccl_reduce(const struct coll_call *call)
{
    const struct nccl *nccl = call->nccl;

    return nccl->reduce(call->send, call->recv, (size_t)call->count, NCCL_DOUBLE, NCCL_SUM,
                        COLL_ROOT, nccl->comm, nccl->stream);
}

/* The others are groups of sends and receives of blocks, as NCCL's documentation has them. Of the
 * calls of a group the first error counts. */

static void send_block(const struct coll_call *call, int block, int peer, int *status)
{
    const struct nccl *nccl = call->nccl;

    if (*status == NCCL_OK)
        *status = nccl->send(call->send + (size_t)block * (size_t)call->count, (size_t)call->count,
                             NCCL_DOUBLE, peer, nccl->comm, nccl->stream);
}

static void recv_block(const struct coll_call *call, int block, int peer, int *status)
{
    const struct nccl *nccl = call->nccl;

    if (*status == NCCL_OK)
        *status = nccl->recv(call->recv + (size_t)block * (size_t)call->count, (size_t)call->count,
                             NCCL_DOUBLE, peer, nccl->comm, nccl->stream);
}

static int end_group(const struct coll_call *call, int status)
{
    int end = call->nccl->group_end();

    return status == NCCL_OK ? end : status;
}

static int nccl_alltoall(const struct coll_call *call)
{
    int status = call->nccl->group_start();

    for (int peer = 0; peer < call->n; peer++) {
        send_block(call, peer, peer, &status);
        recv_block(call, peer, peer, &status);
    }
    return end_group(call, status);
}

static int nccl_gather(const struct coll_call *call)
{
    int status = call->nccl->group_start();

    send_block(call, 0, COLL_ROOT, &status);
    for (int peer = 0; peer < call->n && call->rank == COLL_ROOT; peer++)
        recv_block(call, peer, peer, &status);
    return end_group(call, status);
}

static int nccl_scatter(const struct coll_call *call)
{
    int status = call->nccl->group_start();

    for (int peer = 0; peer < call->n && call->rank == COLL_ROOT; peer++)
        send_block(call, peer, peer, &status);
    recv_block(call, 0, COLL_ROOT, &status);
    return end_group(call, status);
}

/* ---- the table */

const struct coll_operation coll_operations[COLL_OPERATIONS] = {
    {.name = "allreduce",
     .mpi_name = "MPI_Allreduce",
     .nccl_name = "ncclAllReduce",
     .sums = true,
     .mpi = mpi_allreduce,
     .nccl = nccl_allreduce},
    {.name = "bcast",
     .mpi_name = "MPI_Bcast",
     .nccl_name = "ncclBroadcast",
     .in_place = true,
     .sender = COLL_ROOT_ALONE,
     .mpi = mpi_bcast,
     .nccl = nccl_bcast},
    {.name = "alltoall",
     .mpi_name = "MPI_Alltoall",
     .nccl_name = "a group of ncclSend and ncclRecv",
     .size_is_block = true,
     .send_blocks = true,
     .recv_blocks = true,
     .mpi = mpi_alltoall,
     .nccl = nccl_alltoall},
    {.name = "allgather",
     .mpi_name = "MPI_Allgather",
     .nccl_name = "ncclAllGather",
     .size_is_block = true,
     .recv_blocks = true,
     .mpi = mpi_allgather,
     .nccl = nccl_allgather},
    {.name = "reduce_scatter_block",
     .mpi_name = "MPI_Reduce_scatter_block",
     .nccl_name = "ncclReduceScatter",
     .size_is_block = true,
     .sums = true,
     .send_blocks = true,
     .mpi = mpi_reduce_scatter_block,
     .nccl = nccl_reduce_scatter_block},
    {.name = "reduce",
     .mpi_name = "MPI_Reduce",
     .nccl_name = "ncclReduce",
     .sums = true,
     .receiver = COLL_ROOT_ALONE,
     .mpi = mpi_reduce,
     .nccl = nccl_reduce},
    {.name = "gather",
     .mpi_name = "MPI_Gather",
     .nccl_name = "a group of ncclSend and ncclRecv",
     .size_is_block = true,
     .recv_blocks = true,
     .receiver = COLL_ROOT_ALONE,
     .mpi = mpi_gather,
     .nccl = nccl_gather},
    {.name = "scatter",
     .mpi_name = "MPI_Scatter",
     .nccl_name = "a group of ncclSend and ncclRecv",
     .size_is_block = true,
     .send_blocks = true,
     .sender = COLL_ROOT_ALONE,
     .mpi = mpi_scatter,
     .nccl = nccl_scatter},
    {.name = "alltoallv",
     .mpi_name = "MPI_Alltoallv",
     .nccl_name = "a group of ncclSend and ncclRecv",
     .size_is_block = true,
     .send_blocks = true,
     .recv_blocks = true,
     .int_offsets = true,
     .mpi = mpi_alltoallv,
     .nccl = nccl_alltoall},
    {.name = "neighbor_alltoall",
     .mpi_name = "MPI_Neighbor_alltoall",
     .nccl_name = "a group of ncclSend and ncclRecv",
     .size_is_block = true,
     .send_blocks = true,
     .recv_blocks = true,
     .mpi = mpi_neighbor_alltoall,
     .nccl = nccl_alltoall},
    {.name = "iallreduce",
     .mpi_name = "MPI_Iallreduce",
     .nccl_name = "ncclAllReduce",
     .sums = true,
     .mpi = mpi_iallreduce,
     .nccl = nccl_allreduce},
    {.name = "ibcast",
     .mpi_name = "MPI_Ibcast",
     .nccl_name = "ncclBroadcast",
     .in_place = true,
     .sender = COLL_ROOT_ALONE,
     .mpi = mpi_ibcast,
     .nccl = nccl_bcast},
    {.name = "ialltoall",
     .mpi_name = "MPI_Ialltoall",
     .nccl_name = "a group of ncclSend and ncclRecv",
     .size_is_block = true,
     .send_blocks = true,
     .recv_blocks = true,
     .mpi = mpi_ialltoall,
     .nccl = nccl_alltoall},
    {.name = "iallgather",
     .mpi_name = "MPI_Iallgather",
     .nccl_name = "ncclAllGather",
     .size_is_block = true,
     .recv_blocks = true,
     .mpi = mpi_iallgather,
     .nccl = nccl_allgather},
};
