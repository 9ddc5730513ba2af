/* Other processes' allocations, mapped here and kept: opening one takes milliseconds. */
#ifndef GPUBIND_GPU_CORE_IPC_CACHE_H
#define GPUBIND_GPU_CORE_IPC_CACHE_H

#include "gpu/core/mem_query.h"

struct mapping;

/* Sets the limits of the cache: mappings, and their bytes; a mapping in use stays. A mapping keeps
 * the memory of its owner allocated, also after it was freed there. */
void mappings_limit(int n, uint64_t nbytes);
/* The mapping of an export of owner's (any address that stands for that process) for
 * copies in gpu's context. It is in use until mapping_done. NULL with a sentence
 * when the driver refuses; with *for_now (not NULL) because memory that the owner has freed since, and that lay at these
 * addresses of its, cannot be closed now: later ones may be mapped. */
struct mapping *mapping_open(const void *owner, const struct memory_export *shared, struct gpu *gpu,
                             bool *for_now, struct gpubind_error *err);
/* The same of memory that vmm_open has put at start, which closes with the mapping.
 * NULL: out of memory; then nothing is closed. */
struct mapping *mapping_adopt(const void *owner, const struct memory_export *shared,
                              struct gpu *gpu, gpu_address start);
/* false: it was exported by a file descriptor, and this process has not mapped it for this GPU.
 * Other memory of the same owner may be mapped. */
bool mapping_possible(const void *owner, const struct memory_export *shared, const struct gpu *gpu);
/* Where the owner's address lies here. */
gpu_address mapping_address(const struct mapping *mapping, gpu_address owners);
void mapping_done(struct mapping *mapping);
/* The same, and it is closed when nobody else uses it. */
void mapping_drop(struct mapping *mapping);
/* Closes owner's allocation id, at once or when it is no longer in use. */
void mappings_drop(const void *owner, uint64_t id);
/* Closes all of owner's. true while one is still in use. */
bool mappings_drop_owner(const void *owner);
/* true while a dropped mapping of it is still in use. */
bool mappings_hold(const void *owner, uint64_t id);
void mappings_drop_all(void);

#endif
