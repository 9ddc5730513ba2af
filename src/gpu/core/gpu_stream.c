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
static int ask(gpu_stream stream, gpu_context *context)
{
    const struct cuda_driver *cuda = gpu_driver();
    struct CUgreenCtx_st *green = NULL;

    *context = NULL;
    return cuda->cuStreamGetCtx_v2 ? cuda->cuStreamGetCtx_v2(stream, context, &green)
                                   : cuda->cuStreamGetCtx(stream, context);
}

/* That of the current device, whose green contexts have retained it. */
static gpu_context primary(gpu_context otherwise)
{
    const struct cuda_driver *cuda = gpu_driver();
    gpu_context context = NULL;
    int device;

    if (cuda->cuCtxGetDevice(&device) != GPU_OK ||
        cuda->cuDevicePrimaryCtxRetain(&context, device) != GPU_OK)
        return otherwise;
    cuda->cuDevicePrimaryCtxRelease_v2(device);
    return context;
}

/* Green contexts have no per-thread default stream. To ask for the legacy stream's would spoil a capture. */
gpu_context current_home(void)
{
    const struct cuda_driver *cuda = gpu_driver();
    gpu_context current = NULL, context;

    if (cuda->cuCtxGetCurrent(&current) != GPU_OK || !current || !cuda->cuStreamGetCtx_v2)
        return current;
    return ask(GPU_PER_THREAD_STREAM, &context) == CUDA_INVALID_HANDLE ? primary(current) : current;
}

int stream_home(gpu_stream stream, gpu_context *context)
{
    if (!stream_is_default(stream))
        return ask(stream, context);
    *context = current_home();
    return *context ? GPU_OK : GPU_INVALID_VALUE;
}

bool stream_is_green_default(gpu_stream stream)
{
    gpu_context current = NULL;

    return stream_is_default(stream) && gpu_driver()->cuCtxGetCurrent(&current) == GPU_OK &&
           current_home() != current;
}

bool stream_is_green(gpu_stream stream)
{
    gpu_context home, own = NULL;

    if (stream_is_default(stream))
        return stream_is_green_default(stream);
    return ask(stream, &home) == GPU_OK && gpu_driver()->cuStreamGetCtx(stream, &own) == GPU_OK &&
           own != home;
}

bool gpu_enter_for(const struct gpu *gpu, gpu_stream stream)
{
    return !(stream_is_default(stream) && current_home() == gpu->context) && gpu_enter(gpu);
}

const void *stream_key(gpu_stream stream)
{
    static _Thread_local char per_thread;

    if (stream == GPU_PER_THREAD_STREAM)
        return &per_thread;
    return stream ? stream : GPU_LEGACY_STREAM;
}
