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

/* The type of a constructor's elements, which is flattened once for all of them. */
struct element {
    struct type_parts parts; /* of one at 0 */
    MPI_Aint extent;
};

static int element_begin(struct element *element, MPI_Datatype type)
{
    MPI_Aint lower;

    element->parts = (struct type_parts){0};
    PMPI_Type_get_extent(type, &lower, &element->extent);
    return walk(&element->parts, type, 0);
}

static void element_end(const struct element *element)
{
    free(element->parts.blocks);
}

static int add_element(struct type_parts *parts, const struct type_parts *element, MPI_Aint at)
{
    if (parts->nbytes == 0)
        parts->number = element->number;
    parts->mixed |= element->mixed || element->number != parts->number;
    if (__builtin_add_overflow(parts->nbytes, element->nbytes, &parts->nbytes))
        return -1;
    for (int i = 0; i < element->nblocks; i++)
        if (add_block(parts, at + element->blocks[i].at, element->blocks[i].nbytes) < 0)
            return -1;
    return 0;
}

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

/* n elements one after the other, which are one block. */
static int add_run(struct type_parts *parts, const struct element *element, MPI_Count n,
                   MPI_Aint at)
{
    const struct type_parts *one = &element->parts;
    struct type_block block = {one->blocks[0].at, 0};
    struct type_parts run = {
        .number = one->number, .mixed = one->mixed, .nblocks = 1, .blocks = &block};

    if (__builtin_mul_overflow((size_t)n, one->nbytes, &block.nbytes))
        return -1;
    run.nbytes = block.nbytes;
    return add_element(parts, &run, at);
}

static bool is_whole(const struct element *element)
{
    return element->parts.nblocks == 1 &&
           (MPI_Aint)element->parts.blocks[0].nbytes == element->extent;
}

/* n elements are more blocks than add_block could hold. */
static bool are_too_many(const struct element *element, MPI_Count n)
{
    const int nblocks = element->parts.nblocks;

    return !is_whole(element) && nblocks > 0 && n > INT_MAX / 2 / nblocks;
}

/* n elements, one after the other. */
static int walk_array(struct type_parts *parts, const struct element *element, MPI_Count n,
                      MPI_Aint at)
{
    int status = 0;

    if (n <= 0 || element->parts.nbytes == 0)
        return 0;
    if (is_whole(element))
        return add_run(parts, element, n, at);
    if (are_too_many(element, n))
        return -1;
    for (MPI_Count i = 0; i < n && status == 0; i++)
        status = add_element(parts, &element->parts, at + i * element->extent);
    return status;
}

/* Subarrays: MPI_TYPE_CREATE_SUBARRAY's integers are ndims, sizes, subsizes, starts,
 * order. */
static int walk_subarray(struct type_parts *parts, const struct type_contents *c,
                         const struct element *element, MPI_Aint at)
{
    const int ndims = (int)c->integers[0];
    const MPI_Count *sizes = c->integers + 1, *lengths = sizes + ndims, *starts = lengths + ndims;
    const bool c_order = c->integers[1 + 3 * ndims] == MPI_ORDER_C;
    MPI_Count nrows = 1;
    MPI_Count *index = calloc((size_t)ndims, sizeof *index);
    int status = index ? 0 : -1;

    /* by rows along the dimension that is contiguous in memory */
    const int fast = c_order ? ndims - 1 : 0;
    for (int d = 0; d < ndims; d++)
        nrows *= d == fast ? 1 : lengths[d];
    for (MPI_Count row = 0; row < nrows && status == 0; row++) {
        MPI_Aint place = 0;

        for (int i = 0; i < ndims; i++) {
            int d = c_order ? i : ndims - 1 - i;

            place = place * sizes[d] + starts[d] + (d == fast ? 0 : index[d]);
        }
        status = walk_array(parts, element, lengths[fast], at + place * element->extent);
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

static int walk_vector(struct type_parts *parts, const struct type_contents *c,
                       const struct element *element, MPI_Aint at)
{
    const MPI_Aint stride = c->combiner == MPI_COMBINER_VECTOR ? c->integers[2] * element->extent
                                                               : c->addresses[0];
    int status = c->integers[1] > 0 && are_too_many(element, c->integers[0]) ? -1 : 0;

    for (MPI_Count i = 0; i < c->integers[0] && status == 0; i++)
        status = walk_array(parts, element, c->integers[1], at + i * stride);
    return status;
}

/* indexed, hindexed, and their block forms */
static int walk_listed(struct type_parts *parts, const struct type_contents *c,
                       const struct element *element, MPI_Aint at)
{
    int status = 0;

    for (MPI_Count i = 0; i < c->integers[0] && status == 0; i++)
        status = walk_array(parts, element, type_contents_length(c, i),
                            at + type_contents_place(c, i, element->extent));
    return status;
}

/* Each member has a type of its own. */
static int walk_struct(struct type_parts *parts, const struct type_contents *c, MPI_Aint at)
{
    int status = 0;

    for (MPI_Count i = 0; i < c->integers[0] && status == 0; i++) {
        struct element element;

        status = element_begin(&element, c->types[i]);
        if (status == 0)
            status = walk_array(parts, &element, type_contents_length(c, i),
                                at + type_contents_place(c, i, element.extent));
        element_end(&element);
    }
    return status;
}

struct rows { /* of a distributed array at `at` */
    struct type_parts *parts;
    const struct element *element;
    MPI_Aint at;
};

static int walk_row(void *argument, MPI_Aint first, MPI_Count n)
{
    const struct rows *rows = argument;

    return walk_array(rows->parts, rows->element, n, rows->at + first * rows->element->extent);
}

static int walk_elements(struct type_parts *parts, const struct type_contents *c,
                         const struct element *element, MPI_Aint at)
{
    struct rows rows = {parts, element, at};

    if (type_contents_are_listed(c))
        return walk_listed(parts, c, element, at);
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return add_element(parts, &element->parts, at);
    case MPI_COMBINER_CONTIGUOUS:
        return walk_array(parts, element, c->integers[0], at);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return walk_vector(parts, c, element, at);
    case MPI_COMBINER_SUBARRAY:
        return walk_subarray(parts, c, element, at);
    case MPI_COMBINER_DARRAY:
        return type_darray_rows(c->integers, walk_row, &rows);
    default:
        return -1;
    }
}

static int walk_contents(struct type_parts *parts, const struct type_contents *c, MPI_Datatype type,
                         MPI_Aint at)
{
    struct element element;
    int status;

    switch (c->combiner) {
    case MPI_COMBINER_STRUCT:
        return walk_struct(parts, c, at);
    case MPI_COMBINER_F90_REAL:
        return walk_f90(parts, type, MPI_TYPECLASS_REAL, at);
    case MPI_COMBINER_F90_COMPLEX:
        return walk_f90(parts, type, MPI_TYPECLASS_COMPLEX, at);
    case MPI_COMBINER_F90_INTEGER:
        return walk_f90(parts, type, MPI_TYPECLASS_INTEGER, at);
    default:
        break;
    }
    if (c->ntypes != 1)
        return -1;
    status = element_begin(&element, c->types[0]);
    if (status == 0)
        status = walk_elements(parts, c, &element, at);
    element_end(&element);
    return status;
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
