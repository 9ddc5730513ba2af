/* Four threads of each rank pass GPU memory in a ring at once, by their own tags, and end their
 * requests in turn by different calls. `threads reductions`: each reduces on a communicator of its own. `threads looks`: two look at one
 * request at once. `threads locked`: one starts messages with a lock that an operation of the other's takes, too. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

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

/* ---- one request, which MPI_Request_get_status does not complete */

static struct looked {
    MPI_Request request;
    const double *gpu;
    int round;
} looked;

static void *look(void *unused)
{
    static __thread double host[LARGE];
    int flag = 0, count = 0;
    MPI_Status status;

    device_start();
    while (!flag)
        MPI_Request_get_status(looked.request, &flag, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    wrong += count != LARGE;
    device_read(host, looked.gpu, sizeof host);
    for (int i = 0; i < LARGE; i++)
        wrong += host[i] != value((rank + size - 1) % size, 0, looked.round);
    return unused;
}

static void look_by_two(void)
{
    static double host[LARGE];
    double *out, *in;
    pthread_t threads[2];
    MPI_Request send;

    device_start();
    out = device_alloc(sizeof host);
    in = device_alloc(sizeof host);
    for (int round = 0; round < 60; round++) {
        memset(host, 0, sizeof host);
        device_write(in, host, sizeof host);
        for (int i = 0; i < LARGE; i++)
            host[i] = value(rank, 0, round);
        device_write(out, host, sizeof host);
        looked = (struct looked){MPI_REQUEST_NULL, in, round};
        MPI_Irecv(in, LARGE, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                  &looked.request);
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, look, NULL);
        MPI_Isend(out, LARGE, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, &send);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        MPI_Wait(&looked.request, MPI_STATUS_IGNORE);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    device_free(in);
    device_free(out);
}

/* ---- MPI makes progress, and so calls the operation, in functions that need not */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
    pthread_mutex_unlock(&lock);
}

static void *start_locked(void *unused)
{
    double *out, *in;
    MPI_Request requests[2];

    device_start();
    out = device_alloc(LARGE * sizeof *out);
    in = device_alloc(LARGE * sizeof *in);
    for (int round = 0; round < 500; round++) {
        pthread_mutex_lock(&lock);
        nanosleep(&(struct timespec){0, 20000}, NULL); /* the other may come for it */
        MPI_Irecv(in, LARGE, MPI_DOUBLE, (rank + size - 1) % size, 1, comms[1], &requests[0]);
        MPI_Isend(out, LARGE, MPI_DOUBLE, (rank + 1) % size, 1, comms[1], &requests[1]);
        pthread_mutex_unlock(&lock);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    device_free(in);
    device_free(out);
    return unused;
}

static void reduce_beside(void)
{
    int all = 0;
    double *never;
    pthread_t starter;
    MPI_Request sum, late;
    MPI_Op op;

    device_start();
    never = device_alloc(LARGE * sizeof *never);
    MPI_Op_create(add, 1, &op);
    MPI_Irecv(never, LARGE, MPI_DOUBLE, (rank + size - 1) % size, 2, comms[0], &late);
    pthread_create(&starter, NULL, start_locked, NULL);
    for (int round = 0; round < 1000; round++) {
        MPI_Iallreduce(&(int){1}, &all, 1, MPI_INT, op, comms[0], &sum);
        MPI_Wait(&sum, MPI_STATUS_IGNORE);
        wrong += all != size;
    }
    pthread_join(starter, NULL);
    MPI_Send(never, 0, MPI_DOUBLE, (rank + 1) % size, 2, comms[0]);
    MPI_Wait(&late, MPI_STATUS_IGNORE);
    MPI_Op_free(&op);
    device_free(never);
}

static void run_threads(void *(*play)(void *))
{
    int numbers[THREADS];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, play, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void run(const char *what)
{
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    if (strcmp(what, "looks") == 0)
        look_by_two();
    else if (strcmp(what, "locked") == 0)
        reduce_beside();
    else
        run_threads(strcmp(what, "reductions") == 0 ? reduce : exchange);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv)
{
    int level, mine, all;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (level == MPI_THREAD_MULTIPLE)
        run(argc > 1 ? argv[1] : "messages");
    mine = wrong;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && level == MPI_THREAD_MULTIPLE)
        tap_is_int(all, 0, "numbers that are wrong");
    else if (rank == 0)
        tap_skip("threads", "MPI has no MPI_THREAD_MULTIPLE");
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
