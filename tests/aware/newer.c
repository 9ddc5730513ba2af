/* Loaded behind libgpubind-aware, before an MPI that lacks them: the functions of MPI 4.1 that ask for the statuses
 * of lists of requests. */
#include <mpi.h>

#if MPI_VERSION < 4 || (MPI_VERSION == 4 && MPI_SUBVERSION < 1)
#define BOTH(name, parameters) \
    int name parameters;       \
    int P##name parameters;
BOTH(MPI_Request_get_status_all,
     (int n, const MPI_Request requests[], int *flag, MPI_Status statuses[]))
BOTH(MPI_Request_get_status_any,
     (int n, const MPI_Request requests[], int *which, int *flag, MPI_Status *status))
BOTH(MPI_Request_get_status_some,
     (int n, const MPI_Request requests[], int *nended, int which[], MPI_Status statuses[]))

static MPI_Status *status_of(MPI_Status statuses[], int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

int MPI_Request_get_status_all(int n, const MPI_Request requests[], int *flag,
                               MPI_Status statuses[])
{
    int result = MPI_SUCCESS;

    *flag = 1;
    for (int i = 0; i < n && *flag && result == MPI_SUCCESS; i++)
        result = PMPI_Request_get_status(requests[i], flag, status_of(statuses, i));
    return result;
}

int MPI_Request_get_status_any(int n, const MPI_Request requests[], int *which, int *flag,
                               MPI_Status *status)
{
    int result = MPI_SUCCESS, nactive = 0;

    *flag = 0;
    for (int i = 0; i < n && !*flag && result == MPI_SUCCESS; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        nactive++;
        *which = i;
        result = PMPI_Request_get_status(requests[i], flag, status);
    }
    if (!*flag)
        *which = MPI_UNDEFINED;
    *flag |= nactive == 0;
    return result;
}

int MPI_Request_get_status_some(int n, const MPI_Request requests[], int *nended, int which[],
                                MPI_Status statuses[])
{
    int result = MPI_SUCCESS, nactive = 0;

    *nended = 0;
    for (int i = 0; i < n && result == MPI_SUCCESS; i++) {
        int flag = 0;

        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        nactive++;
        result = PMPI_Request_get_status(requests[i], &flag, status_of(statuses, *nended));
        if (flag)
            which[(*nended)++] = i;
    }
    if (nactive == 0)
        *nended = MPI_UNDEFINED;
    return result;
}

int PMPI_Request_get_status_all(int n, const MPI_Request requests[], int *flag,
                                MPI_Status statuses[])
{
    return MPI_Request_get_status_all(n, requests, flag, statuses);
}

int PMPI_Request_get_status_any(int n, const MPI_Request requests[], int *which, int *flag,
                                MPI_Status *status)
{
    return MPI_Request_get_status_any(n, requests, which, flag, status);
}

int PMPI_Request_get_status_some(int n, const MPI_Request requests[], int *nended, int which[],
                                 MPI_Status statuses[])
{
    return MPI_Request_get_status_some(n, requests, nended, which, statuses);
}
#else
extern int nothing_is_missing;
#endif
