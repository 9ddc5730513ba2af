#include "mpi/types.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/strides.h"

/* The number of a predefined type is its place here, the same on all ranks of a job.
 * The first is what a mixture of types is called. */
static MPI_Datatype numbered[] = {
    MPI_BYTE,        MPI_DOUBLE,     MPI_FLOAT,          MPI_INT,           MPI_CHAR,
    MPI_LONG,        MPI_LONG_LONG,  MPI_UNSIGNED,       MPI_UNSIGNED_CHAR, MPI_UNSIGNED_LONG,
    MPI_SHORT,       MPI_UNSIGNED_SHORT, MPI_UNSIGNED_LONG_LONG, MPI_SIGNED_CHAR, MPI_WCHAR,
    MPI_LONG_DOUBLE, MPI_INT8_T,     MPI_INT16_T,        MPI_INT32_T,       MPI_INT64_T,
    MPI_UINT8_T,     MPI_UINT16_T,   MPI_UINT32_T,       MPI_UINT64_T,      MPI_C_BOOL,
    MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_AINT, MPI_OFFSET,
    MPI_COUNT,       MPI_PACKED,     MPI_INTEGER,        MPI_REAL,          MPI_DOUBLE_PRECISION,
    MPI_COMPLEX,     MPI_DOUBLE_COMPLEX, MPI_LOGICAL,    MPI_CHARACTER,     MPI_INTEGER4,
    MPI_INTEGER8,    MPI_REAL4,      MPI_REAL8,          MPI_FLOAT_INT,     MPI_DOUBLE_INT,
    MPI_LONG_INT,    MPI_2INT,       MPI_SHORT_INT,      MPI_LONG_DOUBLE_INT,
};
enum { NUMBERED = sizeof numbered / sizeof *numbered };

struct known { /* kept with a derived type, as an attribute of it */
    uint32_t number;
    size_t nbytes;
    bool dense, mixed;
    MPI_Aint extent;
    int nblocks, room;
    struct type_block *blocks; /* when not dense those of strides */
    struct strides *strides;
};

static int known_key = MPI_KEYVAL_INVALID;

MPI_Datatype type_numbered(uint32_t number)
{
    return number < NUMBERED && numbered[number] != MPI_DATATYPE_NULL ? numbered[number] : MPI_BYTE;
}

size_t type_numbered_size(uint32_t number)
{
    int size = 1;

    PMPI_Type_size(type_numbered(number), &size);
    return size > 0 ? (size_t)size : 1;
}

static int number_of(MPI_Datatype type)
{
    for (int i = 0; i < NUMBERED; i++)
        if (numbered[i] == type)
            return i;
    return -1;
}

static int forget(MPI_Datatype type, int key, void *value, void *unused)
{
    struct known *known = value;

    (void)type, (void)key, (void)unused;
    if (known->strides)
        strides_drop(known->strides);
    else
        free(known->blocks);
    free(known);
    return MPI_SUCCESS;
}

static int add_block(struct known *known, MPI_Aint at, size_t nbytes)
{
    struct type_block *last = known->nblocks ? &known->blocks[known->nblocks - 1] : NULL;

    if (nbytes == 0)
        return 0;
    if (last && last->at + (MPI_Aint)last->nbytes == at) {
        last->nbytes += nbytes;
        return 0;
    }
    if (known->nblocks == known->room) {
        int room = known->room ? 2 * known->room : 8;
        struct type_block *more = realloc(known->blocks, (size_t)room * sizeof *more);

        if (!more)
            return -1;
        known->blocks = more;
        known->room = room;
    }
    known->blocks[known->nblocks++] = (struct type_block){at, nbytes};
    return 0;
}

static int walk(struct known *known, MPI_Datatype type, MPI_Aint at);

static int walk_predefined(struct known *known, MPI_Datatype type, MPI_Aint at)
{
    int number = number_of(type), size;

    if (type == MPI_SHORT_INT) /* has a hole in the middle */
        return -1;
    PMPI_Type_size(type, &size);
    if (known->nblocks == 0 && known->nbytes == 0)
        known->number = number < 0 ? 0 : (uint32_t)number;
    else if (number != (int)known->number)
        known->mixed = true;
    known->nbytes += (size_t)size;
    return add_block(known, at, (size_t)size);
}

/* The element that was walked last, at `at`, is a block without holes. */
static bool is_whole(const struct known *known, size_t nbytes_before, MPI_Aint at, MPI_Aint extent)
{
    const struct type_block *last = known->nblocks ? &known->blocks[known->nblocks - 1] : NULL;

    return last && (MPI_Aint)(known->nbytes - nbytes_before) == extent && last->at <= at &&
           last->at + (MPI_Aint)last->nbytes == at + extent;
}

/* n elements of type, one after the other. */
static int walk_array(struct known *known, MPI_Datatype type, int n, MPI_Aint at)
{
    const size_t before = known->nbytes;
    MPI_Aint lower, extent;
    int status = 0;

    PMPI_Type_get_extent(type, &lower, &extent);
    if (n > 0)
        status = walk(known, type, at);
    if (n > 1 && status == 0 && is_whole(known, before, at, extent)) {
        known->nbytes += (size_t)(n - 1) * (size_t)extent;
        return add_block(known, at + extent, (size_t)(n - 1) * (size_t)extent);
    }
    for (int i = 1; i < n && status == 0; i++)
        status = walk(known, type, at + i * extent);
    return status;
}

struct contents {
    int nintegers, naddresses, ntypes, combiner;
    int *integers;
    MPI_Aint *addresses;
    MPI_Datatype *types;
};

/* Subarrays: MPI_TYPE_CREATE_SUBARRAY's integers are ndims, sizes, subsizes, starts,
 * order. */
static int walk_subarray(struct known *known, const struct contents *c, MPI_Aint at)
{
    const int ndims = c->integers[0], *sizes = c->integers + 1, *parts = sizes + ndims,
              *starts = parts + ndims;
    const bool c_order = c->integers[1 + 3 * ndims] == MPI_ORDER_C;
    MPI_Aint lower, extent;
    long nrows = 1;
    int *index = calloc((size_t)ndims, sizeof *index);
    int status = index ? 0 : -1;

    PMPI_Type_get_extent(c->types[0], &lower, &extent);
    /* rows along the dimension that lies next to each other in memory */
    const int fast = c_order ? ndims - 1 : 0;
    for (int d = 0; d < ndims; d++)
        nrows *= d == fast ? 1 : parts[d];
    for (long row = 0; row < nrows && status == 0; row++) {
        MPI_Aint place = 0;

        for (int i = 0; i < ndims; i++) {
            int d = c_order ? i : ndims - 1 - i;

            place = place * sizes[d] + starts[d] + (d == fast ? 0 : index[d]);
        }
        status = walk_array(known, c->types[0], parts[fast], at + place * extent);
        for (int i = 1; i < ndims; i++) {
            int d = c_order ? ndims - 1 - i : i;

            if (++index[d] < parts[d])
                break;
            index[d] = 0;
        }
    }
    free(index);
    return status;
}

static int walk_vector(struct known *known, const struct contents *c, MPI_Aint at)
{
    MPI_Aint lower, extent, stride;
    int status = 0;

    PMPI_Type_get_extent(c->types[0], &lower, &extent);
    stride = c->combiner == MPI_COMBINER_VECTOR ? c->integers[2] * extent : c->addresses[0];
    for (int i = 0; i < c->integers[0] && status == 0; i++)
        status = walk_array(known, c->types[0], c->integers[1], at + i * stride);
    return status;
}

/* indexed, hindexed, their block forms, struct */
static int walk_listed(struct known *known, const struct contents *c, MPI_Aint at)
{
    const int n = c->integers[0];
    const bool blocks = c->combiner == MPI_COMBINER_INDEXED_BLOCK ||
                        c->combiner == MPI_COMBINER_HINDEXED_BLOCK;
    MPI_Aint lower, extent;
    int status = 0;

    for (int i = 0; i < n && status == 0; i++) {
        MPI_Datatype type = c->types[c->combiner == MPI_COMBINER_STRUCT ? i : 0];
        MPI_Aint place;

        PMPI_Type_get_extent(type, &lower, &extent);
        if (c->combiner == MPI_COMBINER_INDEXED)
            place = c->integers[1 + n + i] * extent;
        else if (c->combiner == MPI_COMBINER_INDEXED_BLOCK)
            place = c->integers[2 + i] * extent;
        else
            place = c->addresses[i];
        status = walk_array(known, type, blocks ? c->integers[1] : c->integers[1 + i], at + place);
    }
    return status;
}

static int walk_contents(struct known *known, const struct contents *c, MPI_Aint at)
{
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return walk(known, c->types[0], at);
    case MPI_COMBINER_CONTIGUOUS:
        return walk_array(known, c->types[0], c->integers[0], at);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return walk_vector(known, c, at);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return walk_listed(known, c, at);
    case MPI_COMBINER_SUBARRAY:
        return walk_subarray(known, c, at);
    default:
        return -1;
    }
}

static void free_types(struct contents *c)
{
    int integers, addresses, types, combiner;

    for (int i = 0; i < c->ntypes; i++) {
        PMPI_Type_get_envelope(c->types[i], &integers, &addresses, &types, &combiner);
        if (combiner != MPI_COMBINER_NAMED && number_of(c->types[i]) < 0)
            PMPI_Type_free(&c->types[i]);
    }
}

static int walk(struct known *known, MPI_Datatype type, MPI_Aint at)
{
    struct contents c;
    int status = -1;

    PMPI_Type_get_envelope(type, &c.nintegers, &c.naddresses, &c.ntypes, &c.combiner);
    if (c.combiner == MPI_COMBINER_NAMED || number_of(type) >= 0)
        return walk_predefined(known, type, at);
    c.integers = calloc((size_t)c.nintegers + 1, sizeof *c.integers);
    c.addresses = calloc((size_t)c.naddresses + 1, sizeof *c.addresses);
    c.types = calloc((size_t)c.ntypes + 1, sizeof(MPI_Datatype));
    if (c.integers && c.addresses && c.types) {
        PMPI_Type_get_contents(type, c.nintegers, c.naddresses, c.ntypes, c.integers, c.addresses,
                               c.types);
        status = walk_contents(known, &c, at);
        free_types(&c);
    }
    free(c.integers);
    free(c.addresses);
    free(c.types);
    return status;
}

static struct known *study(MPI_Datatype type, struct gpubind_error *err)
{
    struct known *known = calloc(1, sizeof *known);
    MPI_Aint lower;

    if (!known || walk(known, type, 0) < 0) {
        if (known)
            forget(type, 0, known, NULL);
        error_set(err, "this kind of datatype cannot be sent (a distributed array, perhaps)");
        return NULL;
    }
    if (known->mixed)
        known->number = 0;
    PMPI_Type_get_extent(type, &lower, &known->extent);
    known->dense = known->nblocks == 0 || (known->nblocks == 1 && known->blocks[0].at == 0 &&
                                           known->extent == (MPI_Aint)known->nbytes);
    if (!known->dense)
        known->strides = strides_make(known->blocks, known->nblocks, known->nbytes, known->extent);
    if (!known->dense && !known->strides) {
        forget(type, 0, known, NULL);
        error_set(err, "out of memory");
        return NULL;
    }
    if (known_key == MPI_KEYVAL_INVALID)
        PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &known_key, NULL);
    PMPI_Type_set_attr(type, known_key, known);
    return known;
}

int type_look(MPI_Datatype type, struct type_shape *shape, struct gpubind_error *err)
{
    const struct known *known = NULL;
    int number = type == MPI_DATATYPE_NULL ? -1 : number_of(type), size, found = 0;

    if (number >= 0) {
        PMPI_Type_size(type, &size);
        *shape = (struct type_shape){.number = (uint32_t)number, .nbytes = (size_t)size,
                                     .dense = true, .extent = size};
        if (number < NUMBERED - 6) /* the pairs have holes */
            return 0;
    }
    if (type == MPI_DATATYPE_NULL)
        return error_set(err, "the datatype is MPI_DATATYPE_NULL");
    if (known_key != MPI_KEYVAL_INVALID)
        PMPI_Type_get_attr(type, known_key, &known, &found);
    if (!found)
        known = study(type, err);
    if (!known)
        return -1;
    *shape = (struct type_shape){.number = known->number, .nbytes = known->nbytes,
                                 .dense = known->dense, .extent = known->extent,
                                 .nblocks = known->nblocks, .blocks = known->blocks,
                                 .strides = known->strides};
    return 0;
}
