/* The library's own streams, and whose the application's are. A green context is a part of a GPU's multiprocessors: its
 * streams run there, and all else, memory and modules, is that of the primary context. */
#ifndef GPUBIND_GPU_CORE_GPU_STREAM_H
#define GPUBIND_GPU_CORE_GPU_STREAM_H

#include "gpu/core/gpu_context.h"

/* A stream of the current context in which the library copies and launches, of the highest priority: else its kernels
 * would get multiprocessors only when all blocks of kernels launched before have begun. blocking: it waits for the
 * legacy stream, and that for it. What the driver returns. */
int gpu_stream_make(bool blocking, gpu_stream *stream);

bool stream_is_default(gpu_stream stream);
/* The context of the memory and the modules that the stream's work may use; of a default stream, that of the current
 * context. What the driver returns. */
int stream_home(gpu_stream stream, gpu_context *context);
/* The same of the current context. NULL: there is none. */
gpu_context current_home(void);
bool stream_is_green(gpu_stream stream);
/* The default stream of a green context, which is current: a launch of the library's kernels would be put into that of
 * the primary one, to which they belong. Copies and memory operations go where the current context says. */
bool stream_is_green_default(gpu_stream stream);
/* As gpu_enter, for calls with that stream: a default one is that of the current context, which stays current where it
 * is a green one of the GPU. */
bool gpu_enter_for(const struct gpu *gpu, gpu_stream stream);

/* Of a stream within its context: the same for all handles of it, and another for each thread's default stream. */
const void *stream_key(gpu_stream stream);

#endif
