/* Distributed arrays: the elements that one process has. */
#ifndef GPUBIND_MPI_DATATYPE_TYPE_DARRAY_H
#define GPUBIND_MPI_DATATYPE_TYPE_DARRAY_H

#include <mpi.h>

/* Calls take for each contiguous row of elements, in the order of the type map, with its first
 * element in the whole array and its length, until take returns other than 0. integers: those of
 * MPI_Type_get_contents. Returns what take returned last, or -1: out of memory, or no valid
 * distribution. */
int type_darray_rows(const MPI_Count *integers,
                     int (*take)(void *argument, MPI_Aint first, MPI_Count n), void *argument);

#endif
