/* Who may have mapped which of our allocations, and how they are told to close them. */
#ifndef GPUBIND_MPI_CORE_IPC_REFS_H
#define GPUBIND_MPI_CORE_IPC_REFS_H

#include "mpi/core/domain.h"

struct gpu;
struct gpubind_operation;
struct release;

/* What sends a request to close a mapping: an operation whose release is set. */
void ipc_refs_send_by(void (*sends)(struct gpubind_operation *release));

/* Local rank local was told the handle of allocation id. */
void ipc_refs_note(struct domain *domain, uint64_t id, int local);
/* Asks all that were told of it to close their mapping. memory, when not 0, is freed
 * in gpu when all have. NULL when nobody was told (memory is then freed already), or
 * what release_pending and release_forget take. */
struct release *ipc_refs_release(uint64_t id, unsigned long long memory, struct gpu *gpu);
int release_pending(const struct release *release);
void release_forget(struct release *release);
/* Releases what the application freed meanwhile. To be called when a new allocation
 * was seen: the memory of a freed one lives until its mappings are closed. */
void ipc_refs_sweep(void);
/* Memory that still waits to be freed. */
int releases_pending(void);

/* For send_shm. */
void release_fill(const struct release *release, struct wire_header *header);
void release_answered(struct release *release);
/* Its ranks have closed what they had mapped, or do so when they leave it. */
void ipc_refs_forget(const struct domain *domain);
void ipc_refs_clear(void);

#endif
