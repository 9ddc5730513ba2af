/* Host memory that takes the place of GPU buffers. Any thread may call these. */
#ifndef GPUBIND_AWARE_HOST_POOL_H
#define GPUBIND_AWARE_HOST_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct host_block {
    void *at;
    size_t nbytes; /* of the block: at least what was asked for */
    bool locked;
};

/* At least nbytes of host memory, for copies from and to that GPU memory; NULL: there is none, and only what
 * is page-locked already is taken. It is page-locked as far as GPUBIND_PINNED_MEMORY (MiB) goes; without that,
 * as far as 1 GiB, and above 32 MiB where it is little beside the memory that the node has available. false:
 * out of memory. */
bool host_take(struct host_block *block, size_t nbytes, const void *gpu);
void host_give(const struct host_block *block);

#endif
