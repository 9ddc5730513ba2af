/* Loaded behind libgpubind-aware: after MPI_Pcontrol(1) the next function that completes requests fails, and leaves
 * them active, as an MPI with fault tolerance does where a process has failed that may have been the source. */
#include <dlfcn.h>
#include <mpi.h>

#if defined MPI_ERR_PROC_FAILED_PENDING
#define CODE MPI_ERR_PROC_FAILED_PENDING
#elif defined MPIX_ERR_PROC_FAILED_PENDING
#define CODE MPIX_ERR_PROC_FAILED_PENDING
#else
#define CODE MPI_ERR_OTHER
#endif

static int armed;

int MPI_Pcontrol(const int level, ...)
{
    armed = level;
    return MPI_SUCCESS;
}

static int fails(void)
{
    const int was_armed = armed;

    armed = 0;
    return was_armed;
}

/* As the next call of one of the others. */
int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    static int (*behind)(MPI_Request, int *, MPI_Status *);

    if (!behind)
        *(void **)&behind = dlsym(RTLD_NEXT, "PMPI_Request_get_status");
    return armed ? CODE : behind(request, flag, status);
}

static int fail_all(int n, MPI_Status statuses[])
{
    for (int i = 0; i < n; i++)
        statuses[i].MPI_ERROR = CODE;
    return MPI_ERR_IN_STATUS;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    return fails() ? CODE : PMPI_Wait(request, status);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    *flag = 0;
    return fails() ? CODE : PMPI_Test(request, flag, status);
}

int MPI_Waitany(int n, MPI_Request requests[], int *which, MPI_Status *status)
{
    *which = 0;
    return fails() ? CODE : PMPI_Waitany(n, requests, which, status);
}

int MPI_Testany(int n, MPI_Request requests[], int *which, int *flag, MPI_Status *status)
{
    *which = 0;
    *flag = 1;
    return fails() ? CODE : PMPI_Testany(n, requests, which, flag, status);
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    return fails() ? fail_all(n, statuses) : PMPI_Waitall(n, requests, statuses);
}

int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    *flag = 0;
    return fails() ? fail_all(n, statuses) : PMPI_Testall(n, requests, flag, statuses);
}

int MPI_Waitsome(int n, MPI_Request requests[], int *nended, int which[], MPI_Status statuses[])
{
    *nended = 1;
    which[0] = 0;
    return fails() ? fail_all(1, statuses) : PMPI_Waitsome(n, requests, nended, which, statuses);
}

int MPI_Testsome(int n, MPI_Request requests[], int *nended, int which[], MPI_Status statuses[])
{
    *nended = 1;
    which[0] = 0;
    return fails() ? fail_all(1, statuses) : PMPI_Testsome(n, requests, nended, which, statuses);
}
