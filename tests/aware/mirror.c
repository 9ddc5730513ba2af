/* Windows with GPU memory of ranks that are out of each other's reach: on several nodes, or with GPUBIND_PATH.
 * MPI has a mirror of the memory (src/aware/rma/window_mirror.h). Rank 0 prints the results. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#define ROWS 60
#define COLUMNS 4096
#define N (ROWS * COLUMNS) /* doubles of a window: a little less than 2 MiB */
#define BEFORE 3 /* doubles in front of it, so that it does not begin where a cache line does */
#define NBYTES (N * sizeof(double) - 3)

static double *memory, *buffer, host[N], own[N];
static int next, before;
static MPI_Win win;

static void expect(bool good, const char *what)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s", rank, what);
}

static double at(int i)
{
    double value;

    device_read(&value, memory + i, sizeof value);
    return value;
}

static void set(int i, double value)
{
    device_write(memory + i, &value, sizeof value);
}

/* first + step * i, in n doubles. */
static void fill(double *to, int n, double first, double step)
{
    for (int i = 0; i < n; i++)
        host[i] = first + step * i;
    device_write(to, host, (size_t)n * sizeof *to);
}

static bool has(const double *from, int n, double first, double step)
{
    device_read(host, from, (size_t)n * sizeof *from);
    for (int i = 0; i < n; i++)
        if (host[i] != first + step * i)
            return false;
    return true;
}

static int class_of(int error)
{
    int class;

    MPI_Error_class(error, &class);
    return class;
}

/* The last double is not all in the window. */
static void open_window(void)
{
    fill(memory, N, rank, 0);
    MPI_Win_create(memory, NBYTES, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

/* ---- active targets */

/* The first row and the first column are the halo, from the rank before; this rank has the others. */
static double cell(int of, int round, int row, int column)
{
    return of * 1e7 + round * 1e6 + row * 1e4 + column / 4096.;
}

static void compute(int round)
{
    for (int row = 1; row < ROWS - 1; row++) {
        for (int column = 1; column < COLUMNS; column++)
            host[column] = cell(rank, round, row, column);
        device_write(memory + row * COLUMNS + 1, host + 1, (COLUMNS - 1) * sizeof *host);
    }
}

static void check_halo(int round, int last)
{
    device_read(own, memory, sizeof own);
    for (int row = 0; row < ROWS - 1; row++)
        for (int column = 0; column < COLUMNS; column++) {
            double wanted = cell(rank, last, row, column);

            if (row == 0)
                wanted = cell(before, round, ROWS - 2, column);
            else if (column == 0)
                wanted = cell(before, round, row, COLUMNS - 1);
            if (row > 0 || column > 0)
                expect(own[row * COLUMNS + column] == wanted, row == 0 ? "the row of a halo"
                                                              : column == 0
                                                                  ? "the column of a halo"
                                                                  : "what the rank has stored");
        }
}

static void put_halo(MPI_Datatype column)
{
    MPI_Put(memory + (ROWS - 2) * COLUMNS + 1, COLUMNS - 1, MPI_DOUBLE, next, 1, COLUMNS - 1,
            MPI_DOUBLE, win);
    MPI_Put(memory + 2 * COLUMNS - 1, 1, column, next, COLUMNS, 1, column, win);
}

/* A rank stores to its memory while others put into its halo. */
static void halos(void)
{
    MPI_Datatype column;

    MPI_Type_vector(ROWS - 2, 1, COLUMNS, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    open_window();
    for (int round = 0; round < 4; round++) {
        compute(round);
        MPI_Win_fence(0, win);
        put_halo(column);
        compute(round + 5);
        MPI_Win_fence(0, win);
        check_halo(round, round + 5);
        MPI_Win_fence(round % 2 ? MPI_MODE_NOSTORE | MPI_MODE_NOPRECEDE : 0, win);
        MPI_Get(buffer, COLUMNS, MPI_DOUBLE, next, COLUMNS, COLUMNS, MPI_DOUBLE, win);
        MPI_Win_fence(0, win);
        device_read(host, buffer, COLUMNS * sizeof *host);
        for (int i = 1; i < COLUMNS; i++)
            expect(host[i] == cell(next, round + 5, 1, i), "a get of what a rank has stored");
    }
    MPI_Type_free(&column);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
    result("halos by fences");
}

static void expose(int round)
{
    MPI_Group all, neighbour[2];
    int flag = 0;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &before, &neighbour[0]);
    MPI_Group_incl(all, 1, &next, &neighbour[1]);
    MPI_Win_post(neighbour[0], 0, win);
    MPI_Win_start(neighbour[1], 0, win);
    MPI_Get(buffer, 10, MPI_DOUBLE, next, 50, 10, MPI_DOUBLE, win);
    MPI_Put(host, 10, MPI_DOUBLE, next, N - 20, 10, MPI_DOUBLE, win);
    MPI_Win_complete(win);
    if (round % 2)
        MPI_Win_wait(win);
    while (round % 2 == 0 && !flag)
        MPI_Win_test(win, &flag);
    for (int i = 0; i < 2; i++)
        MPI_Group_free(&neighbour[i]);
    MPI_Group_free(&all);
}

static void exposures(void)
{
    open_window();
    for (int round = 0; round < 6; round++) {
        fill(memory + 50, 10, 1e3 * rank + round, 1);
        for (int i = 0; i < 10; i++)
            host[i] = 1e4 * rank + round + i;
        expose(round);
        expect(has(buffer, 10, 1e3 * next + round, 1), "a get");
        expect(has(memory + N - 20, 10, 1e4 * before + round, 1), "a put");
        expect(at(49) == rank && at(60) == rank && at(N - 21) == rank && at(N - 10) == rank,
               "what lies around");
    }
    MPI_Win_free(&win);
    result("post, start, complete, wait and test");
}

/* ---- passive targets */

static void locks(void)
{
    double seen[10];

    open_window();
    for (int round = 0; round < 5; round++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        set(5, 100 * rank + round);
        MPI_Win_unlock(rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
        fill(buffer, 10, 1e3 * rank + round, 1);
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        MPI_Put(buffer, 10, MPI_DOUBLE, next, 1000, 10, MPI_DOUBLE, win);
        MPI_Win_flush(next, win);
        MPI_Get(seen, 10, MPI_DOUBLE, next, 1000, 10, MPI_DOUBLE, win);
        MPI_Get(buffer + 20, 1, MPI_DOUBLE, next, 5, 1, MPI_DOUBLE, win);
        MPI_Win_unlock(next, win);
        expect(seen[0] == 1e3 * rank + round && seen[9] == seen[0] + 9, "a get after a put");
        expect(has(buffer + 20, 1, 100 * next + round, 0), "a get of what a rank has stored");
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        expect(has(memory + 1000, 10, 1e3 * before + round, 1), "a put");
        MPI_Put(seen, 10, MPI_DOUBLE, rank, 2000, 10, MPI_DOUBLE, win);
        MPI_Win_unlock(rank, win);
        expect(has(memory + 2000, 10, 1e3 * rank + round, 1), "a put to the own memory");
    }
    MPI_Win_free(&win);
    result("locks");
}

/* By the rules of MPI 4.1, 12.7, a lock or an unlock of any rank's is a synchronisation of the own memory. */
static void lock_of_another(void)
{
    const double given = 100 + next;
    double got = -1;

    if (size == 1)
        return;
    open_window();
    set(7, 100 + rank);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    MPI_Get(&got, 1, MPI_DOUBLE, next, 7, 1, MPI_DOUBLE, win);
    MPI_Put(&given, 1, MPI_DOUBLE, next, 9, 1, MPI_DOUBLE, win);
    MPI_Win_unlock(next, win);
    expect(got == 100 + next, "a store before the unlock of another rank");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    expect(at(9) == 100 + rank, "what others put before the lock of another rank");
    MPI_Win_unlock(next, win);
    MPI_Win_free(&win);
    result("locks of other ranks");
}

#define DRAWS 30

/* As long as a double; counters of all ranks, which their owners set back. */
static void counters(void)
{
    const long zero = 0, one = 1;
    long drawn, last;

    open_window();
    for (int round = 0; round < 3; round++) {
        device_write(memory + 7, &zero, sizeof zero);
        device_write(memory + 8, &zero, sizeof zero);
        MPI_Win_lock_all(0, win);
        MPI_Win_sync(win);
        MPI_Barrier(MPI_COMM_WORLD);
        last = -1;
        for (int i = 0; i < DRAWS; i++) {
            MPI_Fetch_and_op(&one, &drawn, MPI_LONG, 0, 7, MPI_SUM, win);
            MPI_Accumulate(&one, 1, MPI_LONG, next, 8, 1, MPI_LONG, MPI_SUM, win);
            MPI_Win_flush(0, win);
            expect(drawn > last, "numbers that rise");
            last = drawn;
            if (i % 10 == 3)
                MPI_Win_sync(win);
        }
        MPI_Win_flush_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(win);
        device_read(&drawn, memory + 7, sizeof drawn);
        expect(rank != 0 || drawn == DRAWS * size, "a counter of all ranks");
        device_read(&drawn, memory + 8, sizeof drawn);
        expect(drawn == DRAWS, "a counter of the rank before");
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_unlock_all(win);
    }
    MPI_Win_free(&win);
    result("counters");
}

/* MPI makes progress, for the others. */
static void wait_for(int flag, double value)
{
    const double begun = MPI_Wtime();
    int any;

    while (at(flag) != value && MPI_Wtime() - begun < 20) {
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
        MPI_Win_sync(win);
    }
}

/* What was put before a flag, everywhere in the window, is there when the flag is. */
static void flags(void)
{
    open_window();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 100; round < 200; round++) {
        for (int i = 0; i < 16; i++)
            own[i] = 100. * round + i;
        for (int i = 0; i < 16; i++)
            MPI_Put(&own[i], 1, MPI_DOUBLE, next, i * (N / 16) + 1, 1, MPI_DOUBLE, win);
        MPI_Win_flush(next, win);
        host[0] = round;
        MPI_Accumulate(host, 1, MPI_DOUBLE, next, N - 8, 1, MPI_DOUBLE, MPI_REPLACE, win);
        MPI_Win_flush(next, win);
        wait_for(N - 8, round);
        expect(at(N - 8) == round, "a flag");
        for (int i = 0; i < 16; i++)
            expect(at(i * (N / 16) + 1) == 100. * round + i, "what was put before a flag");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    result("flags");
}

/* Of each pair of doubles the rank stores to one, again and again, and others put the other one meanwhile. */
static void both(void)
{
    open_window();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 1; round <= 20; round++) {
        for (int i = 0; i < 40; i++) {
            const int pair = (i * 1237 + round * 31) % (N / 2 - 1);
            const double value = 1e3 * round + i;

            set(2 * pair, value);
            MPI_Put(&value, 1, MPI_DOUBLE, next, 2 * pair + 1, 1, MPI_DOUBLE, win);
            MPI_Win_flush_local(next, win);
            if (i % 8 == 0)
                MPI_Win_sync(win);
        }
        MPI_Win_flush_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(win);
        for (int i = 0; i < 40; i++) {
            const int pair = (i * 1237 + round * 31) % (N / 2 - 1);

            expect(at(2 * pair) == 1e3 * round + i, "what the rank has stored, of a pair");
            expect(at(2 * pair + 1) == 1e3 * round + i, "what others have put, of a pair");
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    result("stores and puts at the same time");
}

/* ---- windows themselves */

static void attributes(void)
{
    void *base = NULL;
    MPI_Aint *nbytes = NULL;
    int there = 0, *number = NULL;

    open_window();
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &there);
    expect(there && base == memory, "MPI_WIN_BASE");
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &nbytes, &there);
    expect(there && *nbytes == (MPI_Aint)NBYTES, "MPI_WIN_SIZE");
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &number, &there);
    expect(there && *number == (int)sizeof *memory, "MPI_WIN_DISP_UNIT");
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &number, &there);
    expect(there && *number == MPI_WIN_FLAVOR_CREATE, "MPI_WIN_CREATE_FLAVOR");
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &number, &there);
    expect(there && *number == MPI_WIN_SEPARATE, "MPI_WIN_MODEL");
    MPI_Win_free(&win);
    result("attributes");
}

static void last_puts(void)
{
    open_window();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++)
        own[i] = 1e3 * rank + i;
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Put(own, 10, MPI_DOUBLE, next, 0, 10, MPI_DOUBLE, win);
    MPI_Win_unlock(next, win);
    MPI_Win_free(&win);
    expect(has(memory, 10, 1e3 * before, 1) && has(memory + 10, 100, rank, 0), "the last put");
    result("MPI_Win_free");
}

/* Rank 0 has GPU memory, rank 1 that of the host, the others none. */
static void mixed(void)
{
    void *bases[] = {memory, own, NULL};
    const int kind = rank < 2 ? rank : 2;
    const double value = 10 + rank;
    double seen[2] = {-1, -1};

    fill(memory, 10, 1, 0);
    for (int i = 0; i < 10; i++)
        own[i] = 2;
    MPI_Win_create(bases[kind], kind == 2 ? 0 : 80, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    for (int target = 0; target < 2 && target < size; target++) {
        MPI_Put(&value, 1, MPI_DOUBLE, target, 1 + rank % 8, 1, MPI_DOUBLE, win);
        MPI_Get(&seen[target], 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, win);
    }
    MPI_Win_fence(0, win);
    expect(seen[0] == 1 && (size == 1 || seen[1] == 2), "a get from each kind");
    for (int i = 0; i < size && i < 8; i++)
        expect(kind == 2 || (kind ? own[1 + i] : at(1 + i)) == 10 + i, "a put to each kind");
    MPI_Win_free(&win);
    result("memory of both kinds, and none");
}

/* Memory of no bytes, and of three. */
static void few_bytes(void)
{
    const char three[3] = {1, 2, (char)(3 + rank)};
    char seen[8];

    fill(memory, 1, 0, 0);
    for (int n = 0; n <= 3; n += 3) {
        MPI_Win_create((char *)memory + 2, n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_fence(0, win);
        MPI_Put(three, n, MPI_CHAR, next, 0, n, MPI_CHAR, win);
        MPI_Win_fence(0, win);
        MPI_Win_free(&win);
    }
    device_read(seen, memory, 8);
    for (int i = 0; i < 8; i++)
        expect(seen[i] == (i == 4 ? 3 + before : i == 2 || i == 3 ? i - 1 : 0), "three bytes");
    result("few bytes");
}

/* ---- what fails */

/* The other ranks' windows are made, and all can free it. (The address sanitizer has an end of its own for
 * programs that are out of memory.) */
static void no_room(void)
{
#ifndef __SANITIZE_ADDRESS__
    struct rlimit room, none;
    char line[200];
    FILE *file = fopen("/proc/self/statm", "re");
    int error, last = rank == size - 1;

    getrlimit(RLIMIT_AS, &room);
    none = room;
    if (file && fgets(line, sizeof line, file))
        none.rlim_cur = (rlim_t)strtoull(line, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) + NBYTES;
    if (file)
        fclose(file);
    if (last)
        setrlimit(RLIMIT_AS, &none);
    error = MPI_Win_create(memory, NBYTES, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    setrlimit(RLIMIT_AS, &room);
    expect(class_of(error) == (last ? MPI_ERR_NO_MEM : MPI_SUCCESS), "MPI_Win_create");
    MPI_Win_fence(0, win);
    if (next != size - 1)
        MPI_Put(host, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
#endif
    result("no memory for a mirror");
}

/* More than what is there, and what was freed. */
static void gone(void)
{
    double *freed = device_alloc(80);
    int error, last = rank == size - 1;

    error = MPI_Win_create(freed, last ? (MPI_Aint)1 << 30 : 80, 8, MPI_INFO_NULL, MPI_COMM_WORLD,
                           &win);
    expect(class_of(error) == (last ? MPI_ERR_BUFFER : MPI_SUCCESS), "MPI_Win_create");
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    device_free(freed);
    error = MPI_Win_fence(0, win);
    expect(class_of(error) == (last ? MPI_SUCCESS : MPI_ERR_BUFFER), "MPI_Win_fence");
    MPI_Win_free(&win);
    result("GPU memory that is not there");
}

/* Open MPI 4.1 makes no window of host memory on a machine without a network, or of one rank. */
static bool mpi_makes_windows(void)
{
    bool made;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    made = MPI_Win_create(own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS;
    if (made)
        MPI_Win_free(&win);
    else
        expect(MPI_Win_create(memory, 80, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) != MPI_SUCCESS,
               "a window of GPU memory, where there is none of the host's");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return made;
}

/* Most MPIs write to a target's memory in its own calls; so that others write at any time, a thread makes
 * them. */
static atomic_bool thread_ends;

static void *progress(void *unused)
{
    int any;

    while (!thread_ends)
        MPI_Iprobe(MPI_ANY_SOURCE, 98, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
    return unused;
}

static void at_any_time(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, progress, NULL);
    flags();
    both();
    counters();
    thread_ends = true;
    pthread_join(thread, NULL);
}

static void all_tests(void)
{
    attributes();
    halos();
    exposures();
    locks();
    lock_of_another();
    counters();
    flags();
    both();
    last_puts();
    mixed();
    few_bytes();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    no_room();
    gone();
}

/* `mirror threads`: others write at any time. */
int main(int argc, char **argv)
{
    const bool threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    double *allocated;
    int level;

    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    device_start();
    allocated = device_alloc((N + BEFORE) * sizeof *allocated);
    memory = allocated + BEFORE;
    buffer = device_alloc(COLUMNS * sizeof *buffer);
    if (mpi_makes_windows())
        threads ? at_any_time() : all_tests();
    else {
        result("there is no window of either kind");
        if (rank == 0)
            tap_skip("windows over several nodes", "this MPI makes none of host memory here");
    }
    device_free(buffer);
    device_free(allocated);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
