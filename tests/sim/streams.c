/* Calls about streams. */
#include "tests/sim/sim.h"

/* A blocking one for each thread and context. Green ones have none. */
static int per_thread_stream(struct CUstream_st **stream)
{
    enum { CONTEXTS = 16 }; /* of a thread; beyond that they are forgotten, and made anew */
    static __thread struct CUstream_st *mine[CONTEXTS];
    static __thread int n;
    struct CUctx_st *context;
    const int result = context_green() ? CUDA_INVALID_HANDLE : context_current(&context);
    int i = 0;

    if (result)
        return result;
    while (i < n && mine[i]->context != context)
        i++;
    if (i == n) {
        i = n < CONTEXTS ? n : 0;
        n = i + 1;
        mine[i] = stream_new(context, true, false);
    }
    *stream = mine[i];
    return CUDA_OK;
}

int stream_find(struct CUstream_st *handle, struct CUstream_st **stream)
{
    struct CUctx_st *context;
    int result;

    if (handle == CUDA_PER_THREAD_STREAM)
        return per_thread_stream(stream);
    *stream = handle;
    if (handle && handle != CUDA_LEGACY_STREAM && !handle->context->alive)
        return SIM_CONTEXT_DESTROYED;
    if (handle && handle != CUDA_LEGACY_STREAM)
        return handle->destroyed ? CUDA_INVALID_HANDLE : CUDA_OK;
    result = context_current(&context);
    if (!result)
        *stream = context_green() ? context_green()->legacy : context->legacy;
    return result;
}

int stream_use(struct CUstream_st *handle, struct CUstream_st **stream)
{
    int result = stream_find(handle, stream);

    if (!result && (*stream)->context->trapped)
        result = SIM_LAUNCH_FAILED;
    if (!result && (*stream)->legacy)
        result = capture_blocks_legacy((*stream)->context, true);
    if (!result && (*stream)->capture == CAPTURE_INVALIDATED)
        result = SIM_CAPTURE_INVALIDATED;
    return result;
}

#define GREATEST_PRIORITY (-5)

static int create(struct CUstream_st **stream, unsigned flags, int priority)
{
    struct CUctx_st *context;
    int result = context_current(&context);

    if (!result && flags > CUDA_STREAM_NON_BLOCKING)
        result = CUDA_INVALID_VALUE;
    if (!result)
        *stream = stream_new(context, !flags, false);
    if (!result)
        (*stream)->first = priority <= GREATEST_PRIORITY;
    return sim_leave(result);
}

int cuStreamCreate(struct CUstream_st **stream, unsigned flags)
{
    int result = sim_enter(CALL_cuStreamCreate);

    return result ? result : create(stream, flags, 0);
}

/* The driver takes one out of range for the nearest. */
int cuStreamCreateWithPriority(struct CUstream_st **stream, unsigned flags, int priority)
{
    int result = sim_enter(CALL_cuStreamCreateWithPriority);

    return result ? result : create(stream, flags, priority);
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    int result = sim_enter(CALL_cuCtxGetStreamPriorityRange);
    struct CUctx_st *context;

    if (result)
        return result;
    result = context_current(&context);
    *least = 0;
    *greatest = GREATEST_PRIORITY;
    return sim_leave(result);
}

/* Its work goes on. */
int cuStreamDestroy_v2(struct CUstream_st *handle)
{
    int result = sim_enter(CALL_cuStreamDestroy_v2);
    struct CUstream_st *stream;

    if (result)
        return result;
    result = stream_find(handle, &stream);
    if (!result && stream->legacy)
        result = CUDA_INVALID_HANDLE;
    if (!result)
        stream->destroyed = true;
    if (!result && stream->context->trapped)
        result = SIM_LAUNCH_FAILED;
    return sim_leave(result);
}

/* A stream that captures has nothing to be asked; its capture is lost. */
static int use_to_ask(struct CUstream_st *handle, struct CUstream_st **stream)
{
    int result = stream_use(handle, stream);

    if (result)
        return result;
    if (!(*stream)->capture)
        return capture_forbids_unsafe();
    (*stream)->capture = CAPTURE_INVALIDATED;
    return CUDA_CAPTURE_UNSUPPORTED;
}

/* The legacy stream has the blocking streams' work too. */
static bool has_work(const struct CUstream_st *stream)
{
    bool busy = stream->head != NULL;

    for (const struct CUstream_st *s = stream_first(); s && stream->legacy; s = s->next)
        busy |= s->blocking && s->context == stream->context && s->head;
    return busy;
}

int cuStreamQuery(struct CUstream_st *handle)
{
    int result = sim_enter(CALL_cuStreamQuery);
    struct CUstream_st *stream;

    if (result)
        return result;
    result = use_to_ask(handle, &stream);
    if (result)
        return sim_leave(result);
    streams_advance();
    return sim_leave(has_work(stream) ? CUDA_NOT_READY : stream_take_error(stream));
}

int cuStreamSynchronize(struct CUstream_st *handle)
{
    int result = sim_enter(CALL_cuStreamSynchronize);
    struct CUstream_st *stream;
    uint64_t ticket;

    if (result)
        return result;
    result = use_to_ask(handle, &stream);
    if (result)
        return sim_leave(result);
    ticket = stream->submitted;
    if (has_work(stream) && stream->legacy) /* empty work waits for the blocking streams */
        ticket = stream_submit(stream, operation_new(CALL_cuStreamSynchronize, 0));
    stream_wait(stream, ticket);
    if (!stream->head)
        stream_return_memory(stream);
    return sim_leave(stream_take_error(stream));
}

int cuLaunchHostFunc(struct CUstream_st *handle, void (*function)(void *), void *data)
{
    int result = sim_enter(CALL_cuLaunchHostFunc);
    struct CUstream_st *stream;
    struct operation *op;

    if (result)
        return result;
    result = stream_use(handle, &stream);
    if (result)
        return sim_leave(result);
    op = operation_new(CALL_cuLaunchHostFunc, 0);
    op->function = function;
    op->data = data;
    stream_submit(stream, op);
    return sim_leave(CUDA_OK);
}

/* ---- events */

int cuEventCreate(struct CUevent_st **event, unsigned flags)
{
    int result = sim_enter(CALL_cuEventCreate);
    struct CUctx_st *context;

    if (result)
        return result;
    result = context_current(&context);
    if (result)
        return sim_leave(result);
    *event = sim_new(sizeof **event);
    (*event)->context = context;
    (*event)->context_id = context->id;
    (*event)->untimed = flags & CUDA_EVENT_NO_TIMING;
    return sim_leave(CUDA_OK);
}

static bool is_event(const struct CUevent_st *event)
{
    return event && !event->destroyed && event->context->alive &&
           event->context_id == event->context->id;
}

int cuEventDestroy_v2(struct CUevent_st *event)
{
    int result = sim_enter(CALL_cuEventDestroy_v2);

    if (result)
        return result;
    if (!is_event(event))
        return sim_leave(CUDA_INVALID_HANDLE);
    event->destroyed = true;
    return sim_leave(CUDA_OK);
}

int cuEventRecord(struct CUevent_st *event, struct CUstream_st *handle)
{
    int result = sim_enter(CALL_cuEventRecord);
    struct CUstream_st *stream;
    struct operation *op;

    if (result)
        return result;
    result = is_event(event) ? stream_use(handle, &stream) : CUDA_INVALID_HANDLE;
    if (!result && event->context != stream->context)
        result = CUDA_INVALID_HANDLE;
    if (result)
        return sim_leave(result);
    event->captured = stream->capture != CAPTURE_NONE;
    event->stream = stream;
    nodes_clear(&event->nodes);
    if (event->captured) {
        nodes_add(&event->nodes, &stream->tail);
        return sim_leave(CUDA_OK);
    }
    op = operation_new(CALL_cuEventRecord, 0);
    op->event = event;
    stream_submit(stream, op);
    return sim_leave(CUDA_OK);
}

/* After the work that all streams of the context have now. None may capture, whatever the thread's mode: an H100's
 * driver invalidates it. */
int cuCtxRecordEvent(struct CUctx_st *context, struct CUevent_st *event)
{
    int result = sim_enter(CALL_cuCtxRecordEvent);
    struct operation *op;

    if (result)
        return result;
    if (!context || !context->alive)
        return sim_leave(SIM_INVALID_CONTEXT);
    result = is_event(event) && event->context == context ? capture_forbids_wait(context)
                                                          : CUDA_INVALID_HANDLE;
    if (result)
        return sim_leave(result);
    if (!context->recorder)
        context->recorder = stream_new(context, false, false);
    event->captured = false;
    event->stream = context->recorder;
    op = operation_new(CALL_cuCtxRecordEvent, 0);
    op->event = event;
    for (struct CUstream_st *s = stream_first(); s; s = s->next)
        if (s->context == context)
            operation_need(op, s, s->submitted);
    stream_submit(context->recorder, op);
    return sim_leave(CUDA_OK);
}

/* Reports what work before it left, unless somebody else was told. */
int cuEventQuery(struct CUevent_st *event)
{
    int result = sim_enter(CALL_cuEventQuery);

    if (result)
        return result;
    if (!is_event(event))
        return sim_leave(CUDA_INVALID_HANDLE);
    if (event->captured)
        return sim_leave(event->stream->capture ? SIM_CAPTURED_EVENT : CUDA_INVALID_VALUE);
    if (!event->stream)
        return sim_leave(CUDA_OK);
    streams_advance();
    if (event->stream->done < event->ticket)
        return sim_leave(CUDA_NOT_READY);
    if (event->error_serial && event->error_serial == event->stream->error_serial)
        result = stream_take_error(event->stream);
    return sim_leave(result);
}

/* Both recorded, done, and made for it. */
int cuEventElapsedTime(float *ms, struct CUevent_st *from, struct CUevent_st *to)
{
    int result = sim_enter(CALL_cuEventElapsedTime);

    if (result)
        return result;
    if (!is_event(from) || !is_event(to) || from->untimed || to->untimed || !from->stream ||
        !to->stream || from->context != to->context)
        return sim_leave(CUDA_INVALID_HANDLE);
    streams_advance();
    if (from->stream->done < from->ticket || to->stream->done < to->ticket)
        return sim_leave(CUDA_NOT_READY);
    *ms = (float)(1e-6 * ((double)to->reached - (double)from->reached));
    return sim_leave(CUDA_OK);
}

int cuStreamWaitEvent(struct CUstream_st *handle, struct CUevent_st *event, unsigned flags)
{
    int result = sim_enter(CALL_cuStreamWaitEvent);
    struct CUstream_st *stream;
    struct operation *op;

    if (result)
        return result;
    result = is_event(event) ? stream_use(handle, &stream) : CUDA_INVALID_HANDLE;
    if (!result && flags > 1)
        result = CUDA_INVALID_VALUE;
    if (!result && event->captured)
        result = capture_join(stream, event->stream);
    else if (!result && event->stream)
        result = capture_isolates(stream);
    if (!result && event->captured)
        nodes_add(&stream->tail, &event->nodes);
    if (result || event->captured || !event->stream)
        return sim_leave(result);
    op = operation_new(CALL_cuStreamWaitEvent, 0);
    operation_need(op, event->stream, event->ticket);
    stream_submit(stream, op);
    return sim_leave(CUDA_OK);
}
