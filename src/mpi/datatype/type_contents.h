/* What a derived type was constructed from. */
#ifndef GPUBIND_MPI_DATATYPE_TYPE_CONTENTS_H
#define GPUBIND_MPI_DATATYPE_TYPE_CONTENTS_H

#include <mpi.h>
#include <stdbool.h>

struct type_contents { /* as MPI_Type_get_contents gives them */
    int nintegers, naddresses, ntypes, combiner;
    int *integers;
    MPI_Aint *addresses;
    MPI_Datatype *types;
};

/* Has no contents: it is predefined. */
bool type_is_basic(MPI_Datatype type);
/* false: no memory. Else type_contents_clear frees them, and the types in it. */
bool type_contents_get(MPI_Datatype type, struct type_contents *contents);
void type_contents_clear(struct type_contents *contents);

/* It is indexed, hindexed, one of their block forms, or a struct: integers[0] blocks. */
bool type_contents_are_listed(const struct type_contents *contents);
/* Elements of block i of such a one, and where it begins, in bytes; extent: its type's. */
int type_contents_length(const struct type_contents *contents, int i);
MPI_Aint type_contents_place(const struct type_contents *contents, int i, MPI_Aint extent);

#endif
