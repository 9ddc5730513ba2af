/* Flattens a derived datatype into a list of blocks. */
#ifndef GPUBIND_MPI_DATATYPE_TYPE_FLATTEN_H
#define GPUBIND_MPI_DATATYPE_TYPE_FLATTEN_H

#include "mpi/datatype/type_cache.h"

struct type_parts {  /* of one element; all 0 at first */
    uint32_t number; /* of the first predefined type in it */
    bool mixed;      /* there are others */
    size_t nbytes;
    int nblocks, room;
    struct type_block *blocks; /* malloc'ed, the caller's also after a failure */
};

/* Adds the blocks of one element. -1: out of memory, or an unknown constructor. */
int type_flatten(struct type_parts *parts, MPI_Datatype type);

#endif
