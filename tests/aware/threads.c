/* Four threads of each rank pass GPU memory in a ring at once, by their own tags, and end their
 * requests in turn by different calls. `threads reductions`: each reduces on a communicator of its own. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "examples/device.h"
#include "tests/tap.h"

enum { THREADS = 4, ROUNDS = 300, LARGE = 3000, SMALL = 5 };

static int rank, size;
static atomic_int wrong;

static double value(int of_rank, int thread, int round)
{
    return of_rank * 1e6 + thread * 1e5 + round;
}

static void end_both(MPI_Request requests[2], int round)
{
    MPI_Status statuses[2];
    int which, flag = 0;

    if (round % 3 == 0) {
        MPI_Waitall(2, requests, statuses);
    } else if (round % 3 == 1) {
        MPI_Waitany(2, requests, &which, statuses);
        MPI_Waitany(2, requests, &which, statuses);
    } else {
        while (!flag)
            MPI_Testall(2, requests, &flag, statuses);
    }
}

static void *exchange(void *number)
{
    const int thread = *(const int *)number, n = thread % 2 ? SMALL : LARGE;
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    double host[LARGE], *out, *in;
    MPI_Request requests[2];

    device_start();
    out = device_alloc(sizeof host);
    in = device_alloc(sizeof host);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n; i++)
            host[i] = value(rank, thread, round);
        device_write(out, host, (size_t)n * sizeof *host);
        MPI_Irecv(in, n, MPI_DOUBLE, from, thread, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, n, MPI_DOUBLE, to, thread, MPI_COMM_WORLD, &requests[1]);
        end_both(requests, round);
        device_read(host, in, (size_t)n * sizeof *host);
        for (int i = 0; i < n; i++)
            wrong += host[i] != value(from, thread, round);
    }
    device_free(in);
    device_free(out);
    return NULL;
}

static MPI_Comm comms[THREADS];

static void *reduce(void *number)
{
    const int thread = *(const int *)number;
    double host[LARGE], *gpu;

    device_start();
    gpu = device_alloc(sizeof host);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LARGE; i++)
            host[i] = value(rank, thread, round);
        device_write(gpu, host, sizeof host);
        MPI_Allreduce(MPI_IN_PLACE, gpu, LARGE, MPI_DOUBLE, MPI_MAX, comms[thread]);
        device_read(host, gpu, sizeof host);
        for (int i = 0; i < LARGE; i++)
            wrong += host[i] != value(size - 1, thread, round);
    }
    device_free(gpu);
    return NULL;
}

int main(int argc, char **argv)
{
    int level, mine, all, numbers[THREADS];
    pthread_t threads[THREADS];
    void *(*play)(void *) = argc > 1 && strcmp(argv[1], "reductions") == 0 ? reduce : exchange;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++) {
        numbers[i] = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++)
        pthread_create(&threads[i], NULL, play, &numbers[i]);
    for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++)
        MPI_Comm_free(&comms[i]);
    mine = wrong;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && level == MPI_THREAD_MULTIPLE)
        tap_is_int(all, 0, "numbers that are wrong");
    else if (rank == 0)
        tap_skip("threads", "MPI has no MPI_THREAD_MULTIPLE");
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
