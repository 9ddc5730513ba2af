/* Host memory in the place of blocks that lie far apart, as those of MPI_BOTTOM do: what is at an address is at
 * address + shift there. Memory is mapped around the blocks alone. */
#ifndef GPUBIND_AWARE_SPARSE_BLOCK_H
#define GPUBIND_AWARE_SPARSE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whole pages. */
struct sparse_range {
    uintptr_t low, high;
};

struct sparse_block {
    uintptr_t shift; /* modulo 2^64; not 0 */
    struct sparse_range *ranges;
    int n, room;
    size_t gap;  /* ranges that are not further apart are one */
    bool failed; /* out of memory */
};

/* Empty; sparse_give takes it, too. */
void sparse_begin(struct sparse_block *block);
/* The memory will have a place for these bytes. */
void sparse_add(struct sparse_block *block, const void *at, size_t nbytes);
/* Maps it; no other block with some of the same ranges has its shift. false: out of memory, or of address space. */
bool sparse_map(struct sparse_block *block);
void sparse_give(struct sparse_block *block);

#endif
