/* The elements of a distributed array (MPI_Type_create_darray) that one process has. */
#include "mpi/datatype/type_darray.h"

#include <stdlib.h>

struct dimension {
    MPI_Count size;  /* of the whole array */
    MPI_Count block; /* elements of a block; */
    MPI_Count first; /* index of the first block of this process, */
    MPI_Count step;  /* and the distance from each to the next */
    MPI_Aint stride; /* elements of the array from one index to the next */
    MPI_Count at;    /* the current index; for the fastest dimension the begin of a row */
};

static MPI_Count length_of_block(const struct dimension *dimension, MPI_Count at)
{
    return dimension->block < dimension->size - at ? dimension->block : dimension->size - at;
}

/* The next index of this process; -1: there is none. */
static MPI_Count next_index(const struct dimension *dimension, MPI_Count at)
{
    const MPI_Count in_block = (at - dimension->first) % dimension->step;
    const MPI_Count jump = at - in_block + dimension->step;

    if (in_block + 1 < dimension->block && at + 1 < dimension->size)
        return at + 1;
    return jump < dimension->size ? jump : -1;
}

/* The next block of the fastest dimension; -1: there is none. */
static MPI_Count next_row(const struct dimension *dimension, MPI_Count at)
{
    const MPI_Count jump = at + dimension->step;

    return jump < dimension->size ? jump : -1;
}

/* Computes a dimension's blocks. 0: this process has none; -1: no valid distribution. */
static int distribute(struct dimension *dimension, MPI_Count kind, MPI_Count argument,
                      MPI_Count nprocs, MPI_Count place)
{
    const MPI_Count size = dimension->size;
    MPI_Count first, step;

    if (kind == MPI_DISTRIBUTE_NONE || size == 0)
        dimension->block = size;
    else if (argument != MPI_DISTRIBUTE_DFLT_DARG)
        dimension->block = argument;
    else if (kind == MPI_DISTRIBUTE_BLOCK)
        dimension->block = size / nprocs + (size % nprocs != 0);
    else
        dimension->block = 1;
    if (size == 0)
        return 0;
    if (dimension->block < 1 || nprocs < 1)
        return -1;
    first = dimension->block * place;
    step = dimension->block * nprocs;
    if (kind == MPI_DISTRIBUTE_NONE)
        step = size;
    dimension->first = first < size ? first : size;
    dimension->step = step < size ? step : size;
    dimension->at = dimension->first;
    return first < size;
}

/* Fills the dimensions, the fastest first. Returns as distribute. */
static int read_dimensions(const MPI_Count *integers, struct dimension *dimensions)
{
    const int ndims = (int)integers[2];
    const MPI_Count *sizes = integers + 3, *kinds = sizes + ndims, *arguments = kinds + ndims,
                    *nprocs = arguments + ndims;
    const int c_order = nprocs[ndims] == MPI_ORDER_C;
    MPI_Count rank = integers[1];
    MPI_Aint stride = 1;
    int has = 1;

    for (int d = ndims - 1; d >= 0; d--) { /* processes are in C order in any case */
        struct dimension *dimension = &dimensions[c_order ? ndims - 1 - d : d];
        const MPI_Count place = nprocs[d] > 0 ? rank % nprocs[d] : 0;
        int some;

        rank /= nprocs[d] > 0 ? nprocs[d] : 1;
        dimension->size = sizes[d];
        some = distribute(dimension, kinds[d], arguments[d], nprocs[d], place);
        if (some < 0)
            return -1;
        has = has && some;
    }
    for (int i = 0; i < ndims; i++) {
        dimensions[i].stride = stride;
        stride *= dimensions[i].size;
    }
    return has;
}

/* Goes to the next row. 0: there is none. */
static int advance(struct dimension *dimensions, int ndims)
{
    for (int i = 0; i < ndims; i++) {
        const MPI_Count at = i == 0 ? next_row(&dimensions[0], dimensions[0].at)
                                    : next_index(&dimensions[i], dimensions[i].at);

        dimensions[i].at = at < 0 ? dimensions[i].first : at;
        if (at >= 0)
            return 1;
    }
    return 0;
}

int type_darray_rows(const MPI_Count *integers,
                     int (*take)(void *argument, MPI_Aint first, MPI_Count n), void *argument)
{
    const int ndims = (int)integers[2];
    struct dimension *dimensions = calloc((size_t)ndims, sizeof *dimensions);
    int more = dimensions ? read_dimensions(integers, dimensions) : -1;
    int status = more < 0 ? -1 : 0;

    while (status == 0 && more > 0) {
        MPI_Aint first = 0;

        for (int i = 0; i < ndims; i++)
            first += dimensions[i].at * dimensions[i].stride;
        status = take(argument, first, length_of_block(&dimensions[0], dimensions[0].at));
        more = advance(dimensions, ndims);
    }
    free(dimensions);
    return status;
}
