/* `partitioned [host]`: partitioned messages from and to GPU memory (or host memory alone). Partitions get
 * their data after the start, become ready in any order and from several threads, and are read as soon as
 * they have arrived. MPI_PROC_NULL is left out: MPICH 4.0 and 5.0 crash with it, on host memory. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if MPI_VERSION < 4 && !(defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
int main(void)
{
    puts("1..0 # SKIP this MPI has no partitioned messages");
    return 0;
}
#else

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

enum { N = 4800, PARTS = 8, MORE = 16, TAG = 5, THREADS = 4 }; /* N: ints of a message */

static int next, last;
static int values[2 * N], got[2 * N];
static int *device_out, *device_in;
static int host_out[2 * N], host_in[2 * N];
static MPI_Datatype every_other; /* 10 ints, with a gap behind each */

static void expect(bool good, const char *what, int number)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s %d", rank, what, number);
}

/* A buffer of N ints that follow each other, or lie apart. */
struct side {
    int *at;
    bool on_gpu;
    int parts, count; /* elements of a partition */
    MPI_Datatype type;
    int stride; /* ints */
    MPI_Request request;
};

static int nints(const struct side *side)
{
    return N / side->parts * side->stride;
}

static void fill_part(const struct side *side, int part, int seed)
{
    const int n = nints(side), first = part * n;

    for (int i = first; i < first + n; i++)
        values[i] = i % side->stride ? -7 : seed + i / side->stride;
    if (side->on_gpu)
        device_write(side->at + first, values + first, (size_t)n * sizeof(int));
    else
        memcpy(side->at + first, values + first, (size_t)n * sizeof(int));
}

static void clear(const struct side *side)
{
    memset(got, 0x33, sizeof got);
    if (side->on_gpu)
        device_write(side->at, got, sizeof got);
    else
        memcpy(side->at, got, sizeof got);
}

static void check_part(const struct side *side, int part, int seed)
{
    const int n = nints(side), first = part * n;

    if (side->on_gpu)
        device_read(got + first, side->at + first, (size_t)n * sizeof(int));
    else
        memcpy(got + first, side->at + first, (size_t)n * sizeof(int));
    for (int i = first; i < first + n; i++)
        expect(got[i] == (i % side->stride ? 0x33333333 : seed + i / side->stride), "int", i);
}

/* ---- ready in several ways */

struct worker {
    pthread_t thread;
    const struct side *side;
    int first, seed;
};

static void *work(void *argument)
{
    struct worker *worker = argument;

    device_start();
    usleep(2000);
    for (int i = worker->first; i < worker->side->parts; i += THREADS) {
        fill_part(worker->side, i, worker->seed);
        MPI_Pready(i, worker->side->request);
    }
    return NULL;
}

static struct worker workers[THREADS];

static void start_threads(const struct side *side, int seed)
{
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.side = side, .first = i, .seed = seed};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
}

static void make_ready(const struct side *side, int how, int seed)
{
    int ends[2] = {0, side->parts - 1};

    if (how == 3) {
        start_threads(side, seed);
        return;
    }
    for (int i = side->parts - 2; i > 0; i--) {
        fill_part(side, i, seed);
        if (how == 0)
            MPI_Pready(i, side->request);
    }
    if (how != 0)
        MPI_Pready_range(1, side->parts - 2, side->request);
    fill_part(side, ends[0], seed);
    fill_part(side, ends[1], seed);
    MPI_Pready_list(2, ends, side->request);
}

/* Some are read before the message is complete. */
static void take(const struct side *side, int how, int seed)
{
    for (int i = 0; how % 2 && i < side->parts; i += 3) {
        int arrived = 0;

        while (!arrived)
            MPI_Parrived(side->request, i, &arrived);
        check_part(side, i, seed);
    }
}

/* ---- two threads ask for the same partitions */

static pthread_barrier_t both_are_there;

struct asker {
    pthread_t thread;
    const struct side *side;
    bool uses; /* overwrites each partition as soon as it is there */
};

static void *ask(void *argument)
{
    static const int used[N];
    struct asker *asker = argument;
    const struct side *side = asker->side;
    const int n = nints(side);

    device_start();
    for (int i = 0; i < side->parts; i++) {
        int arrived = 0;

        pthread_barrier_wait(&both_are_there);
        while (!arrived)
            MPI_Parrived(side->request, i, &arrived);
        if (asker->uses)
            device_write(side->at + i * n, used, (size_t)n * sizeof(int));
    }
    return NULL;
}

/* What one thread has done with a partition stays, although another was told of it at the same time. */
static void ask_together(struct side out, struct side in)
{
    struct asker askers[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];

    pthread_barrier_init(&both_are_there, NULL, 2);
    MPI_Psend_init(out.at, out.parts, out.count, out.type, next, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(in.at, in.parts, in.count, in.type, last, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    out.request = requests[0];
    in.request = requests[1];
    MPI_Startall(2, requests);
    make_ready(&out, 1, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        askers[i] = (struct asker){.side = &in, .uses = i == 0};
        pthread_create(&askers[i].thread, NULL, ask, &askers[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(askers[i].thread, NULL);
    MPI_Waitall(2, requests, statuses);
    device_read(got, in.at, N * sizeof(int));
    for (int i = 0; i < N; i++)
        expect(got[i] == 0, "int", i);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    pthread_barrier_destroy(&both_are_there);
    result("partitions that two threads ask for");
}

static void exchange(struct side out, struct side in, int nways)
{
    MPI_Psend_init(out.at, out.parts, out.count, out.type, next, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &out.request);
    MPI_Precv_init(in.at, in.parts, in.count, in.type, last, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &in.request);
    for (int how = 0; how < nways; how++) {
        MPI_Request requests[] = {in.request, out.request};
        MPI_Status statuses[2];

        clear(&in);
        clear(&out);
        MPI_Startall(2, requests);
        make_ready(&out, how, 100000 * how + rank);
        take(&in, how, 100000 * how + last);
        MPI_Waitall(2, requests, statuses); /* while the threads still make parts ready */
        for (int i = 0; how == 3 && i < THREADS; i++)
            pthread_join(workers[i].thread, NULL);
        for (int i = 0; i < in.parts; i++)
            check_part(&in, i, 100000 * how + last);
    }
    MPI_Request_free(&out.request);
    MPI_Request_free(&in.request);
}

static struct side side(bool on_gpu, bool out, int parts, bool apart)
{
    struct side side = {.on_gpu = on_gpu, .parts = parts, .type = MPI_INT, .stride = 1 + apart};

    side.at = on_gpu ? (out ? device_out : device_in) : out ? host_out : host_in;
    side.count = N / parts;
    if (apart) {
        side.type = every_other;
        side.count /= 10;
    }
    return side;
}

static void every_place(bool apart, int nways, int nplaces)
{
    const int parts[][2] = {{PARTS, PARTS}, {MORE, PARTS}, {PARTS, MORE}};

    for (int places = 0; places < nplaces; places++) {
        for (int i = 0; i < 3; i++)
            exchange(side(places & 1, true, parts[i][0], apart),
                     side(places & 2, false, parts[i][1], apart), nways);
        if (rank == 0)
            tap_diag("from %s to %s", places & 1 ? "GPU" : "host", places & 2 ? "GPU" : "host");
        result(apart ? "elements with gaps" : "ints");
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype type;
    const bool on_host = argc > 1 && strcmp(argv[1], "host") == 0;
    int provided, nways;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    nways = provided == MPI_THREAD_MULTIPLE ? 4 : 3;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    device_start();
    device_out = device_alloc(sizeof host_out);
    device_in = device_alloc(sizeof host_in);
    MPI_Type_vector(10, 1, 2, MPI_INT, &type);
    MPI_Type_create_resized(type, 0, 20 * sizeof(int), &every_other);
    MPI_Type_commit(&every_other);
    MPI_Type_free(&type);

    every_place(false, nways, on_host ? 1 : 4);
    every_place(true, nways, on_host ? 1 : 4);
    if (provided == MPI_THREAD_MULTIPLE && !on_host)
        ask_together(side(true, true, PARTS, false), side(true, false, PARTS, false));
    MPI_Type_free(&every_other);
    device_free(device_out);
    device_free(device_in);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
#endif
