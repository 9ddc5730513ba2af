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

/* The allocation that GPU memory lies in. */
struct allocation {
    uint64_t id; /* unique in a process */
    gpu_address start;
    size_t nbytes;
    gpu_context context; /* NULL: memory of a pool, see pointer_context */
    bool ipc_capable;    /* cuIpcGetMemHandle may take it */
    bool synchronous;    /* what sync_memops.h is about is set for it */
};

/* Asks the driver, which takes 0.1 us; gpu_driver is not NULL. *allocation is set for POINTER_DEVICE. */
enum pointer_kind pointer_kind(const void *pointer, struct allocation *allocation);
/* false: it is no GPU memory. */
bool pointer_allocation(const void *pointer, struct allocation *allocation);
/* The context that GPU memory belongs to. Memory of a pool has none: then the current context if it
 * is of that device, else the device's primary one, which is retained for good. NULL: it is no GPU
 * memory. */
gpu_context pointer_context(const void *pointer);
/* Tells a context from one that was destroyed, or reset, and had its address. 0: there is none at that address
 * any more, or the driver, before CUDA 12, gives contexts no numbers. */
unsigned long long context_number(gpu_context context);

#endif
