#include "mpi/types.h"

#include <stdlib.h>

#include "mpi/strides.h"
#include "mpi/type_parts.h"

struct known { /* kept with a derived type, as an attribute of it */
    struct type_parts parts; /* its blocks, when not dense, are those of strides */
    bool dense;
    MPI_Aint extent;
    struct strides *strides;
};

static int known_key = MPI_KEYVAL_INVALID;

static int forget(MPI_Datatype type, int key, void *value, void *unused)
{
    struct known *known = value;

    (void)type, (void)key, (void)unused;
    if (known->strides)
        strides_drop(known->strides);
    else
        free(known->parts.blocks);
    free(known);
    return MPI_SUCCESS;
}

static bool is_dense(const struct known *known)
{
    const struct type_parts *parts = &known->parts;

    return parts->nblocks == 0 || (parts->nblocks == 1 && parts->blocks[0].at == 0 &&
                                   known->extent == (MPI_Aint)parts->nbytes);
}

static struct known *study(MPI_Datatype type, struct gpubind_error *err)
{
    struct known *known = calloc(1, sizeof *known);
    struct type_parts *parts = known ? &known->parts : NULL;
    MPI_Aint lower;

    if (!known || type_take_apart(parts, type) < 0) {
        if (known)
            forget(type, 0, known, NULL);
        error_set(err, "there is no memory for the description of the datatype, or it is of no "
                  "kind that MPI has described");
        return NULL;
    }
    if (parts->mixed)
        parts->number = 0;
    PMPI_Type_get_extent(type, &lower, &known->extent);
    known->dense = is_dense(known);
    if (!known->dense)
        known->strides = strides_make(parts->blocks, parts->nblocks, parts->nbytes, known->extent);
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
    int number = type == MPI_DATATYPE_NULL ? -1 : type_number(type), size, found = 0;

    if (number >= 0) {
        PMPI_Type_size(type, &size);
        *shape = (struct type_shape){.number = (uint32_t)number, .nbytes = (size_t)size,
                                     .dense = true, .extent = size};
        if (!type_may_have_holes(number))
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
    *shape = (struct type_shape){.number = known->parts.number, .nbytes = known->parts.nbytes,
                                 .dense = known->dense, .extent = known->extent,
                                 .nblocks = known->parts.nblocks, .blocks = known->parts.blocks,
                                 .strides = known->strides};
    return 0;
}
