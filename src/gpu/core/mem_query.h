/* Whose memory a pointer points to, and how another process reaches it. */
#ifndef GPUBIND_GPU_CORE_MEM_QUERY_H
#define GPUBIND_GPU_CORE_MEM_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/core/gpu_context.h"

struct memory {
    gpu_address address;
    struct gpu *gpu;   /* NULL: host memory */
    bool shareable;    /* cuIpcGetMemHandle may take it, or memory_add_export has its export */
    gpu_address start; /* the allocation that address lies in, */
    size_t size;       /* its bytes, */
    uint64_t id;       /* and its ID, unique in a process */
    bool ipc_capable;  /* of cuMemAlloc, in this process */
    bool synchronous;  /* see sync_memops.h */
};

/* Asks the driver; takes 0.1 us. Host memory (also page-locked) has gpu NULL. -1 only
 * when the GPU's context cannot be had. */
int memory_of(const void *pointer, struct memory *memory, struct gpubind_error *err);

/* What another process needs to map an allocation. An allocation that was exported by a file
 * descriptor has a handle of zeros: only processes that have mapped it already can use it. */
struct memory_export {
    uint64_t id;
    gpu_address start;
    uint64_t size;
    gpu_ipc_handle handle;
};

bool memory_has_handle(const struct memory_export *shared);
/* Adds the export of an allocation that others have mapped already. */
void memory_add_export(const struct memory_export *shared);

/* The export of the allocation that memory lies in; cached. false: the driver gives no handle for
 * it. */
bool memory_export_of(const struct memory *memory, struct memory_export *shared);
/* Removes the export of an allocation that no longer exists from the cache: its ID in *id. false:
 * there is none. To be called after new allocations were seen. */
bool memory_next_stale(uint64_t *id);
/* memory_export_of has made a new export since the last call. */
bool memory_exports_added(void);
/* Removes the export from the cache. */
void memory_forget(uint64_t id);
void memory_forget_all(void);

#endif
