/* Green contexts: parts of a device's multiprocessors, with streams of their own, and memory and modules of the primary
 * context. Which multiprocessors is not simulated. */
#include "tests/sim/sim.h"

#define DEFAULT_STREAM 1 /* the one flag of cuGreenCtxCreate */

/* What cuCtxFromGreenCtx gives. */
struct CUgreenCtx_st {
    struct CUctx_st context;
};

int cuDeviceGetDevResource(int device, struct CUdevResource_st *resource, int type)
{
    int result = sim_enter(CALL_cuDeviceGetDevResource);

    (void)resource, (void)type;
    if (result)
        return result;
    return sim_leave(device >= 0 && device < device_count() ? CUDA_OK : SIM_INVALID_DEVICE);
}

int cuDevSmResourceSplitByCount(struct CUdevResource_st *parts, unsigned *n,
                                const struct CUdevResource_st *whole, struct CUdevResource_st *rest,
                                unsigned flags, unsigned least)
{
    int result = sim_enter(CALL_cuDevSmResourceSplitByCount);

    (void)rest, (void)flags, (void)least;
    if (result)
        return result;
    return sim_leave(parts && n && *n && whole ? CUDA_OK : CUDA_INVALID_VALUE);
}

int cuDevResourceGenerateDesc(struct CUdevResourceDesc_st **desc, struct CUdevResource_st *parts,
                              unsigned n)
{
    int result = sim_enter(CALL_cuDevResourceGenerateDesc);

    if (result)
        return result;
    *desc = (struct CUdevResourceDesc_st *)parts;
    return sim_leave(parts && n ? CUDA_OK : CUDA_INVALID_VALUE);
}

int cuGreenCtxCreate(struct CUgreenCtx_st **green, struct CUdevResourceDesc_st *desc, int device,
                     unsigned flags)
{
    int result = sim_enter(CALL_cuGreenCtxCreate);
    struct CUctx_st *home;

    if (result)
        return result;
    if (!desc || flags != DEFAULT_STREAM)
        return sim_leave(CUDA_INVALID_VALUE);
    sim_leave(CUDA_OK);
    result = cuDevicePrimaryCtxRetain(&home, device);
    if (result)
        return result;
    sim_lock();
    *green = sim_new(sizeof **green);
    (*green)->context = *home;
    (*green)->context.home = home;
    (*green)->context.primary = false;
    (*green)->context.legacy = stream_new(home, false, false);
    (*green)->context.legacy->green = &(*green)->context;
    sim_unlock();
    return CUDA_OK;
}

int cuGreenCtxDestroy(struct CUgreenCtx_st *green)
{
    int result = sim_enter(CALL_cuGreenCtxDestroy);

    if (result)
        return result;
    if (!green || !green->context.alive)
        return sim_leave(SIM_INVALID_CONTEXT);
    green->context.alive = false;
    sim_leave(CUDA_OK);
    return cuDevicePrimaryCtxRelease_v2(green->context.device);
}

int cuCtxFromGreenCtx(struct CUctx_st **context, struct CUgreenCtx_st *green)
{
    int result = sim_enter(CALL_cuCtxFromGreenCtx);

    if (result)
        return result;
    *context = &green->context;
    return sim_leave(CUDA_OK);
}

int cuGreenCtxStreamCreate(struct CUstream_st **stream, struct CUgreenCtx_st *green, unsigned flags,
                           int priority)
{
    int result = sim_enter(CALL_cuGreenCtxStreamCreate);

    (void)priority;
    if (result)
        return result;
    if (!green || !green->context.alive || flags != CUDA_STREAM_NON_BLOCKING)
        return sim_leave(CUDA_INVALID_VALUE);
    *stream = stream_new(green->context.home, false, false);
    (*stream)->green = &green->context;
    return sim_leave(CUDA_OK);
}

/* Of special handles: the current one. While a blocking stream is captured, the question for the legacy stream spoils
 * the capture, as on an H200 with driver 580.159.04. */
static int contexts_of(struct CUstream_st *handle, struct CUctx_st **home, struct CUctx_st **green)
{
    struct CUstream_st *stream;
    int result;

    if ((uintptr_t)handle <= 1) {
        result = context_current(home);
        *green = context_green();
        return result ? result : capture_blocks_legacy(*home, true);
    }
    result = stream_find(handle, &stream);
    if (!result) {
        *home = stream->context;
        *green = stream->green;
    }
    return result;
}

int cuStreamGetCtx(struct CUstream_st *handle, struct CUctx_st **context)
{
    int result = sim_enter(CALL_cuStreamGetCtx);
    struct CUctx_st *green = NULL;

    if (result)
        return result;
    result = contexts_of(handle, context, &green);
    if (!result && green)
        *context = green;
    return sim_leave(result);
}

int cuStreamGetCtx_v2(struct CUstream_st *handle, struct CUctx_st **context,
                      struct CUgreenCtx_st **green)
{
    int result = sim_enter(CALL_cuStreamGetCtx_v2);
    struct CUctx_st *part = NULL;

    if (result)
        return result;
    result = contexts_of(handle, context, &part);
    if (!result)
        *green = (struct CUgreenCtx_st *)part; /* its first member */
    return sim_leave(result);
}
