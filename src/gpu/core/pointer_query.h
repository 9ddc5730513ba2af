/* Cheap questions about a pointer, without a struct gpu and what comes with it (streams, kernels).
 * Any thread may ask. mem_query.h tells more. */
#ifndef GPUBIND_GPU_CORE_POINTER_QUERY_H
#define GPUBIND_GPU_CORE_POINTER_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/core/gpu_types.h"

enum pointer_kind {
    POINTER_UNKNOWN, /* the driver knows nothing of it: plain host memory, or no memory at all */
    POINTER_HOST,    /* managed or page-locked: the host can access it */
    POINTER_DEVICE   /* memory of a GPU that the host cannot access */
};

/* Asks the driver, which takes 0.1 us; gpu_driver is not NULL. *synchronous, of POINTER_DEVICE: what
 * sync_memops.h is about is set for its allocation. */
enum pointer_kind pointer_kind(const void *pointer, bool *synchronous);
/* The context that GPU memory belongs to. Memory of a pool has none: then the current context if it
 * is of that device, else the device's primary one, which is retained for good. NULL: it is no GPU
 * memory. */
gpu_context pointer_context(const void *pointer);

/* The allocation that GPU memory lies in. */
struct allocation {
    uint64_t id; /* unique in a process */
    gpu_address start;
    size_t nbytes;
    bool ipc_capable; /* cuIpcGetMemHandle may take it */
};
/* false: it is no GPU memory. */
bool pointer_allocation(const void *pointer, struct allocation *allocation);

#endif
