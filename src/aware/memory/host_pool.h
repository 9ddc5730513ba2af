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

/* At least nbytes of host memory, page-locked as far as 32 MiB in all go (GPUBIND_PINNED_MEMORY says
 * how many), for copies from and to that GPU memory; NULL: there is none, and only
 * what is page-locked already is taken. false: out of memory. */
bool host_take(struct host_block *block, size_t nbytes, const void *gpu);
void host_give(const struct host_block *block);

#endif
