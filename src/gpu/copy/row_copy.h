/* Rows between GPU and host memory, or within GPU memory, by the driver's copies of two dimensions. It needs
 * no struct gpu; any thread may call it. */
#ifndef GPUBIND_GPU_COPY_ROW_COPY_H
#define GPUBIND_GPU_COPY_ROW_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/core/gpu_types.h"

struct rows {
    gpu_address gpu;
    char *host;                      /* or, on_gpu, GPU memory that the same context can access */
    size_t nbytes, n;                /* of a row; rows, at least 1 */
    int64_t gpu_stride, host_stride; /* bytes from the start of a row to that of the next */
    bool on_gpu;
};

/* A copy of two dimensions takes such rows; else each is one of its own. */
bool rows_are_one_copy(int64_t stride, size_t nbytes);
/* Queues them in a stream of the current context; to_host: from gpu to host. An enum gpu_result. */
int rows_copy(const struct rows *rows, bool to_host, gpu_stream stream);

#endif
