/* GPU memory that the library allocates for the application. */
#ifndef GPUBIND_MPI_MEMORY_CALLS_H
#define GPUBIND_MPI_MEMORY_CALLS_H

#include <stddef.h>

#include "core/base/error.h"

struct gpu;

/* nbytes > 0 on the current GPU. An MPI error class, with a sentence. */
int memory_allocate(void **buf, size_t nbytes, struct gpubind_error *err);
int memory_allocate_on(struct gpu *gpu, void **buf, size_t nbytes, struct gpubind_error *err);
/* Frees it when no peer maps it any more, which may be later. */
int memory_free_later(void *buf, struct gpubind_error *err);

#endif
