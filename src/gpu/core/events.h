/* A pool of events: the driver creates none while a thread of the application waits in it. */
#ifndef GPUBIND_GPU_CORE_EVENTS_H
#define GPUBIND_GPU_CORE_EVENTS_H

#include "gpu/core/gpu_context.h"

/* In all of these the GPU's context is current, and the driver's result is returned. */

/* Creates as many as are in use at a time. */
void events_prepare(struct gpu *gpu);
/* One without timing. The caller gives it back, whether it has completed or not. */
int event_take(struct gpu *gpu, gpu_event *event);
void event_give(struct gpu *gpu, gpu_event event);
/* Records one behind the work of the context's legacy stream, and so of its blocking streams.
 * *event is NULL when there is no such work. */
int event_of_legacy(struct gpu *gpu, gpu_event *event);
/* Destroys those that are kept, of all GPUs, whatever context is current. */
void events_stop(void);

#endif
