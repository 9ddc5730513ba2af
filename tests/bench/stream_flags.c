/* What a message between streams of two GPUs takes by memory operations alone: one stream writes a flag and waits
 * for another, the other waits, copies and writes. No kernel, no thread, all queued before it begins: the least
 * that messages on streams could cost that way. From the build folder:
 *   make tests/bench/stream_flags && mpirun -np 2 bin/gpubind tests/bench/stream_flags
 * A line for each size, in us, medians of 21 measurements of 50 messages, which go forth and back in turns.
 *   copy       the copy alone, through a mapping of the other GPU's memory
 *   pull       the receiver's stream copies, after the sender's has come to its call
 *   push       the sender's stream copies, after the receiver's has
 *   internal   another stream of the receiver pulls, and lets the receiver's go on
 * The flags are in page-locked memory of both processes ("host"), or in the memory of the GPU that waits. "WRONG":
 * the last message's data are not there. */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/device.h"

#define LARGEST ((size_t)1 << 20)
#define MEASUREMENTS 21
#define MESSAGES 50
#define FLAG_BYTES 64
#define GEQ 0         /* CU_STREAM_WAIT_VALUE_GEQ */
#define PORTABLE 1    /* CU_MEMHOSTREGISTER_PORTABLE */
#define PEER_ACCESS 1 /* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS */

typedef unsigned long long address;

/* CAME: the one that copies may begin; DONE: it has copied; INSIDE: the same two between the receiver's streams.
 * Of each direction. START: this rank's stream may begin. */
enum flag { CAME, DONE, INSIDE, START, FLAGS };
struct handle {
    char bytes[64];
};

enum scheme { COPY, PULL, PUSH, INTERNAL, SCHEMES };
static const char *const scheme_names[] = {"copy", "pull", "push", "internal"};

static struct {
    int (*write32)(struct CUstream_st *, address, uint32_t, unsigned);
    int (*wait32)(struct CUstream_st *, address, uint32_t, unsigned);
    int (*copy)(address, address, size_t, struct CUstream_st *);
} driver;

static int rank;
static struct CUstream_st *stream, *internal;
static MPI_Win host_window;                        /* in which are */
static volatile uint32_t *host_flags;              /* those of both ranks */
static address gpu_flags[2], source[2], target[2]; /* each rank's, here or mapped */
static bool on_gpu;                                /* where the flags are */
static size_t nbytes;

/* A flag of messages from that rank, which `waiter` waits for. */
static address at(int from, enum flag flag, int waiter)
{
    const size_t offset = ((size_t)from * FLAGS + flag) * FLAG_BYTES;

    return on_gpu ? gpu_flags[waiter] + offset : (address)(uintptr_t)host_flags + offset;
}

static void set(struct CUstream_st *in, address flag, uint32_t value)
{
    device_check(driver.write32(in, flag, value, 0), "cuStreamWriteValue32");
}

static void await(struct CUstream_st *in, address flag, uint32_t value)
{
    device_check(driver.wait32(in, flag, value, GEQ), "cuStreamWaitValue32");
}

static void copy(struct CUstream_st *in, int from)
{
    device_check(driver.copy(target[!from], source[from], nbytes, in), "cuMemcpyDtoDAsync");
}

/* ---- this rank's part of a message */

static void pull(int from, uint32_t value)
{
    if (rank == from) {
        set(stream, at(from, CAME, !from), value);
        await(stream, at(from, DONE, from), value);
    } else {
        await(stream, at(from, CAME, !from), value);
        copy(stream, from);
        set(stream, at(from, DONE, from), value);
    }
}

static void push(int from, uint32_t value)
{
    if (rank == from) {
        await(stream, at(from, CAME, from), value);
        copy(stream, from);
        set(stream, at(from, DONE, !from), value);
    } else {
        set(stream, at(from, CAME, from), value);
        await(stream, at(from, DONE, !from), value);
    }
}

static void pull_inside(int from, uint32_t value)
{
    const address come = at(from, INSIDE, !from), go = come + FLAG_BYTES / 2;

    if (rank == from) {
        pull(from, value);
        return;
    }
    set(stream, come, value);
    await(internal, come, value);
    await(internal, at(from, CAME, !from), value);
    copy(internal, from);
    set(internal, at(from, DONE, from), value);
    set(internal, go, value);
    await(stream, go, value);
}

static void message(enum scheme scheme, int from, uint32_t value)
{
    if (scheme == COPY)
        copy(stream, rank);
    else if (scheme == PULL)
        pull(from, value);
    else if (scheme == PUSH)
        push(from, value);
    else
        pull_inside(from, value);
}

/* ---- measurements */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Both streams wait until all is queued. */
static double measure_once(enum scheme scheme)
{
    static uint32_t round, value;
    const size_t start = ((size_t)rank * FLAGS + START) * FLAG_BYTES;
    double before;

    round++;
    await(stream, (address)(uintptr_t)host_flags + start, round);
    for (int i = 0; i < MESSAGES; i++)
        message(scheme, i % 2, ++value);
    MPI_Barrier(MPI_COMM_WORLD);
    before = MPI_Wtime();
    host_flags[start / sizeof *host_flags] = round;
    device_wait(stream);
    device_wait(internal);
    return 1e6 * (MPI_Wtime() - before) / MESSAGES;
}

static double measure(enum scheme scheme)
{
    double times[MEASUREMENTS];

    for (int i = -1; i < MEASUREMENTS; i++) { /* the first one makes all ready */
        const double us = measure_once(scheme);

        if (i >= 0)
            times[i] = us;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    qsort(times, MEASUREMENTS, sizeof *times, compare);
    return times[MEASUREMENTS / 2];
}

/* What the other rank sends is its number. */
static bool is_right(void)
{
    static char got[LARGEST];
    int right = 1, all;

    device_read(got, (void *)(uintptr_t)target[rank], nbytes);
    for (size_t i = 0; i < nbytes; i++)
        right = right && got[i] == 1 + !rank;
    memset(got, 0, nbytes);
    device_write((void *)(uintptr_t)target[rank], got, nbytes);
    MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

/* A copy alone has no flags. */
static int places(enum scheme scheme)
{
    return scheme == COPY ? 1 : 2;
}

static void print_columns(void)
{
    printf("%10s", "bytes");
    for (enum scheme scheme = COPY; scheme < SCHEMES; scheme++)
        for (int gpu = 0; gpu < places(scheme); gpu++)
            printf("  %9s%-5s", scheme_names[scheme], scheme == COPY ? "" : gpu ? " GPU" : " host");
    printf("\n");
}

static void measure_size(void)
{
    for (enum scheme scheme = COPY; scheme < SCHEMES; scheme++)
        for (int gpu = 0; gpu < places(scheme); gpu++) {
            double us;
            bool right;

            on_gpu = gpu;
            us = measure(scheme);
            right = is_right();
            if (rank == 0)
                printf("  %9.2f%-5s", us, right ? "" : "WRONG");
            fflush(stdout);
        }
}

static void measure_all(void)
{
    static const size_t sizes[] = {8, 65536, LARGEST};

    if (rank == 0)
        print_columns();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        nbytes = sizes[i];
        if (rank == 0)
            printf("%10zu", nbytes);
        measure_size();
        if (rank == 0)
            printf("\n");
    }
}

/* ---- memory */

static void map_other(address of[2], void *own)
{
    int (*export)(struct handle *, void *), (*open)(void **, struct handle, unsigned);
    struct handle handles[2];
    void *other;

    *(void **)&export = device_call("cuIpcGetMemHandle");
    *(void **)&open = device_call("cuIpcOpenMemHandle_v2");
    device_check(export(&handles[rank], own), "cuIpcGetMemHandle");
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, handles, sizeof *handles, MPI_BYTE,
                  MPI_COMM_WORLD);
    device_check(open(&other, handles[!rank], PEER_ACCESS), "cuIpcOpenMemHandle");
    of[rank] = (address)(uintptr_t)own;
    of[!rank] = (address)(uintptr_t)other;
}

static void *allocate(size_t bytes, char contents)
{
    void *memory = device_alloc(bytes), *host = malloc(bytes);

    if (!host)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(host, contents, bytes);
    device_write(memory, host, bytes);
    free(host);
    return memory;
}

static void share_host_flags(void)
{
    int (*lock)(void *, size_t, unsigned);
    const size_t page = 4096;
    char *memory;
    MPI_Aint size;
    int unit;

    *(void **)&lock = device_call("cuMemHostRegister_v2");
    MPI_Win_allocate_shared(rank == 0 ? 2 * (MPI_Aint)page : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                            &memory, &host_window);
    MPI_Win_shared_query(host_window, 0, &size, &unit, &memory);
    memory += -(uintptr_t)memory % page;
    if (rank == 0)
        memset(memory, 0, page);
    device_check(lock(memory, page, PORTABLE), "cuMemHostRegister");
    host_flags = (volatile uint32_t *)(void *)memory;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void free_host_flags(void)
{
    int (*unlock)(void *);

    *(void **)&unlock = device_call("cuMemHostUnregister");
    device_check(unlock((void *)(uintptr_t)host_flags), "cuMemHostUnregister");
    MPI_Win_free(&host_window);
}

int main(int argc, char **argv)
{
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "stream_flags: takes two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    device_start();
    *(void **)&driver.write32 = device_call("cuStreamWriteValue32_v2");
    *(void **)&driver.wait32 = device_call("cuStreamWaitValue32_v2");
    *(void **)&driver.copy = device_call("cuMemcpyDtoDAsync_v2");
    stream = device_stream();
    internal = device_stream();
    share_host_flags();
    map_other(gpu_flags, allocate(2 * FLAGS * FLAG_BYTES, 0));
    map_other(source, allocate(LARGEST, (char)(1 + rank)));
    map_other(target, allocate(LARGEST, 0));
    measure_all();
    free_host_flags();
    MPI_Finalize();
    return 0;
}
