/* Streams of the application that wait for other ranks without the host's knowing when they
 * go on. They count as held, see gpu_hold, until an event behind what waits has come. */
#ifndef GPUBIND_GPU_CORE_DEFERRED_FREE_H
#define GPUBIND_GPU_CORE_DEFERRED_FREE_H

#include "gpu/core/gpu_context.h"

struct hold;

/* What is put into a stream from here on counts. NULL: no event can be had, and it does
 * not. */
struct hold *hold_begin(struct gpu *gpu, gpu_stream stream);
/* The event, after the work; may be called without the library's lock, since the driver
 * may wait for room in the stream. The GPU's context need not be current. */
void hold_record(struct hold *hold);
/* With the lock again. */
void hold_end(struct hold *hold);
/* Nothing counts any more. */
void holds_stop(void);

#endif
