/* lost, found or late: rank 0 sends messages of GPU memory to rank 1, which has not looked for its process before.
 * lost: it does not find it (refuse_connect.c), and the first message, which went directly, is an error. found: all
 * come. late: rank 0 is in MPI_Finalize by then. Rank 1 prints the results. */
#include <mpi.h>
#include <unistd.h>

#include "examples/device.h"
#include "tests/tap.h"

enum { TAG = 3, MOST = 100000 };

static const int sizes[] = {MOST, 1000, 5000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static char bytes[MOST];

/* From now on, rank 0 knows that rank 1 takes direct messages, large and small ones. */
static void prepare(int rank)
{
    if (rank == 0)
        MPI_Send(bytes, MOST, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(bytes, MOST, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The send ends, whatever comes of it, before the next message is made. */
static void send_all(char *gpu, bool late, int first)
{
    MPI_Request request;

    for (int i = 0; i < SIZES; i++) {
        const int n = sizes[(i + first) % SIZES];

        memset(bytes, i + 1, MOST);
        device_write(gpu, bytes, MOST);
        MPI_Isend(gpu, n, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &request);
        if (late) {
            MPI_Request_free(&request);
            return;
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static bool has_come(int n, int byte)
{
    for (int i = 0; i < n; i++)
        if (bytes[i] != byte)
            return false;
    return true;
}

static void receive_all(bool lost, bool late, int first)
{
    for (int i = 0; i < (late ? 1 : SIZES); i++) {
        const int n = sizes[(i + first) % SIZES];
        int code, class = MPI_SUCCESS;

        memset(bytes, 0x70, MOST);
        if (late)
            usleep(500000);
        code = MPI_Recv(bytes, MOST, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS)
            MPI_Error_class(code, &class);
        if (lost && i == 0)
            tap_ok(class == MPI_ERR_OTHER, "a message of %d bytes is an error", n);
        else
            tap_ok(class == MPI_SUCCESS && has_come(n, i + 1), "a message of %d bytes", n);
        if (!late)
            MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* lost|found|late, and which of the sizes is the first. */
int main(int argc, char **argv)
{
    const bool lost = argc > 2 && strcmp(argv[1], "lost") == 0;
    const bool late = argc > 2 && strcmp(argv[1], "late") == 0;
    const int first = argc > 2 ? atoi(argv[2]) : 0;
    int rank;
    char *gpu;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    device_start();
    gpu = device_alloc(MOST);
    prepare(rank);
    if (rank == 0)
        send_all(gpu, late, first);
    else
        receive_all(lost, late, first);
    MPI_Finalize();
    return rank ? tap_done() : 0;
}
