/* Reads the layout of a regular derived datatype from its constructors, without a list of its
 * blocks: a vector of fifty million blocks is three numbers. */
#ifndef GPUBIND_MPI_DATATYPE_TYPE_REGULAR_H
#define GPUBIND_MPI_DATATYPE_TYPE_REGULAR_H

#include "gpu/exchange/exchange.h"
#include "mpi/datatype/type_cache.h"

struct type_regular {
    uint32_t number;              /* of the predefined type that it is made of */
    size_t nbytes;                /* of data in an element; 0: the layout says nothing */
    struct strided_buffer layout; /* of one element, in the order of the type map; address: the
                             first byte's distance from the buffer */
};

/* false: the type is irregular, has more levels than a layout, or an unknown constructor. Takes
 * time in the number of the constructors' arguments. */
bool type_regular(MPI_Datatype type, struct type_regular *regular);

#endif
