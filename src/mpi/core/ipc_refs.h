/* References to IPC handles: which ranks may have mapped which allocation of this process, and how
 * they are asked to close the mapping before the memory is freed. */
#ifndef GPUBIND_MPI_CORE_IPC_REFS_H
#define GPUBIND_MPI_CORE_IPC_REFS_H

#include "mpi/core/domain.h"

struct gpu;
struct gpubind_operation;
struct memory_export;
struct release;

/* Sets the function that sends a request to close a mapping: a request whose release is set. */
void ipc_refs_send_by(void (*sends)(struct gpubind_operation *release));

/* The handle of allocation id, of size bytes at start, was sent to local rank local. */
void ipc_refs_note(struct domain *domain, uint64_t id, uint64_t start, uint64_t size, int local);
/* Some rank may still map memory that was freed, at whose addresses this allocation lies now: until
 * it has closed that mapping, it cannot map this one. */
bool ipc_refs_are_in_way(const struct memory_export *shared);
/* Asks all ranks that have the handle to close their mapping. memory, when not 0, is freed in gpu
 * when all have. Returns NULL when no rank has the handle (memory is freed already), else what
 * release_pending and release_forget take. */
struct release *ipc_refs_release(uint64_t id, unsigned long long memory, struct gpu *gpu);
int release_pending(const struct release *release);
void release_forget(struct release *release);
/* Releases allocations that the application has freed. To be called when a new allocation is
 * seen: the memory of a freed one stays in use until all mappings of it are closed. */
void ipc_refs_sweep(void);
/* Number of allocations that still wait for mappings to be closed. */
int releases_pending(void);

/* For send_shm. */
void release_fill(const struct release *release, struct msg_header *header);
void release_answered(struct release *release);
/* The domain ends: its ranks have closed what they had mapped, or do so when they leave it. */
void ipc_refs_forget(const struct domain *domain);
void ipc_refs_clear(void);

#endif
