#include "gpu/core/gpu_stream.h"

#include "gpu/core/gpu_calls.h"

int gpu_stream_make(bool blocking, gpu_stream *stream)
{
    const unsigned flags = blocking ? 0 : GPU_STREAM_NON_BLOCKING;
    int least = 0, greatest = 0;

    gpu_driver()->cuCtxGetStreamPriorityRange(&least, &greatest);
    return gpu_driver()->cuStreamCreateWithPriority(stream, flags, greatest);
}

bool stream_is_default(gpu_stream stream)
{
    return !stream || stream == GPU_LEGACY_STREAM || stream == GPU_PER_THREAD_STREAM;
}

/* Drivers without cuStreamGetCtx_v2 (before CUDA 12.5) tell a green context itself. */
int stream_home(gpu_stream stream, gpu_context *context)
{
    const struct cuda_driver *cuda = gpu_driver();
    struct CUgreenCtx_st *green = NULL;

    *context = NULL;
    return cuda->cuStreamGetCtx_v2 ? cuda->cuStreamGetCtx_v2(stream, context, &green)
                                   : cuda->cuStreamGetCtx(stream, context);
}

gpu_context current_home(void)
{
    const struct cuda_driver *cuda = gpu_driver();
    gpu_context current = NULL, home = NULL;

    if (cuda->cuCtxGetCurrent(&current) != GPU_OK || !current)
        return NULL;
    return stream_home(GPU_PER_THREAD_STREAM, &home) == GPU_OK && home ? home : current;
}

bool stream_is_green_default(gpu_stream stream)
{
    gpu_context current = NULL;

    return stream_is_default(stream) && gpu_driver()->cuCtxGetCurrent(&current) == GPU_OK &&
           current_home() != current;
}

bool gpu_enter_for(const struct gpu *gpu, gpu_stream stream)
{
    return !(stream_is_default(stream) && current_home() == gpu->context) && gpu_enter(gpu);
}
