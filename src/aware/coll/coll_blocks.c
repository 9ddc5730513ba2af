#include "aware/coll/coll_blocks.h"

#include <limits.h>

#include "aware/memory/gpu_buffer.h"
#include "aware/memory/typed.h"

MPI_Count elements_bytes(MPI_Count n, MPI_Datatype type)
{
    const struct typed typed = typed_at(NULL, 0, n, type);

    return n < 0 || type == MPI_DATATYPE_NULL ? -1 : typed_bytes(&typed);
}

bool elements_are_on_gpu(const void *at, MPI_Count n, MPI_Datatype type)
{
    const struct typed typed = typed_at(at, 0, n, type);
    const MPI_Count nbytes = elements_bytes(n, type);

    if (nbytes <= 0)
        return nbytes == 0 && gpu_is_in_use();
    return at != MPI_BOTTOM && n <= INT_MAX && buffer_is_on_gpu(typed_low(&typed));
}

struct coll_move block_at(const struct coll_blocks *blocks, int i)
{
    const MPI_Datatype type = blocks->types ? blocks->types[i] : blocks->type;
    MPI_Count lb, extent = 1;

    if (!blocks->varies) {
        PMPI_Type_get_extent_x(type, &lb, &extent);
        return (struct coll_move){
            address_at(blocks->at, blocks->alike ? 0 : blocks->n * i * extent), blocks->n, type, i,
            0};
    }
    if (!blocks->types)
        PMPI_Type_get_extent_x(type, &lb, &extent);
    return (struct coll_move){address_at(blocks->at, displacement_at(blocks->displs, i) * extent),
                              count_at(blocks->counts, i), type, i, 0};
}

bool block_has_type(const struct coll_blocks *blocks, int i)
{
    return (blocks->types ? blocks->types[i] : blocks->type) != MPI_DATATYPE_NULL;
}

MPI_Count blocks_bytes(const struct coll_blocks *blocks, int n)
{
    MPI_Count all = 0;

    for (int i = 0; i < n; i++) {
        const MPI_Count nbytes = block_has_type(blocks, i)
                                     ? elements_bytes(
                                           blocks->varies ? count_at(blocks->counts, i) : blocks->n,
                                           blocks->types ? blocks->types[i] : blocks->type)
                                     : -1;

        if (nbytes < 0)
            return -1;
        all += nbytes;
    }
    return all;
}

bool blocks_are_on_gpu(const struct coll_blocks *blocks, int n)
{
    for (int i = 0; i < n; i++) {
        struct coll_move one;

        if (!block_has_type(blocks, i))
            return false;
        one = block_at(blocks, i);
        if (!elements_are_on_gpu(one.at, one.count, one.type))
            return false;
    }
    return true;
}
