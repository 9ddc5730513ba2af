/* Datatypes whose data lie regularly, as a kernel or a few strided copies move them. */
#ifndef GPUBIND_MPI_DATATYPE_STRIDED_H
#define GPUBIND_MPI_DATATYPE_STRIDED_H

#include "gpu/exchange/exchange.h"
#include "mpi/datatype/type_cache.h"

/* Of one element, in the order of the type map. */
struct type_blocks {
    size_t nbytes; /* of all of them */
    MPI_Aint extent;
    int nblocks;
    const struct type_block *blocks;
};

/* The layout of count elements. Its address is the first byte's distance from the buffer, to
 * which the caller adds the buffer's address. No data: run is 0. false: they lie too
 * irregularly. Takes as long as the element has blocks, so that callers keep the answer. */
bool layout_of(const struct type_blocks *element, uint64_t count, struct layout *layout);

#endif
