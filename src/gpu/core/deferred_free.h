/* Guards against driver calls that synchronize: while a stream of the application waits for
 * another rank, memory is freed later. A guard ends with an event behind the wait. */
#ifndef GPUBIND_GPU_CORE_DEFERRED_FREE_H
#define GPUBIND_GPU_CORE_DEFERRED_FREE_H

#include "gpu/core/gpu_context.h"

struct free_guard;

/* Guards what is put into the stream from here on. NULL: no event can be had, and there is no
 * guard. */
struct free_guard *free_guard_begin(struct gpu *gpu, gpu_stream stream);
/* The event, after the work; may be called without the library's lock, since the driver
 * may wait for room in the stream. The GPU's context need not be current. */
void free_guard_record(struct free_guard *hold);
/* With the lock again. */
void free_guard_end(struct free_guard *hold);
/* Ends all guards. */
void free_guards_stop(void);

#endif
