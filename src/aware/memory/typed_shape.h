/* What packing needs to know of an MPI datatype: found once for each type, and kept with it. Any thread may
 * call these. */
#ifndef GPUBIND_AWARE_TYPED_SHAPE_H
#define GPUBIND_AWARE_TYPED_SHAPE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aware/memory/typed_table.h"
#include "mpi/datatype/type_flatten.h"
#include "mpi/datatype/type_regular.h"

/* Of one element; does not change, but for the list of tables. */
struct typed_shape {
    _Atomic int users;
    bool is_regular;             /* its blocks are those of regular, else those of parts */
    struct type_regular regular; /* nbytes 0: it has no data */
    struct type_parts parts;
    MPI_Count ncopies; /* of two dimensions, that parts take */
    MPI_Count extent;
    MPI_Count low, high; /* of its data, in bytes from the buffer's address; equal: it has none */
    struct typed_table *tables; /* of parts */
};

/* For typed_shape_give, also when the type is freed meanwhile. NULL: out of memory, or of no kind that MPI has
 * described. */
const struct typed_shape *typed_shape_take(MPI_Datatype type);
/* NULL does nothing. */
void typed_shape_give(const struct typed_shape *shape);
/* Where the data of one element lie, in bytes from the buffer's address; *low and *high are equal where there are
 * none. MPI's true extent may also hold members without data, wherever they are (MPICH). */
void typed_shape_bounds(MPI_Datatype type, MPI_Count *low, MPI_Count *high);
/* A new type with the same elements, which what is kept with that one is for, too. */
MPI_Datatype typed_shape_same(MPI_Datatype type);

#endif
