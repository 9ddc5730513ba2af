/* Reads a regular layout from the constructors of a derived datatype. */
#include "mpi/datatype/type_regular.h"

#include "mpi/datatype/type_contents.h"

#define LEVELS_MAX 8 /* before the last check for 3 levels */

/* count elements of the level below (level 0: the run), stride bytes apart. */
struct level {
    uint64_t count;
    int64_t stride;
};

struct regular {
    uint32_t number;
    MPI_Aint at;
    uint64_t run; /* 0: no data */
    int n;
    struct level levels[LEVELS_MAX];
};

/* Repeats count times what was read so far. Contiguous repetitions are merged. */
static bool repeat(struct regular *regular, uint64_t count, int64_t stride)
{
    struct level *last = regular->n ? &regular->levels[regular->n - 1] : NULL;

    if (regular->run == 0 || count == 1)
        return true;
    if (count == 0) {
        regular->run = 0;
        return true;
    }
    if (!last && stride == (int64_t)regular->run)
        return !__builtin_mul_overflow(regular->run, count, &regular->run);
    if (last && stride == last->stride * (int64_t)last->count)
        return !__builtin_mul_overflow(last->count, count, &last->count);
    if (regular->n == LEVELS_MAX)
        return false;
    regular->levels[regular->n++] = (struct level){count, stride};
    return true;
}

static bool read_type(struct regular *regular, MPI_Datatype type);

static bool read_vector(struct regular *regular, const struct type_contents *c, MPI_Aint extent)
{
    const MPI_Aint stride = c->combiner == MPI_COMBINER_VECTOR ? c->integers[2] * extent
                                                               : c->addresses[0];

    if (c->integers[0] == 0 || c->integers[1] == 0)
        return repeat(regular, 0, 0);
    return repeat(regular, (uint64_t)c->integers[1], extent) &&
           repeat(regular, (uint64_t)c->integers[0], stride);
}

/* Its integers are ndims, sizes, subsizes, starts, order. */
static bool read_subarray(struct regular *regular, const struct type_contents *c, MPI_Aint extent)
{
    const int ndims = (int)c->integers[0];
    const MPI_Count *sizes = c->integers + 1, *lengths = sizes + ndims, *starts = lengths + ndims;
    const bool c_order = c->integers[1 + 3 * ndims] == MPI_ORDER_C;

    for (int i = 0; i < ndims; i++) {
        const int d = c_order ? ndims - 1 - i : i;

        if (!repeat(regular, (uint64_t)lengths[d], extent))
            return false;
        regular->at += starts[d] * extent;
        extent *= sizes[d];
    }
    return true;
}

static bool is_struct(const struct type_contents *c)
{
    return c->combiner == MPI_COMBINER_STRUCT;
}

/* indexed, hindexed, their block forms, struct: regular if the blocks are equal, at one stride. */
static bool read_listed(struct regular *regular, const struct type_contents *c, MPI_Aint extent)
{
    const MPI_Count n = c->integers[0];
    const MPI_Aint first = type_contents_place(c, 0, extent);
    const MPI_Aint stride = n > 1 ? type_contents_place(c, 1, extent) - first : 0;

    if (n > 1 && is_struct(c))
        return false;
    for (MPI_Count i = 1; i < n; i++)
        if (type_contents_length(c, i) != type_contents_length(c, 0) ||
            type_contents_place(c, i, extent) != first + i * stride)
            return false;
    regular->at += first;
    return repeat(regular, (uint64_t)type_contents_length(c, 0), extent) &&
           repeat(regular, (uint64_t)n, stride);
}

static bool read_contents(struct regular *regular, const struct type_contents *c)
{
    MPI_Aint lower, extent;

    if (type_contents_are_listed(c) && c->integers[0] == 0)
        return repeat(regular, 0, 0); /* an empty list has no element that could be read */
    if (c->ntypes == 0 || !read_type(regular, c->types[0]))
        return false;
    PMPI_Type_get_extent(c->types[0], &lower, &extent);
    if (type_contents_are_listed(c))
        return read_listed(regular, c, extent);
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return true;
    case MPI_COMBINER_CONTIGUOUS:
        return repeat(regular, (uint64_t)c->integers[0], extent);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return read_vector(regular, c, extent);
    case MPI_COMBINER_SUBARRAY:
        return read_subarray(regular, c, extent);
    default:
        return false;
    }
}

static bool read_type(struct regular *regular, MPI_Datatype type)
{
    const int number = type_number(type);
    struct type_contents contents;
    size_t value, second;
    bool good;
    int size;

    if (type_is_basic(type)) {
        if (type_is_pair(number, &value, &second) && value != second)
            return false; /* it has a hole in the middle */
        PMPI_Type_size(type, &size);
        regular->number = number < 0 ? 0 : (uint32_t)number;
        regular->run = (uint64_t)size;
        return true;
    }
    if (!type_contents_get(type, &contents))
        return false;
    good = read_contents(regular, &contents);
    type_contents_clear(&contents);
    return good;
}

bool type_regular(MPI_Datatype type, struct type_regular *regular)
{
    struct regular read = {0};

    if (!read_type(&read, type) || read.n > 3)
        return false;
    *regular = (struct type_regular){
        .number = read.run ? read.number : 0,
        .nbytes = read.run,
        .layout = {.address = (gpu_address)read.at, .run = read.run, .count = {1, 1, 1}}};
    for (int l = 0; l < read.n && read.run; l++) {
        if (read.levels[l].count > UINT32_MAX ||
            __builtin_mul_overflow(regular->nbytes, read.levels[l].count, &regular->nbytes))
            return false;
        regular->layout.count[l] = (uint32_t)read.levels[l].count;
        regular->layout.stride[l] = read.levels[l].stride;
    }
    return true;
}
