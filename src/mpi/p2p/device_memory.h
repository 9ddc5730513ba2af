/* GPU memory that the library allocates for the application. */
#ifndef GPUBIND_MPI_P2P_DEVICE_MEMORY_H
#define GPUBIND_MPI_P2P_DEVICE_MEMORY_H

#include <stddef.h>

#include "core/base/error.h"
#include "gpu/core/mem_query.h"

/* Allocates nbytes > 0 on the current GPU, or on gpu. An MPI error class, with a sentence. */
int memory_allocate(void **buf, size_t nbytes, struct gpubind_error *err);
int memory_allocate_on(struct gpu *gpu, void **buf, size_t nbytes, struct gpubind_error *err);
/* Frees it as soon as no peer maps it any more. */
int memory_free_later(void *buf, struct gpubind_error *err);
/* MPI_SUCCESS, or an error with a sentence when a peer may write to this memory at any time: it is
 * the buffer of a persistent request. */
int memory_check_unpaired(const void *buf, const struct memory *memory, struct gpubind_error *err);

/* Seconds to wait for peers that make no call of the library. */
#define MEMORY_PATIENCE 10.0

#endif
