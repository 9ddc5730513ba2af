/* The calls that programs for MPI know beside send and receive: synchronous sends, a buffer that
 * is replaced, messages that are taken before they are received, lists of requests, and
 * requests that are given up.
 *
 *     mpicc as_in_mpi.c -o as_in_mpi $(pkg-config --cflags --libs gpubind)
 *     mpirun -np 4 gpubind ./as_in_mpi
 */
#include <gpubind.h>
#include <mpi.h>
#include <stdio.h>

#include "device.h"

enum { N = 1000, PARTS = 4 };

static int rank, left, right; /* neighbours in the ring */
static int wrong;
static int *gpu; /* PARTS times N numbers */

static int *part(int i)
{
    return gpu + i * N;
}

static void fill(int *to, int value)
{
    int host[N];

    for (int i = 0; i < N; i++)
        host[i] = value;
    device_write(to, host, sizeof host);
}

static void is_full_of(const int *from, int value)
{
    int host[N];

    device_read(host, from, sizeof host);
    for (int i = 0; i < N; i++)
        wrong += host[i] != value;
}

/* Everybody passes its numbers on, and has those of its left neighbour in their place. */
static void replace(void)
{
    fill(part(0), rank);
    gpubind_sendrecv_replace(part(0), N, MPI_INT, right, 0, left, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    is_full_of(part(0), left);
    gpubind_sendrecv_replace_c(part(0), N, MPI_INT, left, 0, right, 0, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE);
    is_full_of(part(0), rank);
}

/* Rank 0 knows, when its sends are over, that rank 1 receives them. */
static void synchronous(void)
{
    gpubind_request requests[2];

    fill(part(0), 7);
    if (rank == 0) {
        gpubind_issend(part(0), N, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);
        gpubind_issend_c(part(0), N, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[1]);
        gpubind_waitall(2, requests, MPI_STATUSES_IGNORE);
        gpubind_ssend(part(0), N, MPI_INT, 1, 3, MPI_COMM_WORLD);
        gpubind_ssend_c(part(0), N, MPI_INT, 1, 4, MPI_COMM_WORLD);
    }
    for (int tag = 1; tag <= 4 && rank == 1; tag++) {
        MPI_GPURecv(part(1), N, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        is_full_of(part(1), 7);
    }
}

/* Rank 1 takes four messages as they come: no other thread of it could get them between
 * the call that tells their sizes and the one that receives them. */
static void take(void)
{
    gpubind_matched matched;
    gpubind_request request;
    struct gpubind_message message;
    int there = 0;

    for (int i = 0; i < 4 && rank == 0; i++)
        MPI_GPUSend(part(0), N - i, MPI_INT, 1, 5, MPI_COMM_WORLD);
    if (rank != 1)
        return;
    gpubind_mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &matched, &message);
    gpubind_mrecv(part(0), (int)message.count, message.type, &matched, MPI_STATUS_IGNORE);
    gpubind_mprobe(0, 5, MPI_COMM_WORLD, &matched, &message);
    gpubind_mrecv_c(part(1), message.count, message.type, &matched, MPI_STATUS_IGNORE);
    wrong += message.count != N - 1;
    while (!there)
        gpubind_improbe(0, 5, MPI_COMM_WORLD, &there, &matched, &message);
    gpubind_imrecv(part(2), N, MPI_INT, &matched, &request);
    gpubind_wait(&request, MPI_STATUS_IGNORE);
    gpubind_mprobe(0, 5, MPI_COMM_WORLD, &matched, NULL);
    gpubind_imrecv_c(part(3), N, MPI_INT, &matched, &request);
    gpubind_wait(&request, MPI_STATUS_IGNORE);
}

static void post(gpubind_request receives[PARTS])
{
    for (int i = 0; i < PARTS; i++)
        gpubind_irecv(part(i), N, MPI_INT, left, i, MPI_COMM_WORLD, &receives[i]);
}

/* Of an active send: it comes all the same. */
static void send_and_forget(const int *from)
{
    gpubind_request request;

    for (int i = 0; i < PARTS; i++) {
        gpubind_isend(from, N, MPI_INT, right, i, MPI_COMM_WORLD, &request);
        gpubind_request_free(&request);
    }
}

/* The same four receives, ended in four ways. */
static void lists(const int *from)
{
    gpubind_request receives[PARTS];
    MPI_Status statuses[PARTS];
    int flag = 0, index, n, indices[PARTS];

    post(receives);
    send_and_forget(from);
    while (!flag)
        gpubind_request_get_status(receives[0], &flag, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
        gpubind_testall(PARTS, receives, &flag, statuses);

    post(receives);
    send_and_forget(from);
    do {
        gpubind_waitsome(PARTS, receives, &n, indices, statuses);
        for (int i = 0; i < n && n != MPI_UNDEFINED; i++)
            is_full_of(part(indices[i]), left);
    } while (n != MPI_UNDEFINED);

    post(receives);
    send_and_forget(from);
    do
        gpubind_testsome(PARTS, receives, &n, indices, MPI_STATUSES_IGNORE);
    while (n != MPI_UNDEFINED);

    post(receives);
    send_and_forget(from);
    do
        gpubind_testany(PARTS, receives, &index, &flag, MPI_STATUS_IGNORE);
    while (!flag || index != MPI_UNDEFINED);
    is_full_of(part(PARTS - 1), left);
}

/* A receive that nobody sends to any more. */
static void give_up(void)
{
    gpubind_request receive;
    MPI_Status status;
    int cancelled;

    gpubind_irecv(part(0), N, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &receive);
    gpubind_cancel(&receive);
    gpubind_wait(&receive, &status);
    MPI_Test_cancelled(&status, &cancelled);
    wrong += !cancelled;
}

/* Set up once, with counts that may be above 2^31. */
static void set_up(int *from)
{
    gpubind_request both[2];

    gpubind_recv_init_c(part(0), N, MPI_INT, left, 6, MPI_COMM_WORLD, &both[0]);
    gpubind_send_init_c(from, N, MPI_INT, right, 6, MPI_COMM_WORLD, &both[1]);
    gpubind_startall(2, both);
    gpubind_waitall(2, both, MPI_STATUSES_IGNORE);
    is_full_of(part(0), left);
    gpubind_request_free(&both[0]);
    gpubind_request_free(&both[1]);
}

int main(int argc, char **argv)
{
    void *memory, *mine;
    int size, all_wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    device_start();
    gpubind_alloc(&memory, PARTS * N * sizeof *gpu);
    gpubind_alloc(&mine, N * sizeof *gpu);
    gpu = memory;
    fill(mine, rank);

    replace();
    synchronous();
    take();
    lists(mine);
    give_up();
    set_up(mine);
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %d numbers are wrong\n", size, all_wrong);
    gpubind_free(mine);
    gpubind_free(memory);
    MPI_Finalize();
    return all_wrong > 0;
}
