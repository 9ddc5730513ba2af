/* The backends of an exchange: a kernel, or stream memory operations. They return the driver's
 * result, with the GPU's context current; the bytes of each send are in its buffers. */
#ifndef GPUBIND_GPU_EXCHANGE_EXCHANGE_BACKEND_H
#define GPUBIND_GPU_EXCHANGE_EXCHANGE_BACKEND_H

#include "gpu/copy/strided_levels.h"
#include "gpu/exchange/exchange.h"

struct exchange {
    struct gpu *gpu;
    gpu_stream stream;
    const struct exchange_send *sends;
    int nsends;
    const struct exchange_receive *receives;
    int nreceives;
    unsigned blocks; /* of a launch, at most */
};

/* Stream memory operations, and copies between them. */
int exchange_by_memops(const struct exchange *exchange);

#endif
