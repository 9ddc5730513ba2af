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
    bool shareable;    /* cuIpcGetMemHandle may take it, or memory_show was told of it */
    gpu_address start; /* the allocation that address lies in, */
    size_t size;       /* its bytes, */
    uint64_t id;       /* and its number, never given twice in a process */
    bool capable;      /* it is cuMemAlloc's, of this process */
    bool synchronous;  /* see sync_memops.h */
};

/* Asks the driver; takes 0.1 us. Host memory (also page-locked) has gpu NULL. -1 only
 * when the GPU's context cannot be had. */
int memory_of(const void *pointer, struct memory *memory, struct gpubind_error *err);

/* An allocation as it travels to another process. One that was shown by a descriptor
 * has a handle of zeros: only who has mapped it already can do so. */
struct memory_export {
    uint64_t id;
    gpu_address start;
    uint64_t size;
    gpu_ipc_handle handle;
};

bool memory_has_handle(const struct memory_export *shared);
/* Others have mapped the allocation already: from now on memory_export_of gives this of it. */
void memory_show(const struct memory_export *shared);

/* The export of the allocation that memory lies in, kept for the next time. false:
 * the driver gives no handle for it. */
bool memory_export_of(const struct memory *memory, struct memory_export *shared);
/* Takes an allocation that no longer exists out of the kept exports: its id in *id.
 * false when there is none. To be asked after new allocations were seen. */
bool memory_next_stale(uint64_t *id);
/* memory_export_of made a new export since this was asked last. */
bool memory_shared_anew(void);
/* Forgets the export. */
void memory_forget(uint64_t id);
void memory_forget_all(void);

#endif
