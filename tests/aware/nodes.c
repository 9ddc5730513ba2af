/* Which way messages and collective calls go between ranks of several nodes: within each node directly, between
 * them by MPI. With GPUBIND_VERBOSE=1 each rank tells how many of each; the test compares. */
#include <mpi.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

enum { ROUNDS = 5, NBYTES = 65536, TAG = 4 };

static unsigned char bytes[NBYTES];

static unsigned char byte_of(int from, int to, int round, int i)
{
    return (unsigned char)(from * 31 + to * 17 + round * 7 + i + i / 256);
}

/* So that all know that each has GPU memory. */
static void look_at_all(void)
{
    char nothing = 0, got;

    for (int i = 0; i < size; i++)
        MPI_Sendrecv(&nothing, 1, MPI_CHAR, (rank + i) % size, TAG, &got, 1, MPI_CHAR,
                     (rank + size - i) % size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void send_to(int to, int round, void *gpu)
{
    for (int i = 0; i < NBYTES; i++)
        bytes[i] = byte_of(rank, to, round, i);
    device_write(gpu, bytes, NBYTES);
    MPI_Send(gpu, NBYTES, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
}

static void receive_from(int from, int round, void *gpu)
{
    MPI_Recv(gpu, NBYTES, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    device_read(bytes, gpu, NBYTES);
    for (int i = 0; i < NBYTES; i++)
        wrong += bytes[i] != byte_of(from, rank, round, i);
}

/* From each rank to each other one. */
/* One message of each rank, which MPI carries, and none. */
static void exchange(void *gpu)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;

    for (int i = 0; i < NBYTES; i++)
        bytes[i] = byte_of(rank, to, ROUNDS, i);
    device_write(gpu, bytes, NBYTES);
    MPI_Sendrecv_replace(gpu, NBYTES, MPI_BYTE, to, 0, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(gpu, NBYTES, MPI_BYTE, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    device_read(bytes, gpu, NBYTES);
    for (int i = 0; i < NBYTES; i++)
        wrong += bytes[i] != byte_of(from, rank, ROUNDS, i);
}

static void messages(void *gpu)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int from = 0; from < size; from++)
            for (int to = 0; to < size; to++) {
                if (rank == from && from != to)
                    send_to(to, round, gpu);
                if (rank == to && from != to)
                    receive_from(from, round, gpu);
            }
    exchange(gpu);
    result("messages from each rank to each other one");
}

static void broadcasts(MPI_Comm comm, void *gpu, const char *name)
{
    int there, nranks;

    MPI_Comm_rank(comm, &there);
    MPI_Comm_size(comm, &nranks);
    for (int root = 0; root < nranks; root++) {
        for (int i = 0; i < NBYTES; i++)
            bytes[i] = there == root ? byte_of(root, 0, 0, i) : 0;
        device_write(gpu, bytes, NBYTES);
        MPI_Bcast(gpu, NBYTES, MPI_BYTE, root, comm);
        device_read(bytes, gpu, NBYTES);
        for (int i = 0; i < NBYTES; i++)
            wrong += bytes[i] != byte_of(root, 0, 0, i);
    }
    result(name);
}

/* The kernel keeps a socket for each process that has looked for another one, until that lets it go. Each node
 * has a network of its own, and so lists its own sockets alone. */
static void sockets(MPI_Comm node)
{
    char line[256];
    int n = 0, here;
    FILE *list = fopen("/proc/net/unix", "r");

    MPI_Comm_size(node, &here);
    while (list && fgets(line, sizeof line, list))
        n += strstr(line, "@gpubind-aware/") != NULL;
    if (list)
        fclose(list);
    if (n != here && wrong++ == 0)
        tap_diag("rank %d: %d sockets for %d ranks", rank, n, here);
    result("each rank has one socket, and none of those that have looked for it");
}

int main(int argc, char **argv)
{
    MPI_Comm node;
    void *gpu;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    gpu = device_alloc(NBYTES);
    look_at_all();
    if (argc > 1 && strcmp(argv[1], "messages") == 0)
        messages(gpu);
    if (argc > 1 && strcmp(argv[1], "broadcasts") == 0) {
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
        broadcasts(MPI_COMM_WORLD, gpu, "broadcasts on all nodes");
        broadcasts(node, gpu, "broadcasts within each node");
        sockets(node);
        MPI_Comm_free(&node);
    }
    device_free(gpu);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
