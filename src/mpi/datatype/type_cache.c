/* Shapes of datatypes, computed once and kept as an attribute of the type. */
#include "mpi/datatype/type_cache.h"

#include <stdlib.h>

#include "mpi/datatype/flat_type.h"
#include "mpi/datatype/type_flatten.h"
#include "mpi/datatype/type_regular.h"

static int known_key = MPI_KEYVAL_INVALID;

/* MPI frees the type. */
static int forget(MPI_Datatype type, int key, void *value, void *unused)
{
    struct type_shape *known = value;

    (void)type, (void)key, (void)unused;
    flat_type_release(known->flat);
    free(known);
    return MPI_SUCCESS;
}

/* From a regular layout. false: the type has none. */
static bool describe_regular(MPI_Datatype type, struct type_shape *known, bool *good)
{
    struct type_regular regular;

    if (!type_regular(type, &regular))
        return false;
    known->number = regular.number;
    known->nbytes = regular.nbytes;
    known->first = regular.nbytes ? (MPI_Aint)regular.layout.address : 0;
    known->together = regular.nbytes == regular.layout.run;
    known->dense = regular.nbytes == 0 || (known->together && known->first == 0 &&
                                           known->extent == (MPI_Aint)regular.nbytes);
    if (!known->dense)
        known->flat = flat_type_make_regular(&regular.layout, regular.nbytes, known->extent);
    *good = known->dense || known->flat;
    return true;
}

/* From a list of blocks. */
static bool describe_blocks(MPI_Datatype type, struct type_shape *known)
{
    struct type_parts parts = {0};

    if (type_flatten(&parts, type) < 0) {
        free(parts.blocks);
        return false;
    }
    known->number = parts.mixed ? 0 : parts.number;
    known->nbytes = parts.nbytes;
    known->first = parts.nblocks ? parts.blocks[0].at : 0;
    known->together = parts.nblocks <= 1;
    known->dense = parts.nblocks == 0 || (known->together && known->first == 0 &&
                                          known->extent == (MPI_Aint)parts.nbytes);
    if (!known->dense)
        known->flat = flat_type_make(parts.blocks, parts.nblocks, parts.nbytes, known->extent);
    if (!known->flat)
        free(parts.blocks);
    return known->dense || known->flat;
}

static struct type_shape *describe(MPI_Datatype type, struct gpubind_error *err)
{
    struct type_shape *known = calloc(1, sizeof *known);
    MPI_Aint lower;
    bool good = false;

    if (known) {
        PMPI_Type_get_extent(type, &lower, &known->extent);
        if (!describe_regular(type, known, &good))
            good = describe_blocks(type, known);
    }
    if (!good) {
        free(known);
        error_set(err, "there is no memory for the description of the datatype, or it is of no "
                       "kind that MPI has described");
        return NULL;
    }
    if (known_key == MPI_KEYVAL_INVALID)
        PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &known_key, NULL);
    PMPI_Type_set_attr(type, known_key, known);
    return known;
}

int type_lookup(MPI_Datatype type, struct type_shape *shape, struct gpubind_error *err)
{
    const struct type_shape *known = NULL;
    int number = type == MPI_DATATYPE_NULL ? -1 : type_number(type), size, found = 0;

    if (number >= 0) {
        PMPI_Type_size(type, &size);
        *shape = (struct type_shape){.number = (uint32_t)number,
                                     .nbytes = (size_t)size,
                                     .dense = true,
                                     .together = true,
                                     .extent = size};
        if (!type_may_have_holes(number))
            return 0;
    }
    if (type == MPI_DATATYPE_NULL)
        return error_set(err, "the datatype is MPI_DATATYPE_NULL");
    if (known_key != MPI_KEYVAL_INVALID)
        PMPI_Type_get_attr(type, known_key, &known, &found);
    if (!found)
        known = describe(type, err);
    if (!known)
        return -1;
    *shape = *known;
    return 0;
}
