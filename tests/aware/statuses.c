/* MPI_Request_get_status_all, _any and _some of messages of GPU memory: no other function of MPI is called until they
 * say that the messages are complete, and then the data is there. Rank 0 prints the results. */
#include <mpi.h>
#include <unistd.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#if MPI_VERSION < 4 || (MPI_VERSION == 4 && MPI_SUBVERSION < 1)
int MPI_Request_get_status_all(int n, const MPI_Request requests[], int *flag,
                               MPI_Status statuses[]);
int MPI_Request_get_status_any(int n, const MPI_Request requests[], int *which, int *flag,
                               MPI_Status *status);
int MPI_Request_get_status_some(int n, const MPI_Request requests[], int *nended, int which[],
                                MPI_Status statuses[]);
#endif

enum { N = 5000, ROOM = 6000, TAG = 3, MANY = 100 };
static int next, before;
static char *out, *in; /* of the GPU */
static char bytes[ROOM];
static MPI_Request requests[2]; /* the receive, the send */

static void expect(bool good, const char *what)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s", rank, what);
}

static void fill(char *gpu, int byte)
{
    memset(bytes, byte, ROOM);
    device_write(gpu, bytes, ROOM);
}

static void expect_data(void)
{
    device_read(bytes, in, ROOM);
    for (int i = 0; i < ROOM; i++)
        expect(bytes[i] == (i < N ? before + 1 : 0x70), "the message");
}

static void expect_message(const MPI_Status *status)
{
    int count = 0;

    expect_data();
    MPI_Get_count(status, MPI_CHAR, &count);
    expect(count == N && status->MPI_SOURCE == before, "its status");
}

static void begin(void)
{
    fill(out, rank + 1);
    fill(in, 0x70);
    MPI_Irecv(in, ROOM, MPI_CHAR, before, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Issend(out, N, MPI_CHAR, next, TAG, MPI_COMM_WORLD, &requests[1]);
}

static void end(void)
{
    MPI_Status statuses[2];

    expect(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL,
           "the requests are still there");
    MPI_Waitall(2, requests, statuses);
    expect_message(&statuses[0]);
}

static void all(void)
{
    MPI_Status statuses[2];
    int flag = 0;

    begin();
    while (!flag)
        MPI_Request_get_status_all(2, requests, &flag, statuses);
    expect_message(&statuses[0]);
    end();
    result("MPI_Request_get_status_all");
}

static void any(void)
{
    MPI_Status status;
    int flag = 0, which = 0;

    begin();
    while (!flag)
        MPI_Request_get_status_any(1, &requests[0], &which, &flag, &status);
    expect(which == 0, "the index of the receive");
    expect_message(&status);
    for (flag = 0; !flag;)
        MPI_Request_get_status_any(1, &requests[1], &which, &flag, MPI_STATUS_IGNORE);
    end();
    result("MPI_Request_get_status_any");
}

/* One by one: MPICH 5.0.2 makes no progress where one is complete. */
static void some(void)
{
    MPI_Status status;
    int nended = 0, which = 1;

    begin();
    while (nended == 0)
        MPI_Request_get_status_some(1, &requests[0], &nended, &which, &status);
    expect(nended == 1 && which == 0, "the index of the receive");
    expect_message(&status);
    for (nended = 0; nended == 0;)
        MPI_Request_get_status_some(1, &requests[1], &nended, &which, MPI_STATUSES_IGNORE);
    MPI_Request_get_status_some(2, requests, &nended, (int[2]){0}, MPI_STATUSES_IGNORE);
    expect(nended == 2, "both");
    end();
    result("MPI_Request_get_status_some");
}

static void many(void)
{
    MPI_Request list[MANY];
    int flag = 0;

    for (int i = 0; i < MANY; i++)
        list[i] = MPI_REQUEST_NULL;
    begin();
    list[MANY - 1] = requests[0];
    list[7] = requests[1];
    while (!flag)
        MPI_Request_get_status_all(MANY, list, &flag, MPI_STATUSES_IGNORE);
    end();
    result("a long list, without statuses");
}

/* MPICH 5.0.2 gives the status of each once, even while the others are not complete. */
static void persistent(void)
{
    MPI_Recv_init(in, ROOM, MPI_CHAR, before, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Ssend_init(out, N, MPI_CHAR, next, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 2; round++) {
        int flag = 0;

        fill(out, rank + 1);
        fill(in, 0x70);
        MPI_Start(&requests[1]);
        for (int i = 0; i < 20; i++) {
            MPI_Request_get_status_all(1, &requests[1], &flag, MPI_STATUSES_IGNORE);
            expect(!flag, "a send that nobody receives is active");
            usleep(1000);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Start(&requests[0]);
        while (!flag)
            MPI_Request_get_status_all(2, requests, &flag, MPI_STATUSES_IGNORE);
        expect_data();
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    result("persistent requests");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    device_start();
    out = device_alloc(ROOM);
    in = device_alloc(ROOM);
    all();
    any();
    some();
    many();
    persistent();
    device_free(out);
    device_free(in);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
