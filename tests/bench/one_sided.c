/* What one-sided calls to GPU memory of another rank take in a program that knows nothing of gpubind, beside a
 * copy through a mapping of the same memory. From the build folder:
 *   make tests/bench/one_sided && mpirun -np 2 bin/gpubind --gpu-aware tests/bench/one_sided
 * and the same with GPUBIND_COPY_BLOCKS=0, where the origin's host computes. One line for each size, in us, the
 * median of 11 measurements. Accumulates sum doubles; "host": the origin's buffers are host memory. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/device.h"

#define LARGEST ((size_t)256 << 20)
#define LARGEST_HOST ((size_t)16 << 20) /* where the host moves or computes */
#define MEASUREMENTS 11
#define BYTES ((size_t)512 << 20) /* of the calls of a measurement, */
#define CALLS 100                 /* of which there are at most so many */

struct handle {
    char bytes[64];
};

static int rank;
static size_t nbytes;
static void *theirs, *mine, *result, *host, *host_result;
static MPI_Win win;
static struct CUstream_st *stream;
static int (*copy_async)(void *, const void *, size_t, struct CUstream_st *);

/* ---- what is measured: one call */

#define N ((int)(nbytes / sizeof(double)))
#define THERE 1, 0, N, MPI_DOUBLE

static void copy(void)
{
    device_check(copy_async(theirs, mine, nbytes, stream), "cuMemcpyAsync");
    device_wait(stream);
}

static void put(void)
{
    MPI_Put(mine, N, MPI_DOUBLE, THERE, win);
}

static void get(void)
{
    MPI_Get(mine, N, MPI_DOUBLE, THERE, win);
}

static void accumulate(void)
{
    MPI_Accumulate(mine, N, MPI_DOUBLE, THERE, MPI_SUM, win);
}

static void get_accumulate(void)
{
    MPI_Get_accumulate(mine, N, MPI_DOUBLE, result, N, MPI_DOUBLE, THERE, MPI_SUM, win);
}

static void put_host(void)
{
    MPI_Put(host, N, MPI_DOUBLE, THERE, win);
}

static void accumulate_host(void)
{
    MPI_Accumulate(host, N, MPI_DOUBLE, THERE, MPI_SUM, win);
}

static void get_accumulate_host(void)
{
    MPI_Get_accumulate(host, N, MPI_DOUBLE, host_result, N, MPI_DOUBLE, THERE, MPI_SUM, win);
}

static void fetch_and_op(void)
{
    MPI_Fetch_and_op(host, host_result, MPI_DOUBLE, 1, 0, MPI_SUM, win);
}

/* Swaps each time. */
static void compare_and_swap(void)
{
    static const uint64_t zero;
    uint64_t got;

    MPI_Compare_and_swap(&zero, &zero, &got, MPI_UINT64_T, 1, 0, win);
}

static const struct {
    const char *name;
    void (*call)(void);
    size_t largest;
} columns[] = {{"copy", copy, LARGEST},
               {"put", put, LARGEST},
               {"get", get, LARGEST},
               {"acc", accumulate, LARGEST},
               {"get_acc", get_accumulate, LARGEST},
               {"put host", put_host, LARGEST_HOST},
               {"acc host", accumulate_host, LARGEST_HOST},
               {"get_acc h", get_accumulate_host, LARGEST_HOST},
               {"fetch_op", fetch_and_op, sizeof(double)},
               {"cmp_swap", compare_and_swap, sizeof(double)}};
#define COLUMNS (sizeof columns / sizeof *columns)

/* ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double measure(void (*call)(void))
{
    const int n = BYTES / nbytes < CALLS ? (int)(BYTES / nbytes) : CALLS;
    double times[MEASUREMENTS];

    for (int i = -1; i < MEASUREMENTS; i++) { /* the first one makes all ready */
        const double before = MPI_Wtime();

        for (int j = 0; j < n; j++) {
            call();
            MPI_Win_flush(1, win);
        }
        if (i >= 0)
            times[i] = 1e6 * (MPI_Wtime() - before) / n;
    }
    qsort(times, MEASUREMENTS, sizeof *times, compare);
    return times[MEASUREMENTS / 2];
}

static void measure_all(void)
{
    printf("%10s", "bytes");
    for (size_t i = 0; i < COLUMNS; i++)
        printf(" %10s", columns[i].name);
    printf("\n");
    nbytes = 8;
    measure(copy); /* the GPU is asleep at first */
    for (nbytes = 8; nbytes <= LARGEST; nbytes *= nbytes < 2048 ? 4 : 2) {
        printf("%10zu", nbytes);
        for (size_t i = 0; i < COLUMNS; i++)
            if (nbytes <= columns[i].largest)
                printf(" %10.1f", measure(columns[i].call));
            else
                printf(" %10s", "");
        printf("\n");
        fflush(stdout);
    }
}

/* Rank 0 maps the memory of rank 1. */
static void map(void *memory)
{
    int (*export)(struct handle *, void *), (*open)(void **, struct handle, unsigned);
    struct handle handle;

    *(void **)&export = device_call("cuIpcGetMemHandle");
    *(void **)&open = device_call("cuIpcOpenMemHandle_v2");
    *(void **)&copy_async = device_call("cuMemcpyAsync");
    if (rank == 1)
        device_check(export(&handle, memory), "cuIpcGetMemHandle");
    MPI_Bcast(&handle, sizeof handle, MPI_BYTE, 1, MPI_COMM_WORLD);
    if (rank == 0)
        device_check(open(&theirs, handle, 1), "cuIpcOpenMemHandle");
}

static void *allocate(void)
{
    void *memory = calloc(1, LARGEST);

    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(memory, 0, LARGEST); /* all pages are there */
    return memory;
}

int main(int argc, char **argv)
{
    void *memory;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "one_sided: takes two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    device_start();
    stream = device_stream();
    host = allocate();
    host_result = allocate();
    memory = device_alloc(LARGEST);
    mine = device_alloc(LARGEST);
    result = device_alloc(LARGEST);
    device_write(memory, host, LARGEST);
    device_write(mine, host, LARGEST);
    map(memory);
    MPI_Win_create(memory, LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    if (rank == 0)
        measure_all();
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    free(host);
    free(host_result);
    MPI_Finalize();
    return 0;
}
