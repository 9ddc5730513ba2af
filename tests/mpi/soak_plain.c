/* MPI's own calls between the soak's: messages under way must move in them, and neither
 * kind meets the other. */
#include <sched.h>

#include "tests/mpi/soak.h"

enum { NUMBERS = 3000 };

static int sent[NUMBERS], got[NUMBERS];

static void fill(int n, int value)
{
    for (int i = 0; i < n; i++)
        sent[i] = value + i;
}

static void holds(int n, int value, const char *what)
{
    int wrong = 0;

    for (int i = 0; i < n; i++)
        wrong += got[i] != value + i;
    is_int(wrong, 0, what);
}

static void collective(uint64_t *state, int way)
{
    const int root = below(state, job.size), n = 1 + below(state, NUMBERS);
    MPI_Request request;
    int flag = 0;

    fill(n, 7 * n);
    if (way == 0) {
        MPI_Barrier(job.plain);
    } else if (way == 1) {
        MPI_Allreduce(sent, got, n, MPI_INT, MPI_MAX, job.plain);
        holds(n, 7 * n, "MPI_Allreduce");
    } else if (way == 2) {
        for (int i = 0; i < n; i++)
            got[i] = job.rank == root ? sent[i] : 0;
        MPI_Bcast(got, n, MPI_INT, root, job.plain);
        holds(n, 7 * n, "MPI_Bcast");
    } else {
        MPI_Ibarrier(job.plain, &request);
        while (way == 3 && !flag) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            sched_yield();
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void shift(uint64_t *state, int way)
{
    const int by = below(state, job.size), n = 1 + below(state, NUMBERS);
    const int to = (job.rank + by) % job.size, from = (job.rank + job.size - by) % job.size;
    MPI_Request requests[2];
    MPI_Status status;

    fill(n, 1000 * job.rank);
    if (way == 5) {
        MPI_Sendrecv(sent, n, MPI_INT, to, 5, got, n, MPI_INT, from, 5, job.plain,
                     MPI_STATUS_IGNORE);
    } else if (way == 6) {
        MPI_Irecv(got, n, MPI_INT, from, 6, job.plain, &requests[0]);
        MPI_Isend(sent, n, MPI_INT, to, 6, job.plain, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Isend(sent, n, MPI_INT, to, 7, job.plain, &requests[0]);
        MPI_Probe(from, 7, job.plain, &status);
        MPI_Recv(got, n, MPI_INT, from, 7, job.plain, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    holds(n, 1000 * from, "a message of MPI");
}

void soak_plain_call(uint64_t *state)
{
    const int way = below(state, 8);

    if (way < 5)
        collective(state, way);
    else
        shift(state, way);
}
