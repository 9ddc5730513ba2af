/* Reads the constructor of a derived datatype. */
#include "mpi/datatype/type_contents.h"

#include <stdlib.h>

#include "mpi/datatype/type_cache.h"

#if MPI_VERSION >= 4
/* The library that is loaded may be older than mpi.h: MPICH's ABI is the same since MPI 3. Then the
 * program has to link and start without these. */
#if defined GPUBIND_MPI_OF_PROGRAM && defined PIC
#pragma weak PMPI_Type_get_contents_c
#pragma weak PMPI_Type_get_envelope_c
#endif
static bool has_large_counts(void)
{
    int version = 0, subversion;

    PMPI_Get_version(&version, &subversion);
    return version >= 4;
}
#endif

static int combiner_of(MPI_Datatype type)
{
    int integers, addresses, types, combiner;
#if MPI_VERSION >= 4
    MPI_Count many[4];

    if (has_large_counts()) {
        PMPI_Type_get_envelope_c(type, &many[0], &many[1], &many[2], &many[3], &combiner);
        return combiner;
    }
#endif
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner;
}

bool type_is_basic(MPI_Datatype type)
{
    return combiner_of(type) == MPI_COMBINER_NAMED || type_number(type) >= 0;
}

static void free_arrays(struct type_contents *c)
{
    free(c->integers);
    free(c->addresses);
    free(c->types);
}

static bool allocate(struct type_contents *c)
{
    c->integers = calloc((size_t)c->nintegers + 1, sizeof *c->integers);
    c->addresses = calloc((size_t)c->naddresses + 1, sizeof *c->addresses);
    c->types = calloc((size_t)c->ntypes + 1, sizeof(MPI_Datatype));
    if (c->integers && c->addresses && c->types)
        return true;
    free_arrays(c);
    return false;
}

#if MPI_VERSION >= 4
/* Integers that stand before the large counts of a type, in the order without large counts. */
static int before_counts(int combiner)
{
    return combiner == MPI_COMBINER_SUBARRAY ? 1 : combiner == MPI_COMBINER_DARRAY ? 3 : 0;
}

/* How many of the last large counts are addresses in that order. */
static int addresses_in(int combiner, const MPI_Count *counts)
{
    switch (combiner) {
    case MPI_COMBINER_HVECTOR:
        return 1;
    case MPI_COMBINER_RESIZED:
        return 2;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return (int)counts[0];
    default:
        return 0;
    }
}

/* The contents of a type that was made with large counts (MPI 4.0, 5.1.13), as those of one that was
 * not. integers and counts: ncounts is not 0. false: out of memory. */
static bool join(struct type_contents *c, const int *integers, int nintegers,
                 const MPI_Count *counts, int ncounts)
{
    const int before = before_counts(c->combiner);
    int n = 0;

    c->naddresses = addresses_in(c->combiner, counts);
    c->nintegers = nintegers + ncounts - c->naddresses;
    if (!allocate(c))
        return false;
    for (int i = 0; i < before; i++)
        c->integers[n++] = integers[i];
    for (int i = 0; i < ncounts - c->naddresses; i++)
        c->integers[n++] = counts[i];
    for (int i = before; i < nintegers; i++)
        c->integers[n++] = integers[i];
    for (int i = 0; i < c->naddresses; i++)
        c->addresses[i] = (MPI_Aint)counts[ncounts - c->naddresses + i];
    return true;
}

static bool get_large(MPI_Datatype type, MPI_Count nintegers, MPI_Count ncounts,
                      struct type_contents *c)
{
    int *integers = calloc((size_t)nintegers + 1, sizeof *integers);
    MPI_Count *counts = calloc((size_t)ncounts + 1, sizeof *counts);
    MPI_Datatype *types = calloc((size_t)c->ntypes + 1, sizeof(MPI_Datatype));
    MPI_Aint none;
    bool good = integers && counts && types;

    if (good) {
        PMPI_Type_get_contents_c(type, nintegers, 0, ncounts, c->ntypes, integers, &none, counts,
                                 types);
        good = join(c, integers, (int)nintegers, counts, (int)ncounts);
    }
    for (int i = 0; i < c->ntypes && good; i++)
        c->types[i] = types[i];
    free(integers);
    free(counts);
    free(types);
    return good;
}
#endif

static bool get_small(MPI_Datatype type, struct type_contents *c)
{
    int *integers = calloc((size_t)c->nintegers + 1, sizeof *integers);

    if (!integers || !allocate(c)) {
        free(integers);
        return false;
    }
    PMPI_Type_get_contents(type, c->nintegers, c->naddresses, c->ntypes, integers, c->addresses,
                           c->types);
    for (int i = 0; i < c->nintegers; i++)
        c->integers[i] = integers[i];
    free(integers);
    return true;
}

bool type_contents_get(MPI_Datatype type, struct type_contents *c)
{
#if MPI_VERSION >= 4
    MPI_Count integers, addresses, counts = 0, types;

    if (has_large_counts()) {
        PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &c->combiner);
        c->ntypes = (int)types;
    }
    if (counts > 0)
        return get_large(type, integers, counts, c);
#endif
    PMPI_Type_get_envelope(type, &c->nintegers, &c->naddresses, &c->ntypes, &c->combiner);
    return get_small(type, c);
}

bool type_may_be_freed(MPI_Datatype type)
{
    const int combiner = combiner_of(type);

    return combiner != MPI_COMBINER_F90_REAL && combiner != MPI_COMBINER_F90_COMPLEX &&
           combiner != MPI_COMBINER_F90_INTEGER && !type_is_basic(type);
}

void type_contents_clear(struct type_contents *c)
{
    for (int i = 0; i < c->ntypes; i++)
        if (type_may_be_freed(c->types[i]))
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

MPI_Count type_contents_length(const struct type_contents *c, MPI_Count i)
{
    return is_block_form(c) ? c->integers[1] : c->integers[1 + i];
}

MPI_Aint type_contents_place(const struct type_contents *c, MPI_Count i, MPI_Aint extent)
{
    if (c->combiner == MPI_COMBINER_INDEXED)
        return c->integers[1 + c->integers[0] + i] * extent;
    if (c->combiner == MPI_COMBINER_INDEXED_BLOCK)
        return c->integers[2 + i] * extent;
    return c->addresses[i];
}
