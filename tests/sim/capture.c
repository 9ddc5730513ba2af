/* Stream capture: what gets into a graph (graphs.c), and into other calls' way. */
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sim/sim.h"

enum { MODE_GLOBAL, MODE_THREAD_LOCAL, MODE_RELAXED };

static _Thread_local int thread_mode = MODE_GLOBAL;

static int this_thread(void)
{
    return (int)syscall(SYS_gettid);
}

/* Calls that the driver's manual names "potentially unsafe" while somebody captures. */
static bool is_unsafe(enum sim_call call)
{
    static const enum sim_call unsafe[] = {
        CALL_cuMemAlloc_v2,       CALL_cuMemFree_v2,      CALL_cuMemHostAlloc,
        CALL_cuMemFreeHost,       CALL_cuMemAllocManaged, CALL_cuMemHostRegister_v2,
        CALL_cuMemHostUnregister, CALL_cuEventQuery,      CALL_cuIpcOpenMemHandle_v2,
        CALL_cuIpcCloseMemHandle, CALL_cuModuleLoadData,  CALL_cuModuleUnload,
    };

    for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++)
        if (unsafe[i] == call)
            return true;
    return false;
}

int capture_forbids_unsafe(void)
{
    int result = CUDA_OK;

    if (thread_mode == MODE_RELAXED)
        return CUDA_OK;
    for (struct CUstream_st *s = stream_first(); s; s = s->next) {
        bool own = s->capture_thread == this_thread();
        bool minds = own ? s->capture_mode != MODE_RELAXED
                         : s->capture_mode == MODE_GLOBAL && thread_mode == MODE_GLOBAL;

        if (s->capture != CAPTURE_ACTIVE || !minds)
            continue;
        s->capture = CAPTURE_INVALIDATED;
        result = CUDA_CAPTURE_UNSUPPORTED;
    }
    return result;
}

int capture_refuses(enum sim_call call)
{
    return is_unsafe(call) ? capture_forbids_unsafe() : CUDA_OK;
}

int capture_blocks_legacy(const struct CUctx_st *context, bool invalidate)
{
    int result = CUDA_OK;

    for (struct CUstream_st *s = stream_first(); s; s = s->next) {
        if (!s->blocking || s->context != context || s->capture != CAPTURE_ACTIVE)
            continue;
        if (invalidate)
            s->capture = CAPTURE_INVALIDATED;
        result = CUDA_CAPTURE_IMPLICIT;
    }
    return result;
}

/* A stream that waits for captured work captures too, until the first one ends. */
int capture_join(struct CUstream_st *stream, const struct CUstream_st *origin)
{
    if (origin->capture != CAPTURE_ACTIVE)
        return CUDA_INVALID_VALUE;
    if (stream->legacy)
        return CUDA_CAPTURE_IMPLICIT;
    if (stream->capture)
        return CUDA_OK;
    stream->capture = CAPTURE_ACTIVE;
    stream->capture_mode = origin->capture_mode;
    stream->capture_thread = origin->capture_thread;
    stream->capture_origin = origin->capture_origin;
    graph_join(stream, origin->graph);
    return CUDA_OK;
}

int capture_isolates(struct CUstream_st *stream)
{
    if (!stream->capture)
        return CUDA_OK;
    stream->capture = CAPTURE_INVALIDATED;
    return SIM_CAPTURE_ISOLATION;
}

int capture_forbids_wait(const struct CUctx_st *context)
{
    int result = CUDA_OK;

    for (struct CUstream_st *s = stream_first(); s; s = s->next) {
        if (s->context != context || !s->capture)
            continue;
        s->capture = CAPTURE_INVALIDATED;
        result = CUDA_CAPTURE_UNSUPPORTED;
    }
    return result;
}

int cuStreamBeginCapture_v2(struct CUstream_st *handle, int mode)
{
    int result = sim_enter(CALL_cuStreamBeginCapture_v2);
    struct CUstream_st *stream;

    if (result)
        return result;
    result = stream_find(handle, &stream);
    if (!result && (mode < MODE_GLOBAL || mode > MODE_RELAXED))
        result = CUDA_INVALID_VALUE;
    if (!result && (stream->legacy || stream->capture))
        result = stream->legacy ? CUDA_CAPTURE_UNSUPPORTED : SIM_ILLEGAL_STATE;
    if (result)
        return sim_leave(result);
    stream->capture = CAPTURE_ACTIVE;
    stream->capture_mode = mode;
    stream->capture_thread = this_thread();
    stream->capture_origin = stream;
    graph_begin(stream);
    return sim_leave(CUDA_OK);
}

int cuStreamEndCapture(struct CUstream_st *handle, struct CUgraph_st **graph)
{
    int result = sim_enter(CALL_cuStreamEndCapture);
    struct CUgraph_st *captured;
    struct CUstream_st *stream;

    if (result)
        return result;
    result = stream_find(handle, &stream);
    if (result)
        return sim_leave(result);
    *graph = NULL;
    captured = stream->graph;
    if (!stream->capture || stream->capture_origin != stream)
        return sim_leave(stream->capture ? SIM_CAPTURE_UNMATCHED : SIM_ILLEGAL_STATE);
    if (!graph_is_joined(stream))
        result = SIM_CAPTURE_UNJOINED;
    for (struct CUstream_st *s = stream_first(); s; s = s->next) {
        if (!s->capture || s->capture_origin != stream)
            continue;
        if (s->capture == CAPTURE_INVALIDATED)
            result = SIM_CAPTURE_INVALIDATED;
        s->capture = CAPTURE_NONE;
        s->graph = NULL;
        nodes_clear(&s->tail);
    }
    if (result)
        graph_leave(captured);
    else
        *graph = captured;
    return sim_leave(result);
}

int cuStreamIsCapturing(struct CUstream_st *handle, int *status)
{
    int result = sim_enter(CALL_cuStreamIsCapturing);
    struct CUstream_st *stream;

    if (result)
        return result;
    result = stream_find(handle, &stream);
    if (!result && stream->legacy)
        result = capture_blocks_legacy(stream->context, false);
    if (!result)
        *status = (int)stream->capture;
    return sim_leave(result);
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    int result = sim_enter(CALL_cuThreadExchangeStreamCaptureMode);
    int before = thread_mode;

    if (result)
        return result;
    if (*mode < MODE_GLOBAL || *mode > MODE_RELAXED)
        return sim_leave(CUDA_INVALID_VALUE);
    thread_mode = *mode;
    *mode = before;
    return sim_leave(CUDA_OK);
}
