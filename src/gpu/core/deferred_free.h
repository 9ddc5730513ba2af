/* Guards against driver calls that synchronize: while a stream of the application waits for
 * another rank, memory is freed later. A guard ends with an event behind the wait. */
#ifndef GPUBIND_GPU_CORE_DEFERRED_FREE_H
#define GPUBIND_GPU_CORE_DEFERRED_FREE_H

#include "gpu/core/gpu_context.h"

struct free_guard;

/* Begins a guard for what is put into the stream from now on, of which so many blocks may wait (waiting_blocks.h).
 * NULL: there is no event for it, and no guard. */
struct free_guard *free_guard_begin(struct gpu *gpu, gpu_stream stream, unsigned blocks);
/* Records the event, after the work. May be called without the library's lock, since the driver may
 * wait for room in the stream. The GPU's context need not be current. */
void free_guard_record(struct free_guard *guard);
/* The guard ends when the event has completed. With the lock. */
void free_guard_end(struct free_guard *guard);
/* The blocks that may wait in other streams than the one with that key (stream_key). Where those seem to be more than
 * most, the driver is asked whether they still wait. */
unsigned free_guards_blocks(const struct gpu *gpu, const void *but, unsigned most);
/* Ends all guards. */
void free_guards_stop(void);

#endif
