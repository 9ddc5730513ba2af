/* A small copy in a stream and the flags behind it, in one launch. */
#ifndef GPUBIND_GPU_EXCHANGE_SIGNAL_COPY_H
#define GPUBIND_GPU_EXCHANGE_SIGNAL_COPY_H

#include "gpu/core/gpu_context.h"

struct signal_copy {
    gpu_address to, from; /* memory that the GPU can access */
    uint64_t nbytes;
    /* Flags of 32 bits, written in this order; the first may be NULL. */
    const _Atomic uint32_t *flags[2];
    uint32_t values[2];
};

/* It can be launched, and takes less time than a copy engine. */
bool signal_copy_is_good(const struct gpu *gpu, uint64_t nbytes);
/* The GPU's context is current. What the driver returns. */
int signal_copy(const struct gpu *gpu, gpu_stream stream, const struct signal_copy *copy);

#endif
