/* What the kernels of the simulated driver do. */
#ifndef GPUBIND_TESTS_SIM_KERNELS_H
#define GPUBIND_TESTS_SIM_KERNELS_H

#include "tests/sim/sim.h"

#pragma GCC visibility push(hidden)

/* ---- exchanges.c: both copy the job */

void launch_exchange(const void *job, unsigned blocks, struct CUstream_st *stream);
void launch_layout(const void *job, unsigned blocks, struct CUstream_st *stream);

/* ---- gathers.c */

void launch_gather(const void *job, unsigned blocks, struct CUstream_st *stream);

#pragma GCC visibility pop

#endif
