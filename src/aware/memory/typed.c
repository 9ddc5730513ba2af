#include "aware/memory/typed.h"

#include <stdlib.h>

#include "aware/memory/typed_walk.h"
#include "mpi/datatype/type_contents.h"
#include "mpi/datatype/type_flatten.h"
#include "mpi/datatype/type_regular.h"

MPI_Count typed_bytes(const struct typed *typed)
{
    MPI_Count size;

    PMPI_Type_size_x(typed->type, &size);
    return size * typed->count;
}

bool typed_is_on_gpu(const struct typed *typed)
{
    struct walk walk = {.typed = typed, .asks = true};
    bool found = false;

    walk_blocks(&walk, &found);
    return found;
}

char *typed_first(const struct typed *typed)
{
    MPI_Count lb, extent, true_lb, true_extent, steps;

    if (type_is_basic(typed->type))
        return typed->at;
    PMPI_Type_get_extent_x(typed->type, &lb, &extent);
    PMPI_Type_get_true_extent_x(typed->type, &true_lb, &true_extent);
    steps = (typed->count - 1) * extent;
    return address_at(typed->at, (MPI_Aint)(true_lb + (steps < 0 ? steps : 0)));
}

bool typed_is_contiguous(const struct typed *typed, char **start)
{
    struct type_parts parts = {0};
    MPI_Count lb, extent, size;
    struct alike alike;
    bool contiguous;

    *start = typed->at;
    PMPI_Type_get_extent_x(typed->type, &lb, &extent);
    PMPI_Type_size_x(typed->type, &size);
    if (type_is_basic(typed->type) && size == extent) /* a pair, as MPI_DOUBLE_INT, has a gap */
        return true;
    if (find_alike(typed, &alike)) {
        *start = address_at(typed->at, alike.first);
        return alike.nlevels == 0;
    }
    contiguous = type_flatten(&parts, typed->type) == 0 &&
                 are_adjacent(&parts, typed->count, extent);
    if (contiguous)
        *start = address_at(typed->at, parts.blocks[0].at);
    free(parts.blocks);
    return contiguous;
}

bool typed_needs_whole_elements(const struct typed *typed)
{
#ifdef OPEN_MPI
    (void)typed;
    return false;
#else
    struct type_parts parts = {0};
    struct type_regular regular;
    bool needs;

    if (type_regular(typed->type, &regular))
        return type_may_have_holes((int)regular.number);
    needs = type_flatten(&parts, typed->type) < 0 || parts.mixed ||
            type_may_have_holes((int)parts.number);
    free(parts.blocks);
    return needs;
#endif
}

void typed_head(const struct typed *typed, void *dense, size_t nbytes)
{
    const MPI_Count all = typed_bytes(typed);
    struct walk walk = {.typed = typed,
                        .dense = dense,
                        .left = all < (MPI_Count)nbytes ? all : (MPI_Count)nbytes,
                        .out = true};

    if (walk.left > 0)
        walk_blocks(&walk, NULL);
}

int typed_pack(const struct typed *typed, void *dense)
{
    struct walk walk = {.typed = typed, .dense = dense, .left = typed_bytes(typed), .out = true};

    return walk.left > 0 ? walk_blocks(&walk, NULL) : MPI_SUCCESS;
}

int typed_unpack(const struct typed *typed, const void *dense, MPI_Count nbytes)
{
    struct walk walk = {.typed = typed, .dense = (char *)(uintptr_t)dense, .left = nbytes};

    return nbytes > 0 ? walk_blocks(&walk, NULL) : MPI_SUCCESS;
}

int typed_pack_gpu(const struct typed *typed, void *dense)
{
    struct walk walk = {
        .typed = typed, .dense = dense, .on_gpu = true, .left = typed_bytes(typed), .out = true};

    return walk.left > 0 ? walk_blocks(&walk, NULL) : MPI_SUCCESS;
}

int typed_unpack_gpu(const struct typed *typed, const void *dense, MPI_Count nbytes)
{
    struct walk walk = {
        .typed = typed, .dense = (char *)(uintptr_t)dense, .on_gpu = true, .left = nbytes};

    return nbytes > 0 ? walk_blocks(&walk, NULL) : MPI_SUCCESS;
}

char *typed_low(const struct typed *typed)
{
    return typed->at == (const char *)MPI_BOTTOM ? NULL : typed_first(typed);
}

int typed_read(const struct typed *typed, char *host)
{
    struct walk walk = {.typed = typed, .host = host, .left = typed_bytes(typed), .out = true};

    return walk.left > 0 ? walk_blocks(&walk, NULL) : MPI_SUCCESS;
}

int typed_write(const struct typed *typed, const char *host, MPI_Count nbytes)
{
    struct walk walk = {.typed = typed, .host = (char *)(uintptr_t)host, .left = nbytes};

    return nbytes > 0 ? walk_blocks(&walk, NULL) : MPI_SUCCESS;
}
