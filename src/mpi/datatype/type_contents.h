/* The constructor of a derived datatype and its arguments. */
#ifndef GPUBIND_MPI_DATATYPE_TYPE_CONTENTS_H
#define GPUBIND_MPI_DATATYPE_TYPE_CONTENTS_H

#include <mpi.h>
#include <stdbool.h>

struct type_contents { /* as MPI_Type_get_contents gives them, also of types with large counts */
    int nintegers, naddresses, ntypes, combiner;
    MPI_Count *integers;
    MPI_Aint *addresses;
    MPI_Datatype *types;
};

/* It is predefined, and has no contents. */
bool type_is_basic(MPI_Datatype type);
/* It is neither that, nor of MPI_Type_create_f90_*. */
bool type_may_be_freed(MPI_Datatype type);
/* false: out of memory. Otherwise type_contents_clear frees the contents and the types in them. */
bool type_contents_get(MPI_Datatype type, struct type_contents *contents);
void type_contents_clear(struct type_contents *contents);

/* It has a list of integers[0] blocks: indexed, hindexed, their block forms, or struct. */
bool type_contents_are_listed(const struct type_contents *contents);
/* Elements of block i of such a type, and its offset in bytes. extent: of the elements. */
MPI_Count type_contents_length(const struct type_contents *contents, MPI_Count i);
MPI_Aint type_contents_place(const struct type_contents *contents, MPI_Count i, MPI_Aint extent);

#endif
