/* Calls of which a trace tells (GPUBIND_TRACE), on three ranks: what tests/aware/traced.py looks for. Each
 * message has a tag of its own. With an argument: that part alone. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "examples/device.h"

#define LARGE 65536
#define EACH 200
#define THREADS 4

static char *gpu, *host;
static int rank, size;

/* From rank 0 to rank 1. */
static void send(void *buf, int count, MPI_Datatype type, int tag)
{
    if (rank == 0)
        MPI_Send(buf, count, type, 1, tag, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(buf, count, type, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void messages(void)
{
    MPI_Datatype strided;

    MPI_Type_vector(LARGE / 1024, 512, 1024, MPI_BYTE, &strided);
    MPI_Type_commit(&strided);
    MPI_Sendrecv(host, 100 + rank, MPI_BYTE, (rank + 1) % size, 6, host + LARGE / 2, 200, MPI_BYTE,
                 (rank + size - 1) % size, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);    /* all have received, and may get direct messages */
    send(gpu, LARGE, MPI_BYTE, 1);  /* direct */
    send(gpu, 1, strided, 2);       /* packed */
    send(gpu, 1, MPI_INT, 3);       /* staged: too short */
    send(host, LARGE, MPI_BYTE, 4); /* plain */
    MPI_Type_free(&strided);
    if (rank == 0)
        MPI_Send(host, 1000, MPI_BYTE, MPI_PROC_NULL, 5, MPI_COMM_WORLD); /* nothing */
}

/* In a communicator with the ranks the other way round. */
static void requests(void)
{
    MPI_Comm other, gone;
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int there;

    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
    MPI_Comm_dup(other, &gone);
    MPI_Comm_rank(other, &there);
    if (there == 0) { /* the last one of MPI_COMM_WORLD */
        MPI_Isend(gpu, LARGE, MPI_BYTE, size - 1, 11, other, &request[0]);
        MPI_Isend(host, 12, MPI_BYTE, size - 1, 12, gone, &request[1]);
    } else if (there == size - 1) {
        MPI_Irecv(gpu, LARGE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &request[0]);
        MPI_Irecv(host, 100, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, gone, &request[1]);
    }
    MPI_Comm_free(&gone);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    if (there == 0) {
        MPI_Isend(host, 13, MPI_BYTE, size - 1, 13, other, &request[0]);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    } else if (there == size - 1) {
        MPI_Message message;

        MPI_Mprobe(MPI_ANY_SOURCE, 13, other, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(host, 100, MPI_BYTE, &message, &request[0]);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&other);
}

static void persistent(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    if (rank == 0)
        MPI_Send_init(gpu, LARGE, MPI_BYTE, 1, 21, MPI_COMM_WORLD, &request);
    if (rank == 1)
        MPI_Recv_init(host, LARGE, MPI_BYTE, MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 3 && rank < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank < 2)
        MPI_Request_free(&request);
    /* One is never received. */
    if (rank == 1) {
        MPI_Irecv(host, 1, MPI_BYTE, 0, 22, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void collectives(void)
{
    static const int counts[] = {1, 2, 3}, starts[] = {0, 1, 3};
    MPI_Request request;

    MPI_Bcast(gpu, LARGE, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(gpu, gpu + LARGE, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(host, host + LARGE / 2, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iallgather(host, 10, MPI_BYTE, host + LARGE / 2, 10, MPI_BYTE, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Alltoall(host, 8, MPI_BYTE, host + LARGE / 2, 8, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(host, host + LARGE / 2, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scatter(host, 10, MPI_BYTE, host + LARGE / 2, 10, MPI_BYTE, 1, MPI_COMM_WORLD);
    MPI_Scatterv(host, counts, starts, MPI_BYTE, host + LARGE / 2, counts[rank], MPI_BYTE, 2,
                 MPI_COMM_WORLD);
}

static void windows(void)
{
    MPI_Request request;
    MPI_Win win;
    int one = 1, before;

    MPI_Win_create(gpu, LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        MPI_Put(host, 100, MPI_BYTE, 1, 0, 100, MPI_BYTE, win);
        MPI_Rget(gpu + LARGE, 1000, MPI_BYTE, 2, 0, 1000, MPI_BYTE, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Fetch_and_op(&one, &before, MPI_INT, 1, 0, MPI_SUM, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void *send_many(void *number)
{
    const int tag = 100 + *(int *)number;

    for (int i = 0; i < EACH; i++) {
        MPI_Request request;

        if (rank == 0)
            MPI_Isend(host, i, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(host + LARGE / 2, EACH, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t ids[THREADS];
    int numbers[THREADS];

    for (int i = 0; i < THREADS && rank < 2; i++) {
        numbers[i] = i;
        pthread_create(&ids[i], NULL, send_many, &numbers[i]);
    }
    for (int i = 0; i < THREADS && rank < 2; i++)
        pthread_join(ids[i], NULL);
}

/* More than there is room for. */
static void many(void)
{
    for (int i = 0; i < 40000; i++)
        MPI_Sendrecv(host, 0, MPI_BYTE, 0, 1, host + 1, 0, MPI_BYTE, 0, 1, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
}

/* Its part of the trace is longer than a file may be. */
static void full(void)
{
    const struct rlimit most = {1000000, 1000000};

    many();
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &most);
}

/* Another run writes a part of the same name, which is longer. */
static void other(void)
{
    char name[4096];
    FILE *file;

    snprintf(name, sizeof name, "%s.%d", getenv("GPUBIND_TRACE"), rank);
    file = fopen(name, "w");
    for (int i = 0; i < 100000 && file; i++)
        fputc('{', file);
    if (file)
        fclose(file);
}

static double cpu_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* For measurements: 8 bytes of host memory, to itself, a message after the other. */
static void cost(void)
{
    const int n = 20000;
    double start = 0;

    for (int i = -n / 4; i < n; i++) {
        MPI_Request request;

        if (i == 0)
            start = cpu_seconds();
        MPI_Irecv(host, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &request);
        MPI_Send(host + 8, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    printf("%.0f ns of the CPU's time a message to itself\n", 1e9 * (cpu_seconds() - start) / n);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {{"messages", messages},
             {"requests", requests},
             {"persistent", persistent},
             {"collectives", collectives},
             {"windows", windows},
             {"threads", threads},
             {"many", many},
             {"full", full},
             {"other", other},
             {"cost", cost}};

int main(int argc, char **argv)
{
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    gpu = device_alloc(2 * LARGE);
    host = calloc(2, LARGE);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (argc > 1 ? strcmp(argv[1], parts[i].name) == 0 : i < 6)
            parts[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    device_free(gpu);
    free(host);
    MPI_Finalize();
    return 0;
}
