/* The stream that copies of GPU buffers run in, one for each context. Its work comes after earlier work
 * of the legacy stream, but not after that of other blocking streams, which may wait for a message.
 * With GPUBIND_ORDER=0 it comes after nothing. Any thread may call this. */
#ifndef GPUBIND_AWARE_COPY_STREAM_H
#define GPUBIND_AWARE_COPY_STREAM_H

#include <stdbool.h>

#include "gpu/core/gpu_types.h"

/* Of the current context. NULL, which is the legacy stream: none could be made. */
gpu_stream copy_stream(gpu_context context);
/* The same for copies that come after nothing: a nonblocking stream. */
gpu_stream copy_stream_unordered(gpu_context context);

/* GPUBIND_ORDER: copies come after earlier work of the legacy stream. */
bool copies_are_ordered(void);

#endif
