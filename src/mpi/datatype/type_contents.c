/* Reads the constructor of a derived datatype. */
#include "mpi/datatype/type_contents.h"

#include <stdlib.h>

#include "mpi/datatype/type_cache.h"

static bool is_named(MPI_Datatype type)
{
    int integers, addresses, types, combiner;

    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

bool type_is_basic(MPI_Datatype type)
{
    return is_named(type) || type_number(type) >= 0;
}

static void free_arrays(struct type_contents *c)
{
    free(c->integers);
    free(c->addresses);
    free(c->types);
}

bool type_contents_get(MPI_Datatype type, struct type_contents *c)
{
    PMPI_Type_get_envelope(type, &c->nintegers, &c->naddresses, &c->ntypes, &c->combiner);
    c->integers = calloc((size_t)c->nintegers + 1, sizeof *c->integers);
    c->addresses = calloc((size_t)c->naddresses + 1, sizeof *c->addresses);
    c->types = calloc((size_t)c->ntypes + 1, sizeof(MPI_Datatype));
    if (!c->integers || !c->addresses || !c->types) {
        free_arrays(c);
        return false;
    }
    PMPI_Type_get_contents(type, c->nintegers, c->naddresses, c->ntypes, c->integers, c->addresses,
                           c->types);
    return true;
}

/* MPI does not let those of MPI_Type_create_f90_* be freed. */
static bool may_be_freed(MPI_Datatype type)
{
    int integers, addresses, types, combiner;

    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner != MPI_COMBINER_F90_REAL && combiner != MPI_COMBINER_F90_COMPLEX &&
           combiner != MPI_COMBINER_F90_INTEGER && !type_is_basic(type);
}

void type_contents_clear(struct type_contents *c)
{
    for (int i = 0; i < c->ntypes; i++)
        if (may_be_freed(c->types[i]))
            PMPI_Type_free(&c->types[i]);
    free_arrays(c);
}

bool type_contents_are_listed(const struct type_contents *c)
{
    return c->combiner == MPI_COMBINER_INDEXED || c->combiner == MPI_COMBINER_HINDEXED ||
           c->combiner == MPI_COMBINER_INDEXED_BLOCK ||
           c->combiner == MPI_COMBINER_HINDEXED_BLOCK || c->combiner == MPI_COMBINER_STRUCT;
}

static bool is_block_form(const struct type_contents *c)
{
    return c->combiner == MPI_COMBINER_INDEXED_BLOCK || c->combiner == MPI_COMBINER_HINDEXED_BLOCK;
}

int type_contents_length(const struct type_contents *c, int i)
{
    return is_block_form(c) ? c->integers[1] : c->integers[1 + i];
}

MPI_Aint type_contents_place(const struct type_contents *c, int i, MPI_Aint extent)
{
    if (c->combiner == MPI_COMBINER_INDEXED)
        return c->integers[1 + c->integers[0] + i] * extent;
    if (c->combiner == MPI_COMBINER_INDEXED_BLOCK)
        return c->integers[2 + i] * extent;
    return c->addresses[i];
}
