#include "mpi/type_parts.h"

#include <limits.h>
#include <stdlib.h>

#include "mpi/type_contents.h"

static int add_block(struct type_parts *parts, MPI_Aint at, size_t nbytes)
{
    struct type_block *last = parts->nblocks ? &parts->blocks[parts->nblocks - 1] : NULL;

    if (nbytes == 0)
        return 0;
    if (last && last->at + (MPI_Aint)last->nbytes == at) {
        last->nbytes += nbytes;
        return 0;
    }
    if (parts->nblocks == parts->room) {
        int room = parts->room ? 2 * parts->room : 8;
        struct type_block *more = parts->room > INT_MAX / 2
                                      ? NULL
                                      : realloc(parts->blocks, (size_t)room * sizeof *more);

        if (!more)
            return -1;
        parts->blocks = more;
        parts->room = room;
    }
    parts->blocks[parts->nblocks++] = (struct type_block){at, nbytes};
    return 0;
}

static int walk(struct type_parts *parts, MPI_Datatype type, MPI_Aint at);

static int walk_predefined(struct type_parts *parts, MPI_Datatype type, MPI_Aint at)
{
    int number = type_number(type), size;

    if (type == MPI_SHORT_INT) /* has a hole in the middle */
        return -1;
    PMPI_Type_size(type, &size);
    if (parts->nblocks == 0 && parts->nbytes == 0)
        parts->number = number < 0 ? 0 : (uint32_t)number;
    else if (number != (int)parts->number)
        parts->mixed = true;
    parts->nbytes += (size_t)size;
    return add_block(parts, at, (size_t)size);
}

/* The element that was walked last, at `at`, is a block without holes. */
static bool is_whole(const struct type_parts *parts, size_t nbytes_before, MPI_Aint at, MPI_Aint extent)
{
    const struct type_block *last = parts->nblocks ? &parts->blocks[parts->nblocks - 1] : NULL;

    return last && (MPI_Aint)(parts->nbytes - nbytes_before) == extent && last->at <= at &&
           last->at + (MPI_Aint)last->nbytes == at + extent;
}

/* n elements of type, one after the other. */
static int walk_array(struct type_parts *parts, MPI_Datatype type, int n, MPI_Aint at)
{
    const size_t before = parts->nbytes;
    MPI_Aint lower, extent;
    int status = 0;

    PMPI_Type_get_extent(type, &lower, &extent);
    if (n > 0)
        status = walk(parts, type, at);
    if (n > 1 && status == 0 && is_whole(parts, before, at, extent)) {
        parts->nbytes += (size_t)(n - 1) * (size_t)extent;
        return add_block(parts, at + extent, (size_t)(n - 1) * (size_t)extent);
    }
    for (int i = 1; i < n && status == 0; i++)
        status = walk(parts, type, at + i * extent);
    return status;
}

/* Subarrays: MPI_TYPE_CREATE_SUBARRAY's integers are ndims, sizes, subsizes, starts,
 * order. */
static int walk_subarray(struct type_parts *parts, const struct type_contents *c, MPI_Aint at)
{
    const int ndims = c->integers[0], *sizes = c->integers + 1, *lengths = sizes + ndims,
              *starts = lengths + ndims;
    const bool c_order = c->integers[1 + 3 * ndims] == MPI_ORDER_C;
    MPI_Aint lower, extent;
    long nrows = 1;
    int *index = calloc((size_t)ndims, sizeof *index);
    int status = index ? 0 : -1;

    PMPI_Type_get_extent(c->types[0], &lower, &extent);
    /* rows along the dimension that lies next to each other in memory */
    const int fast = c_order ? ndims - 1 : 0;
    for (int d = 0; d < ndims; d++)
        nrows *= d == fast ? 1 : lengths[d];
    for (long row = 0; row < nrows && status == 0; row++) {
        MPI_Aint place = 0;

        for (int i = 0; i < ndims; i++) {
            int d = c_order ? i : ndims - 1 - i;

            place = place * sizes[d] + starts[d] + (d == fast ? 0 : index[d]);
        }
        status = walk_array(parts, c->types[0], lengths[fast], at + place * extent);
        for (int i = 1; i < ndims; i++) {
            int d = c_order ? ndims - 1 - i : i;

            if (++index[d] < lengths[d])
                break;
            index[d] = 0;
        }
    }
    free(index);
    return status;
}

static int walk_vector(struct type_parts *parts, const struct type_contents *c, MPI_Aint at)
{
    MPI_Aint lower, extent, stride;
    int status = 0;

    PMPI_Type_get_extent(c->types[0], &lower, &extent);
    stride = c->combiner == MPI_COMBINER_VECTOR ? c->integers[2] * extent : c->addresses[0];
    for (int i = 0; i < c->integers[0] && status == 0; i++)
        status = walk_array(parts, c->types[0], c->integers[1], at + i * stride);
    return status;
}

/* indexed, hindexed, their block forms, struct */
static int walk_listed(struct type_parts *parts, const struct type_contents *c, MPI_Aint at)
{
    MPI_Aint lower, extent;
    int status = 0;

    for (int i = 0; i < c->integers[0] && status == 0; i++) {
        MPI_Datatype type = c->types[c->combiner == MPI_COMBINER_STRUCT ? i : 0];

        PMPI_Type_get_extent(type, &lower, &extent);
        status = walk_array(parts, type, type_contents_length(c, i),
                            at + type_contents_place(c, i, extent));
    }
    return status;
}

static int walk_contents(struct type_parts *parts, const struct type_contents *c, MPI_Aint at)
{
    if (type_contents_are_listed(c))
        return walk_listed(parts, c, at);
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return walk(parts, c->types[0], at);
    case MPI_COMBINER_CONTIGUOUS:
        return walk_array(parts, c->types[0], c->integers[0], at);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return walk_vector(parts, c, at);
    case MPI_COMBINER_SUBARRAY:
        return walk_subarray(parts, c, at);
    default:
        return -1;
    }
}

static int walk(struct type_parts *parts, MPI_Datatype type, MPI_Aint at)
{
    struct type_contents contents;
    int status;

    if (type_is_basic(type))
        return walk_predefined(parts, type, at);
    if (!type_contents_get(type, &contents))
        return -1;
    status = walk_contents(parts, &contents, at);
    type_contents_clear(&contents);
    return status;
}

int type_take_apart(struct type_parts *parts, MPI_Datatype type)
{
    return walk(parts, type, 0);
}
