/* Flattens a derived datatype into a list of blocks, by walking its constructors. */
#include "mpi/datatype/type_flatten.h"

#include <limits.h>
#include <stdlib.h>

#include "mpi/datatype/type_contents.h"
#include "mpi/datatype/type_darray.h"

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

static int add_predefined(struct type_parts *parts, int number, MPI_Aint at, size_t nbytes)
{
    const bool first = parts->nblocks == 0 && parts->nbytes == 0;

    if (first)
        parts->number = number < 0 ? 0 : (uint32_t)number;
    else if (number != (int)parts->number)
        parts->mixed = true;
    if (__builtin_add_overflow(parts->nbytes, nbytes, &parts->nbytes))
        return -1;
    return add_block(parts, at, nbytes);
}

static int walk_predefined(struct type_parts *parts, MPI_Datatype type, MPI_Aint at)
{
    const int number = type_number(type);
    size_t value, second; /* of a pair: the bytes of its value, and where its int begins */
    int size;

    PMPI_Type_size(type, &size);
    if (!type_is_pair(number, &value, &second) || value == second)
        return add_predefined(parts, number, at, (size_t)size);
    if (add_predefined(parts, number, at, value) < 0)
        return -1;
    return add_predefined(parts, number, at + (MPI_Aint)second, sizeof(int));
}

/* One of MPI_Type_create_f90_*, whose contents name no other type. */
static int walk_f90(struct type_parts *parts, MPI_Datatype type, int class, MPI_Aint at)
{
    MPI_Datatype same = MPI_DATATYPE_NULL;
    int size;

    PMPI_Type_size(type, &size);
    if (PMPI_Type_match_size(class, size, &same) != MPI_SUCCESS)
        same = MPI_DATATYPE_NULL;
    return add_predefined(parts, same == MPI_DATATYPE_NULL ? -1 : type_number(same), at,
                          (size_t)size);
}

/* The element at `at`, which was walked last, is one block of its extent. */
static bool is_whole(const struct type_parts *parts, size_t nbytes_before, MPI_Aint at,
                     MPI_Aint extent)
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
        size_t rest;

        if (__builtin_mul_overflow((size_t)(n - 1), (size_t)extent, &rest) ||
            __builtin_add_overflow(parts->nbytes, rest, &parts->nbytes))
            return -1;
        return add_block(parts, at + extent, rest);
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
    /* by rows along the dimension that is contiguous in memory */
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

struct rows { /* of a distributed array at `at` */
    struct type_parts *parts;
    MPI_Datatype type;
    MPI_Aint at, extent;
};

static int walk_row(void *argument, MPI_Aint first, int n)
{
    const struct rows *rows = argument;

    return walk_array(rows->parts, rows->type, n, rows->at + first * rows->extent);
}

static int walk_darray(struct type_parts *parts, const struct type_contents *c, MPI_Aint at)
{
    struct rows rows = {parts, c->types[0], at, 0};
    MPI_Aint lower;

    PMPI_Type_get_extent(c->types[0], &lower, &rows.extent);
    return type_darray_rows(c->integers, walk_row, &rows);
}

static int walk_contents(struct type_parts *parts, const struct type_contents *c, MPI_Datatype type,
                         MPI_Aint at)
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
    case MPI_COMBINER_DARRAY:
        return walk_darray(parts, c, at);
    case MPI_COMBINER_F90_REAL:
        return walk_f90(parts, type, MPI_TYPECLASS_REAL, at);
    case MPI_COMBINER_F90_COMPLEX:
        return walk_f90(parts, type, MPI_TYPECLASS_COMPLEX, at);
    case MPI_COMBINER_F90_INTEGER:
        return walk_f90(parts, type, MPI_TYPECLASS_INTEGER, at);
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
    status = walk_contents(parts, &contents, type, at);
    type_contents_clear(&contents);
    return status;
}

int type_flatten(struct type_parts *parts, MPI_Datatype type)
{
    return walk(parts, type, 0);
}
