/* Streams and events for the tests of the simulated driver. */
#ifndef GPUBIND_TESTS_SIM_CHECK_STREAMS_H
#define GPUBIND_TESTS_SIM_CHECK_STREAMS_H

#include <stdatomic.h>

#include "tests/sim/check.h"

static struct CUstream_st *new_stream(unsigned flags)
{
    struct CUstream_st *stream = NULL;

    WANT(cu.cuStreamCreate(&stream, flags), CUDA_OK);
    return stream;
}

static struct CUevent_st *new_event(void)
{
    struct CUevent_st *event = NULL;

    WANT(cu.cuEventCreate(&event, CUDA_EVENT_NO_TIMING), CUDA_OK);
    return event;
}

/* A host function that lets no later work of its stream begin. */
static void pass(void *gate)
{
    while (!atomic_load((atomic_int *)gate))
        usleep(100);
}

static void shut(struct CUstream_st *stream, atomic_int *gate)
{
    atomic_store(gate, 0);
    WANT(cu.cuLaunchHostFunc(stream, pass, gate), CUDA_OK);
}

#endif
