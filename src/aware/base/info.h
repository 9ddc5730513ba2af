/* Info objects. */
#ifndef GPUBIND_AWARE_INFO_H
#define GPUBIND_AWARE_INFO_H

#include <mpi.h>
#include <stdbool.h>

/* false: the key is not there, and value is as it was; info may be MPI_INFO_NULL. */
bool info_get(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL + 1]);

#endif
