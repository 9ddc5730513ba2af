/* The lock of a context, which the driver holds while a thread waits in it: with
 * GPUBIND_SIM_LOCKS=1 other threads' calls that want it wait for that thread. As a matrix of
 * calls on two H200 (driver 580) shows it; the library's README beside the driver's calls has
 * it. cuStreamSynchronize, cuCtxSynchronize and cuEventSynchronize hold nothing. */
#include "tests/sim/sim.h"

enum { NOBODY, WRITERS, ALL }; /* whom a thread that waits keeps out */

static unsigned waiting[ALL + 1]; /* threads, by whom they keep out */

/* What a call is that waits while others wait. */
static int kind_of(enum sim_call call)
{
    switch (call) {
    case CALL_cuMemAlloc_v2:
    case CALL_cuMemHostAlloc:
    case CALL_cuMemHostRegister_v2:
    case CALL_cuStreamCreate:
    case CALL_cuStreamDestroy_v2:
    case CALL_cuStreamWaitEvent:
    case CALL_cuEventCreate:
    case CALL_cuEventDestroy_v2:
        return WRITERS;
    case CALL_cuCtxRecordEvent:
    case CALL_cuEventRecord:
    case CALL_cuLaunchKernel:
    case CALL_cuMemcpyAsync:
    case CALL_cuMemcpyBatchAsync_v2:
    case CALL_cuMemcpyDtoDAsync_v2:
    case CALL_cuMemcpyDtoHAsync_v2:
    case CALL_cuMemcpyHtoDAsync_v2:
    case CALL_cuMemcpy2DAsync_v2:
    case CALL_cuMemcpy3DAsync_v2:
    case CALL_cuMemcpyPeerAsync:
    case CALL_cuMemsetD8Async:
        return ALL;
    default:
        return NOBODY;
    }
}

void lock_take(bool legacy)
{
    waiting[legacy ? ALL : WRITERS]++;
}

void lock_give(bool legacy)
{
    waiting[legacy ? ALL : WRITERS]--;
    sim_changed();
}

static bool is_kept_out(int kind)
{
    return kind != NOBODY && (waiting[ALL] > 0 || (kind == WRITERS && waiting[WRITERS] > 0));
}

void lock_pass(enum sim_call call)
{
    const int kind = kind_of(call);

    while (is_kept_out(kind) && sim_number("GPUBIND_SIM_LOCKS", 0, 1))
        sim_wait(UINT64_MAX);
}
