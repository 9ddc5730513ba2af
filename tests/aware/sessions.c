/* GPU memory in a program that starts MPI by a session alone, and so has no MPI_COMM_WORLD and no MPI_COMM_SELF. Rank 0
 * of the communicator prints the results. */
#include <mpi.h>

#include "examples/device.h"
#include "tests/tap.h"

#if MPI_VERSION >= 4
enum { N = 20000 };

static MPI_Comm comm;
static int rank, size;
static int host[N];

static void tell(int good, const char *what)
{
    int all;

    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, comm);
    if (rank == 0)
        tap_ok(all, "%s", what);
}

static void ring(int *out, int *in)
{
    const int last = (rank + size - 1) % size;
    MPI_Request requests[2];
    int wrong = 0;

    for (int i = 0; i < N; i++)
        host[i] = rank + i;
    device_write(out, host, sizeof host);
    MPI_Irecv(in, N, MPI_INT, last, 0, comm, &requests[0]);
    MPI_Isend(out, N, MPI_INT, (rank + 1) % size, 0, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    device_read(host, in, sizeof host);
    for (int i = 0; i < N; i++)
        wrong += host[i] != last + i;
    tell(!wrong, "messages");
}

/* A function that has no communicator's error handler to call. */
static void error(const int *out, void *in)
{
    MPI_Aint at = 0;
    int class;

    MPI_Error_class(MPI_Pack_external("external32", out, N, MPI_INT, in, 10, &at), &class);
    tell(class == MPI_ERR_TRUNCATE, "an error without a communicator");
}

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    int *out, *in;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "gpubind", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    device_start();
    out = device_alloc(sizeof host);
    in = device_alloc(sizeof host);
    ring(out, in);
    error(out, in);
    device_free(out);
    device_free(in);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    return rank ? 0 : tap_done();
}
#else
int main(void)
{
    int rank;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        tap_skip("sessions", "not in this MPI");
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
#endif
