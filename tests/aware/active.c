/* Receives of GPU memory whose completion fails, and which are active nevertheless (failing.c): they are still to get
 * their message. Rank 0 prints the results. */
#include <mpi.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

enum { N = 5000, TAG = 3 };
static char *out, *in; /* of the GPU */
static char bytes[N];

static void expect(bool good, const char *what)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s", rank, what);
}

static int wait_one(MPI_Request *request)
{
    return MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int test_one(MPI_Request *request)
{
    int flag = 0, result = MPI_SUCCESS;

    while (!flag && result == MPI_SUCCESS)
        result = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    return result;
}

static int wait_any(MPI_Request *request)
{
    int which;

    return MPI_Waitany(1, request, &which, MPI_STATUS_IGNORE);
}

static int wait_all(MPI_Request *request)
{
    MPI_Status status;

    return MPI_Waitall(1, request, &status);
}

static int wait_some(MPI_Request *request)
{
    int nended, which[1];
    MPI_Status status;

    return MPI_Waitsome(1, request, &nended, which, &status);
}

static const struct {
    const char *name;
    int (*complete)(MPI_Request *request);
} functions[] = {{"MPI_Wait", wait_one},
                 {"MPI_Test", test_one},
                 {"MPI_Waitany", wait_any},
                 {"MPI_Waitall", wait_all},
                 {"MPI_Waitsome", wait_some}};

static void receive(int (*complete)(MPI_Request *request), int source)
{
    MPI_Request request;
    MPI_Request sent;

    memset(bytes, 0x70, N);
    device_write(in, bytes, N);
    memset(bytes, rank + 1, N);
    device_write(out, bytes, N);
    MPI_Irecv(in, N, MPI_CHAR, source, TAG, MPI_COMM_WORLD, &request);
    MPI_Pcontrol(1);
    expect(complete(&request) != MPI_SUCCESS, "the first call is an error");
    expect(request != MPI_REQUEST_NULL, "the request is active");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(out, N, MPI_CHAR, (rank + 1) % size, TAG, MPI_COMM_WORLD, &sent);
    expect(complete(&request) == MPI_SUCCESS, "the second one is not");
    device_read(bytes, in, N);
    for (int i = 0; i < N; i++)
        expect(bytes[i] == (rank + size - 1) % size + 1, "the message");
    PMPI_Wait(&sent, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    device_start();
    out = device_alloc(N);
    in = device_alloc(N);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        receive(functions[i].complete, i % 2 ? MPI_ANY_SOURCE : (rank + size - 1) % size);
        result(functions[i].name);
    }
    device_free(out);
    device_free(in);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
