/* Distributed arrays: which elements of the whole a process has. */
#ifndef GPUBIND_MPI_DATATYPE_TYPE_DARRAY_H
#define GPUBIND_MPI_DATATYPE_TYPE_DARRAY_H

#include <mpi.h>

/* Calls take for each row of elements that lie together, in the order of the type map: its
 * first element in the whole array, and how many there are. It returns 0 to go on. integers:
 * those of MPI_Type_get_contents. The last answer, or -1: no memory, or no such array. */
int type_darray_rows(const int *integers, int (*take)(void *argument, MPI_Aint first, int n),
                     void *argument);

#endif
