/* GPU memory that MPI's functions give to the application. Any thread may call these. */
#ifndef GPUBIND_AWARE_GPU_MEMORY_H
#define GPUBIND_AWARE_GPU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

/* In the current context, or, without one, in the primary context of the first visible device, which is
 * retained for good; starts CUDA where the process has not. nbytes is not 0. NULL with a sentence: there is
 * none. */
void *gpu_memory_make(size_t nbytes, struct gpubind_error *err);
/* Of its first nbytes: all are 0 when it returns. 0, or -1 with a sentence. */
int gpu_memory_clear(void *memory, size_t nbytes, struct gpubind_error *err);
/* Waits for the work of the device, as the driver does. NULL, or memory that went with its context, is no
 * matter. */
void gpu_memory_free(void *memory);

#endif
