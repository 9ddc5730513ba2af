/* Small memory that the host and all GPUs read and write. */
#ifndef GPUBIND_GPU_CORE_PAGE_LOCKED_H
#define GPUBIND_GPU_CORE_PAGE_LOCKED_H

#include <stddef.h>

#include "core/base/error.h"

/* nbytes, zeroed. Never unmapped: a stream may look at it after the library has ended. NULL with a
 * sentence. A context is current. */
void *page_locked(size_t nbytes, struct gpubind_error *err);

#endif
