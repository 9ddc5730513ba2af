/* What a collective call moves between two ranks: blocks of its buffers. */
#ifndef GPUBIND_AWARE_COLL_BLOCKS_H
#define GPUBIND_AWARE_COLL_BLOCKS_H

#include "aware/coll/coll_buffers.h"
#include "aware/coll/coll_comm.h"

/* Blocks of a send or receive buffer, one for each rank or neighbour: n elements each, or (varies) counts
 * of them at displacements in extents of the type, or (types) in bytes. */
struct coll_blocks {
    const void *at;
    MPI_Count n;
    MPI_Datatype type;
    bool varies; /* and so each rank knows of its own blocks alone */
    bool alike;  /* there is one block, for all */
    struct numbers counts, displs;
    const MPI_Datatype *types;
};

/* -1: MPI is to find what is wrong. */
MPI_Count elements_bytes(MPI_Count n, MPI_Datatype type);
/* GPU memory, or nothing; a process that uses no GPU says no, and does not wait. */
bool elements_are_on_gpu(const void *at, MPI_Count n, MPI_Datatype type);
/* Of a valid type. */
bool block_has_type(const struct coll_blocks *blocks, int i);
/* The block, whose type is valid, with its number as the peer. */
struct coll_move block_at(const struct coll_blocks *blocks, int i);
/* Of the first n blocks; -1: something is wrong. */
MPI_Count blocks_bytes(const struct coll_blocks *blocks, int n);
bool blocks_are_on_gpu(const struct coll_blocks *blocks, int n);

#endif
