#include "aware/memory/typed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "aware/base/next.h"
#include "aware/memory/host_pool.h"
#include "aware/memory/typed_kernel.h"
#include "mpi/datatype/type_contents.h"

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
    MPI_Count lb, extent, low, high, steps;

    if (type_is_basic(typed->type))
        return typed->at;
    PMPI_Type_get_extent_x(typed->type, &lb, &extent);
    typed_shape_bounds(typed->type, &low, &high);
    steps = (typed->count - 1) * extent;
    return address_at(typed->at, (MPI_Aint)(low + (steps < 0 ? steps : 0)));
}

/* false: of none of its bytes, too. */
static bool is_contiguous(const struct typed_shape *shape, MPI_Count count, MPI_Aint *first)
{
    struct alike alike;

    if (!shape->is_regular) {
        *first = shape->parts.nblocks > 0 ? shape->parts.blocks[0].at : 0;
        return walk_is_adjacent(shape, count);
    }
    alike = walk_alike(shape, count);
    *first = alike.first;
    return shape->regular.nbytes > 0 && alike.nlevels == 0;
}

bool typed_is_contiguous(const struct typed *typed, char **start)
{
    const struct typed_shape *shape;
    MPI_Count lb, extent, size;
    MPI_Aint first = 0;
    bool contiguous;

    *start = typed->at;
    PMPI_Type_get_extent_x(typed->type, &lb, &extent);
    PMPI_Type_size_x(typed->type, &size);
    if (type_is_basic(typed->type) && size == extent) /* a pair, as MPI_DOUBLE_INT, has a gap */
        return true;
    shape = typed_shape_take(typed->type);
    contiguous = shape && is_contiguous(shape, typed->count, &first);
    typed_shape_give(shape);
    if (contiguous)
        *start = address_at(typed->at, first);
    return contiguous;
}

#ifndef OPEN_MPI
/* The receiver's type may have gaps where a basic one has none, and any elements where that is MPI_PACKED. */
static bool divides_unit(MPI_Datatype type)
{
    int size = 0;

    return type != MPI_PACKED && PMPI_Type_size(type, &size) == MPI_SUCCESS && size > 0 &&
           TYPED_UNIT % size == 0;
}
#endif

bool typed_needs_whole_elements(const struct typed *typed)
{
#ifdef OPEN_MPI
    (void)typed;
    return false;
#else
    const struct typed_shape *shape;
    bool needs;

    if (type_is_basic(typed->type))
        return !divides_unit(typed->type);
    shape = typed_shape_take(typed->type);
    needs = !shape;
    if (shape && shape->is_regular)
        needs = type_may_have_holes((int)shape->regular.number);
    else if (shape)
        needs = shape->parts.mixed || type_may_have_holes((int)shape->parts.number);
    typed_shape_give(shape);
    return needs;
#endif
}

/* Of a type that has a constructor unknown to this library, MPI packs the first elements. The type may be one that was
 * not committed. */
static void pack_head(const struct typed *typed, void *dense, MPI_Count nbytes)
{
    MPI_Count size = 0, n;
    MPI_Datatype all;
    int room = 0, at = 0;
    void *packed;

    PMPI_Type_size_x(typed->type, &size);
    n = (nbytes + size - 1) / size;
    if (size > INT_MAX / n)
        return;
    PMPI_Type_contiguous((int)n, typed->type, &all);
    PMPI_Type_commit(&all);
    PMPI_Pack_size(1, all, MPI_COMM_SELF, &room);
    packed = malloc((size_t)room);
    if (packed &&
        CALL_MPI(PMPI_Pack(typed->at, 1, all, packed, room, &at, MPI_COMM_SELF)) == MPI_SUCCESS)
        memcpy(dense, packed, (size_t)nbytes);
    free(packed);
    PMPI_Type_free(&all);
}

void typed_head(const struct typed *typed, void *dense, size_t nbytes)
{
    const MPI_Count all = typed_bytes(typed);
    struct walk walk = {.typed = typed,
                        .dense = dense,
                        .left = all < (MPI_Count)nbytes ? all : (MPI_Count)nbytes,
                        .out = true};

    const MPI_Count left = walk.left;

    if (left > 0 && walk_blocks(&walk, NULL) == MPI_ERR_TYPE)
        pack_head(typed, dense, left);
}

int typed_each(const struct typed *typed, typed_visit *visits, void *visitor)
{
    struct walk walk = {.typed = typed, .visits = visits, .visitor = visitor};

    return typed_bytes(typed) > 0 ? walk_blocks(&walk, NULL) : MPI_SUCCESS;
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
    return typed->absolute ? NULL : typed_first(typed);
}

int typed_read(const struct typed *typed, char *host)
{
    struct walk walk = {.typed = typed, .host = host, .left = typed_bytes(typed), .out = true};

    return walk.left > 0 ? walk_blocks(&walk, NULL) : MPI_SUCCESS;
}

static bool takes_many_copies(const struct typed *typed)
{
    const struct typed_shape *shape = typed_shape_take(typed->type);
    const bool takes = shape && typed_kernel_is_worth_it(shape, typed->count);

    typed_shape_give(shape);
    return takes;
}

/* In host memory they cost less to bring together than to copy one by one. false: no memory. */
static bool write_together(const struct typed *typed, const char *host, MPI_Count nbytes,
                           int *result)
{
    const struct typed there = {(char *)(uintptr_t)host, typed->count, typed->type, true, false};
    struct host_block dense;

    if (!host_take(&dense, (size_t)nbytes, typed_first(typed)))
        return false;
    typed_head(&there, dense.at, (size_t)nbytes);
    *result = typed_unpack(typed, dense.at, nbytes);
    host_give(&dense);
    return true;
}

int typed_write(const struct typed *typed, const char *host, MPI_Count nbytes)
{
    struct walk walk = {.typed = typed, .host = (char *)(uintptr_t)host, .left = nbytes};
    int result;

    if (nbytes > 0 && !typed->absolute && takes_many_copies(typed) &&
        write_together(typed, host, nbytes, &result))
        return result;
    return nbytes > 0 ? walk_blocks(&walk, NULL) : MPI_SUCCESS;
}
