#include "tests/mpi/in_way.h"

void pass_mapped(const struct buffer *buffer)
{
    const int nbytes = (int)buffer->nbytes;
    gpubind_request request;

    if (job.rank == 0)
        succeeds(gpubind_isend(buffer->at, nbytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request),
                 "isend");
    job_barrier(); /* the send is first: the receiver maps */
    if (job.rank == 0)
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    else
        succeeds(MPI_GPURecv(buffer->at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
}

void expect_mapped(int least)
{
    int (*mappings)(void) = NULL;

    *(void **)&mappings = simulator_function("gpubind_sim_open_mappings");
    expect(!mappings || mappings() >= least, "%d mappings", mappings ? mappings() : 0);
}

char *map_and_free(int n, int nbytes)
{
    struct buffer old[MAPPED_MOST];
    char *at;

    for (int i = 0; i < n; i++) {
        need_filled(&old[i], MEMORY_DEVICE, (size_t)nbytes, 5);
        pass_mapped(&old[i]);
    }
    if (job.rank == 1)
        expect_mapped(n);
    job_barrier();
    at = old[n - 1].at;
    for (int i = 0; i < n; i++)
        buffer_clear(&old[i]);
    return at;
}
