/* NVTX: a library's calls as ranges in the time line of a profiler (Nsight Systems, Nsight Compute), in a domain
 * of the name gpubind. The profiler names its tool in NVTX_INJECTION64_PATH; what NVTX's headers do with it at their
 * first call is done here, so that nobody needs them to build the library. The program's own NVTX starts the same
 * tool once more, for itself. */
#ifndef GPUBIND_MPI_BASE_NVTX_PART_H
#define GPUBIND_MPI_BASE_NVTX_PART_H

#include <stdbool.h>

#include "core/base/error.h"

/* There is a tool that wants ranges. From then on it stays so. */
extern bool nvtx_part_is_on;

#define NVTX_NOBODY (-1)

/* 1: it is on; 0: no tool is asked for; -1: there is none all the same, and a sentence says why. */
int nvtx_part_open(struct gpubind_error *err);
/* A call begins in this thread. peer: the other rank, as the call names it; negative: it names none. It is on. */
void nvtx_part_push(const char *name, int peer);
/* The latest call of this thread that has begun, if there is one, ends. */
void nvtx_part_pop(void);

#endif
