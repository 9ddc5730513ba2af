#include "aware/base/info.h"

#include "aware/base/next.h"

/* Open MPI 5 has both functions, and Open MPI 4 the older one: a library built for 5 serves programs of 4. */
#if defined AWARE_MPI_4 && !defined OPEN_MPI
/* The program's MPI may be older than mpi.h (src/mpi/datatype/type_contents.c). */
#if defined GPUBIND_MPI_OF_PROGRAM && defined PIC
#pragma weak PMPI_Info_get_string
#endif
static bool get_string(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL + 1], int *found)
{
    int size = MPI_MAX_INFO_VAL + 1, version = 0, subversion;

    PMPI_Get_version(&version, &subversion);
    if (version < 4)
        return false;
    PMPI_Info_get_string(info, key, &size, value, found);
    return true;
}
#else
static bool get_string(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL + 1], int *found)
{
    (void)info, (void)key, (void)value, (void)found;
    return false;
}
#endif

bool info_get(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL + 1])
{
    int found = 0;

    if (info != MPI_INFO_NULL && !get_string(info, key, value, &found))
        PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    return found;
}
