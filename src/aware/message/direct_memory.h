/* Copies of GPU memory that processes map of each other. Any thread may call these. */
#ifndef GPUBIND_AWARE_DIRECT_MEMORY_H
#define GPUBIND_AWARE_DIRECT_MEMORY_H

#include "aware/message/direct_segment.h"
#include "gpu/core/pointer_query.h"

/* Waits until earlier work of the legacy stream has written GPU memory; a peer may read it then. 0, or
 * -1 with a sentence on stderr. */
int direct_settle(const void *gpu);
int direct_settle_allocation(const struct allocation *allocation, const void *gpu);
/* Copies from or to GPU memory of this process, after no other work, and is done when it returns. 0 or -1.
 */
int direct_to_host(void *host, const void *gpu, size_t nbytes);
int direct_from_host(void *gpu, const void *host, size_t nbytes);
/* Between these two, a thread asks once whether the legacy stream of a context has work: what is put there
 * meanwhile, by another thread, is not earlier work. They may be nested. */
void direct_look_begin(void);
void direct_look_end(void);
/* Around a function of the application that MPI calls there, which may put work into it. */
int direct_look_hide(void);
void direct_look_show(int hidden);
/* Work in the legacy stream of the memory's context has to complete before a copy to it. */
bool direct_must_wait(const void *gpu);
/* A copy that was started. */
struct direct_copy {
    gpu_context context;
    gpu_stream stream;
    struct direct_mapping *mapping; /* NULL: the sender is this process */
};
/* Starts to copy nbytes of the message in a peer's slot to memory of this process: host memory, or GPU
 * memory (after earlier work of the legacy stream). false: the peer's memory cannot be mapped. */
bool direct_copy_start(struct direct_copy *copy, struct direct_peer *peer,
                       const struct direct_slot *slot, void *to, bool to_gpu, size_t nbytes);
/* The same between GPU memory of this process, after earlier work of both legacy streams. */
bool direct_copy_start_own(struct direct_copy *copy, const void *from, void *to, size_t nbytes);
/* Until it is done. -1: it failed. */
int direct_copy_wait(struct direct_copy *copy);

/* A mapping of memory that the peer has freed could not be closed yet: until then others may not be opened. */
bool direct_memory_in_way(const struct direct_peer *peer);

/* GPU memory of a peer, mapped for work in a context of this process. */
struct direct_map {
    gpu_context context;
    struct direct_mapping *mapping; /* NULL: it is this process's memory */
};
/* Where an address of the peer's memory lies here, until direct_unmap: for copies from or to beside, which
 * is GPU memory of this process, or NULL. NULL: it cannot be mapped, or this process has no context. */
void *direct_map(struct direct_map *map, struct direct_peer *peer,
                 const struct direct_export *memory, uint64_t address, const void *beside);
void direct_unmap(const struct direct_map *map);
/* Copies between memory of either kind, after earlier work of the legacy stream of the map's context. 0 or
 * -1. */
int direct_map_copy(const struct direct_map *map, void *to, const void *from, size_t nbytes);

#endif
