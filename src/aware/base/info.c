#include "aware/base/info.h"

#include "aware/base/next.h"

bool info_get(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL + 1])
{
    int found = 0;

#ifdef AWARE_MPI_4
    int size = MPI_MAX_INFO_VAL + 1;

    if (info != MPI_INFO_NULL)
        PMPI_Info_get_string(info, key, &size, value, &found);
#else
    if (info != MPI_INFO_NULL)
        PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
#endif
    return found;
}
