/* Which of an MPI's types and operations the reduction kernel and NCCL know. Any thread may call these. */
#ifndef GPUBIND_AWARE_REDUCTIONS_H
#define GPUBIND_AWARE_REDUCTIONS_H

#include <mpi.h>
#include <stdbool.h>

#include "gpu/reduce/reduce.h"

/* Integers and real numbers, by their size. false: the type has others, or is none of the MPI's. */
bool reduction_type_of(MPI_Datatype type, enum reduce_type *found);
/* What the kernel computes for a predefined type and operation, bit by bit as the MPI does: but for the bits of
 * a NaN, and for minima and maxima of NaN and of zeros of two signs where the MPI itself has several ways. An
 * element of the type may be two of the kernel's. false: the MPI is to compute it. The first call compares
 * both. */
bool reduction_of(struct reduction *found, MPI_Datatype type, MPI_Op op);

#endif
