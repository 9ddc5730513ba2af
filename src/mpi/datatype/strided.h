/* Finds the layout of a list of blocks, if it is regular: what a kernel or a few strided copies can
 * move. */
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

/* The layout of count elements. Its address is the offset of the first byte from the buffer's
 * address, which the caller adds. Without data run is 0. false: the blocks are irregular. Takes
 * time in the number of blocks: callers keep the result. */
bool layout_of(const struct type_blocks *element, uint64_t count, struct strided_buffer *layout);

#endif
