/* small, small early: small messages of GPU memory, also into a receive that was posted before the process had
 * any. The receive is there before the message, so that it goes directly where it may. */
#include <mpi.h>
#include <string.h>

#include "examples/device.h"
#include "tests/tap.h"

enum { ROUNDS = 20, MOST = 3600, TAG = 3 };

static const int sizes[] = {8, 9, 64, 1000, 1551, 1553, 3567, 3583, 3584};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int rank, wrong;

static unsigned char byte_of(int n, int round, int i)
{
    return (unsigned char)(n * 7 + round * 31 + i);
}

static void fill(unsigned char *bytes, int n, int round)
{
    for (int i = 0; i < n; i++)
        bytes[i] = byte_of(n, round, i);
}

static void compare(const unsigned char *bytes, int n, int round)
{
    for (int i = 0; i < n; i++)
        wrong += bytes[i] != byte_of(n, round, i);
}

static void send_one(void *gpu, int n, int round)
{
    unsigned char bytes[MOST];

    fill(bytes, n, round);
    device_write(gpu, bytes, (size_t)n);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(gpu, n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
}

/* Into GPU and host memory in turn. */
static void receive_one(void *gpu, int n, int round)
{
    unsigned char bytes[MOST];
    void *to = round % 2 ? gpu : bytes;
    MPI_Request request;
    MPI_Status status;
    int count = 0;

    memset(bytes, 0, sizeof bytes);
    device_write(gpu, bytes, sizeof bytes);
    MPI_Irecv(to, MOST, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    wrong += count != n;
    if (to == gpu)
        device_read(bytes, gpu, (size_t)n);
    compare(bytes, n, round);
}

static void pass_all(void *gpu)
{
    for (int i = 0; i < SIZES; i++)
        for (int round = 0; round < ROUNDS; round++)
            (rank == 0 ? send_one : receive_one)(gpu, sizes[i], round);
}

/* The receive of an early message, and whatever its first bytes are. */
static void pass_early(MPI_Request *early, const unsigned char *bytes, void *gpu)
{
    if (rank == 0) {
        unsigned char mine[MOST];

        fill(mine, sizes[0], 77);
        device_write(gpu, mine, sizeof mine);
        MPI_Send(gpu, sizes[0], MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD);
    } else {
        MPI_Wait(early, MPI_STATUS_IGNORE);
        compare(bytes, sizes[0], 77);
    }
}

int main(int argc, char **argv)
{
    const int early = argc > 1 && strcmp(argv[1], "early") == 0;
    unsigned char bytes[8] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    int all = 0;
    void *gpu;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (early && rank == 1)
        MPI_Irecv(bytes, sizes[0], MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD, &request);
    device_start();
    gpu = device_alloc(MOST);
    pass_all(gpu);
    if (early)
        pass_early(&request, bytes, gpu);
    device_free(gpu);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        tap_is_int(all, 0,
                   early ? "bytes that are wrong, with an early receive" : "bytes that are wrong");
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
