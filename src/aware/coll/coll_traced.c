#include "aware/coll/coll_traced.h"

#include "aware/coll/neighbours.h"

void traced_collective(struct traced *call, const char *name, MPI_Count nbytes)
{
    call->event.kind = TRACE_COLLECTIVE;
    call->event.name = name;
    call->event.peer = TRACE_NOBODY;
    call->event.tag = 0;
    call->event.end = 0;
    call->event.bytes = nbytes > 0 ? (uint64_t)nbytes : 0;
}

MPI_Count bytes_of_own(const struct coll *coll, struct coll_blocks block, struct coll_blocks others)
{
    int rank = 0;

    if (coll->root == MPI_ROOT) /* it gets the other group's */
        return bytes_of_all(coll, others, others);
    if (block.at != MPI_IN_PLACE)
        return elements_bytes(block.n, block.type);
    if (!others.varies)
        return elements_bytes(others.n, others.type);
    PMPI_Comm_rank(coll->comm, &rank);
    return elements_bytes(count_at(others.counts, rank), others.type);
}

MPI_Count bytes_of_all(const struct coll *coll, struct coll_blocks blocks,
                       struct coll_blocks others)
{
    int size = 0, inter = 0;

    PMPI_Comm_test_inter(coll->comm, &inter);
    inter ? PMPI_Comm_remote_size(coll->comm, &size) : PMPI_Comm_size(coll->comm, &size);
    return blocks_bytes(blocks.at == MPI_IN_PLACE ? &others : &blocks, size);
}

MPI_Count bytes_scattered(const struct coll *coll, struct coll_blocks blocks,
                          struct coll_blocks block)
{
    int rank = 0, inter = 0;

    PMPI_Comm_test_inter(coll->comm, &inter);
    PMPI_Comm_rank(coll->comm, &rank);
    if (coll->root == MPI_ROOT || (!inter && coll->root == rank))
        return bytes_of_all(coll, blocks, blocks);
    return elements_bytes(block.n, block.type);
}

MPI_Count bytes_of_group(const struct coll *coll, struct coll_blocks blocks)
{
    int size = 0;

    PMPI_Comm_size(coll->comm, &size);
    return blocks_bytes(&blocks, size);
}

MPI_Count bytes_to_neighbours(const struct coll *coll, struct coll_blocks blocks)
{
    int in, out;

    neighbours_count(coll->comm, &in, &out);
    return blocks_bytes(&blocks, out);
}
