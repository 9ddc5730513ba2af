/* Contexts, which one is current in a thread, and peer access. */
#include "tests/sim/sim.h"

#define MAX_DEPTH 32

static struct CUctx_st *primary[SIM_MAX_DEVICES]; /* by ordinal; made once */
static _Thread_local struct CUctx_st *stack[MAX_DEPTH];
static _Thread_local int depth;

int context_current(struct CUctx_st **context)
{
    *context = depth ? stack[depth - 1] : NULL;
    if (!*context)
        return SIM_INVALID_CONTEXT;
    if ((*context)->home && (*context)->alive)
        *context = (*context)->home;
    return (*context)->alive ? CUDA_OK : SIM_CONTEXT_DESTROYED;
}

struct CUctx_st *context_green(void)
{
    struct CUctx_st *context = depth ? stack[depth - 1] : NULL;

    return context && context->home ? context : NULL;
}

static void start(struct CUctx_st *context)
{
    static unsigned long long ids;

    context->alive = true;
    context->id = ++ids;
    context->peers = 0;
    context->legacy = stream_new(context, false, true);
    context->recorder = NULL;
}

/* Its memory goes with it. */
static void end(struct CUctx_st *context)
{
    streams_end(context);
    range_release_all(context);
    context->alive = false;
}

static struct CUctx_st *new_context(int device)
{
    struct CUctx_st *context = sim_new(sizeof *context);

    context->device = device;
    context->physical = device_physical(device);
    return context;
}

static bool is_device(int device)
{
    return device >= 0 && device < device_count();
}

int cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device)
{
    int result = sim_enter(CALL_cuDevicePrimaryCtxRetain);

    if (result)
        return result;
    if (!is_device(device))
        return sim_leave(SIM_INVALID_DEVICE);
    if (!primary[device]) {
        primary[device] = new_context(device);
        primary[device]->primary = true;
    }
    if (!primary[device]->alive)
        start(primary[device]);
    primary[device]->retained++;
    *context = primary[device];
    return sim_leave(CUDA_OK);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    int result = sim_enter(CALL_cuDevicePrimaryCtxRelease_v2);

    if (result)
        return result;
    if (!is_device(device))
        return sim_leave(SIM_INVALID_DEVICE);
    if (!primary[device] || !primary[device]->retained)
        return sim_leave(SIM_INVALID_CONTEXT);
    primary[device]->retained--;
    if (!primary[device]->retained && primary[device]->alive)
        end(primary[device]);
    return sim_leave(CUDA_OK);
}

/* Who has retained it has it again, with nothing in it, when somebody retains it next. */
int cuDevicePrimaryCtxReset_v2(int device)
{
    int result = sim_enter(CALL_cuDevicePrimaryCtxReset_v2);

    if (result)
        return result;
    if (!is_device(device))
        return sim_leave(SIM_INVALID_DEVICE);
    if (primary[device] && primary[device]->alive)
        end(primary[device]);
    return sim_leave(CUDA_OK);
}

int cuCtxGetId(struct CUctx_st *context, unsigned long long *id)
{
    int result = sim_enter(CALL_cuCtxGetId);

    if (result)
        return result;
    if (!context)
        result = context_current(&context);
    if (!result && !context->alive)
        result = SIM_CONTEXT_DESTROYED;
    if (!result)
        *id = context->id;
    return sim_leave(result);
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    int result = sim_enter(CALL_cuDevicePrimaryCtxGetState);

    if (result)
        return result;
    if (!is_device(device))
        return sim_leave(SIM_INVALID_DEVICE);
    *flags = 0;
    *active = primary[device] && primary[device]->alive;
    return sim_leave(CUDA_OK);
}

static int push(struct CUctx_st *context)
{
    if (!context)
        return CUDA_INVALID_VALUE;
    if (!context->alive)
        return SIM_CONTEXT_DESTROYED;
    if (depth == MAX_DEPTH)
        sim_die("more than %d contexts on a thread's stack", MAX_DEPTH);
    if (context->home && context->users && context->user != stack)
        sim_die("a green context is current to two threads");
    context->user = stack;
    context->users++;
    stack[depth++] = context;
    return CUDA_OK;
}

static void pop(void)
{
    stack[--depth]->users--;
}

int cuCtxCreate_v2(struct CUctx_st **context, unsigned flags, int device)
{
    int result = sim_enter(CALL_cuCtxCreate_v2);

    (void)flags;
    if (result)
        return result;
    if (!is_device(device))
        return sim_leave(SIM_INVALID_DEVICE);
    *context = new_context(device);
    start(*context);
    return sim_leave(push(*context));
}

int cuCtxDestroy_v2(struct CUctx_st *context)
{
    int result = sim_enter(CALL_cuCtxDestroy_v2);

    if (result)
        return result;
    if (!context || context->primary || !context->alive)
        return sim_leave(SIM_INVALID_CONTEXT);
    end(context);
    if (depth && stack[depth - 1] == context)
        pop();
    return sim_leave(CUDA_OK);
}

int cuCtxGetCurrent(struct CUctx_st **context)
{
    int result = sim_enter(CALL_cuCtxGetCurrent);

    if (result)
        return result;
    *context = depth ? stack[depth - 1] : NULL;
    return sim_leave(CUDA_OK);
}

int cuCtxSetCurrent(struct CUctx_st *context)
{
    int result = sim_enter(CALL_cuCtxSetCurrent);

    if (result)
        return result;
    if (context && !context->alive)
        return sim_leave(SIM_CONTEXT_DESTROYED);
    if (depth)
        pop();
    return sim_leave(context ? push(context) : CUDA_OK);
}

int cuCtxPushCurrent_v2(struct CUctx_st *context)
{
    int result = sim_enter(CALL_cuCtxPushCurrent_v2);

    if (result)
        return result;
    return sim_leave(push(context));
}

int cuCtxPopCurrent_v2(struct CUctx_st **context)
{
    int result = sim_enter(CALL_cuCtxPopCurrent_v2);

    if (result)
        return result;
    if (!depth)
        return sim_leave(SIM_INVALID_CONTEXT);
    pop();
    if (context)
        *context = stack[depth];
    return sim_leave(CUDA_OK);
}

int cuCtxGetDevice(int *device)
{
    int result = sim_enter(CALL_cuCtxGetDevice);
    struct CUctx_st *context;

    if (result)
        return result;
    result = context_current(&context);
    if (!context)
        return sim_leave(result);
    *device = context->device; /* of one that was destroyed too */
    return sim_leave(CUDA_OK);
}

int cuCtxSynchronize(void)
{
    int result = sim_enter(CALL_cuCtxSynchronize);
    struct CUctx_st *context;

    if (result)
        return result;
    result = context_current(&context);
    if (!result)
        result = capture_forbids_wait(context);
    if (result)
        return sim_leave(result);
    context_wait(context);
    for (struct CUstream_st *s = stream_first(); s && !result; s = s->next)
        if (s->context == context)
            result = stream_take_error(s);
    return sim_leave(result);
}

int cuCtxEnablePeerAccess(struct CUctx_st *peer, unsigned flags)
{
    int result = sim_enter(CALL_cuCtxEnablePeerAccess);
    struct CUctx_st *context;
    unsigned bit;

    if (result)
        return result;
    result = context_current(&context);
    if (result)
        return sim_leave(result);
    if (flags)
        return sim_leave(CUDA_INVALID_VALUE);
    if (!peer || !peer->alive)
        return sim_leave(SIM_INVALID_CONTEXT);
    if (peer->physical == context->physical || !device_reaches(context->physical, peer->physical))
        return sim_leave(SIM_PEER_UNSUPPORTED);
    bit = 1u << peer->physical;
    if (context->peers & bit)
        return sim_leave(CUDA_PEER_ALREADY_ENABLED);
    context->peers |= bit;
    return sim_leave(CUDA_OK);
}

int cuCtxDisablePeerAccess(struct CUctx_st *peer)
{
    int result = sim_enter(CALL_cuCtxDisablePeerAccess);
    struct CUctx_st *context;

    if (result)
        return result;
    result = context_current(&context);
    if (!result && (!peer || !peer->alive))
        result = SIM_INVALID_CONTEXT;
    if (!result && !(context->peers & 1u << peer->physical))
        result = CUDA_PEER_NOT_ENABLED;
    if (!result)
        context->peers &= ~(1u << peer->physical);
    return sim_leave(result);
}

int cuCtxGetFlags(unsigned *flags)
{
    int result = sim_enter(CALL_cuCtxGetFlags);
    struct CUctx_st *context;

    if (result)
        return result;
    result = context_current(&context);
    if (!result)
        *flags = context->flags;
    return sim_leave(result);
}

/* Waits for all streams of the context, as an H200's driver does. A newly set
 * CUDA_CONTEXT_SYNC_MEMOPS, nothing else, invalidates its captures (measured there, too). */
int cuCtxSetFlags(unsigned flags)
{
    int result = sim_enter(CALL_cuCtxSetFlags);
    struct CUctx_st *context;

    if (result)
        return result;
    result = context_current(&context);
    if (!result && flags & ~context->flags & CUDA_CONTEXT_SYNC_MEMOPS)
        result = capture_forbids_wait(context);
    if (!result) {
        context_wait(context);
        context->flags = flags;
    }
    return sim_leave(result);
}
