/* Dynamic windows with GPU memory of ranks that are out of each other's reach: on several nodes, or with
 * GPUBIND_PATH. MPI has a mirror of each piece, at another address (src/aware/rma/window_far.h). Rank 0 prints the
 * results. */
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#define N 5000
#define PIECES 5
#define FLAG 100000 /* doubles */

static double *memory, *buffer, host[N], of_host[N];
static int next, before;
static MPI_Win win;

static void expect(bool good, const char *what)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s", rank, what);
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

static void open_window(void)
{
    fill(memory, N, -1, 0);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

/* The address that the next rank tells the one before of n doubles, which it attaches. */
static MPI_Aint attach(double *piece, int n)
{
    MPI_Aint mine, theirs;

    MPI_Win_attach(win, piece, (MPI_Aint)n * (MPI_Aint)sizeof *piece);
    MPI_Get_address(piece, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, before, 0, &theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return theirs;
}

static MPI_Aint element(MPI_Aint address, int i)
{
    return MPI_Aint_add(address, (MPI_Aint)(i * (int)sizeof(double)));
}

static int model(void)
{
    int *value, flag;

    MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag);
    return *value;
}

static void fences(void)
{
    MPI_Datatype column;
    MPI_Aint theirs;

    MPI_Type_vector(50, 1, 10, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    open_window();
    theirs = attach(memory, N);
    expect(model() == MPI_WIN_SEPARATE, "the model with a mirror");
    for (int round = 0; round < 3; round++) {
        MPI_Win_fence(0, win);
        fill(buffer, 500, 1e4 * rank + round, 1);
        MPI_Put(buffer, 500, MPI_DOUBLE, next, element(theirs, 100), 500, MPI_DOUBLE, win);
        MPI_Put(buffer, 50, MPI_DOUBLE, next, element(theirs, 1003), 1, column, win);
        fill(memory, 100, 2e4 * rank + round, 1); /* no other rank writes there */
        MPI_Win_fence(0, win);
        expect(has(memory + 100, 500, 1e4 * before + round, 1), "a put");
        for (int i = 0; i < 50; i++)
            expect(has(memory + 1003 + 10 * i, 1, 1e4 * before + round + i, 0), "a column");
        expect(has(memory + 1004, 9, -1, 0), "what lies between");
        MPI_Get(buffer, 100, MPI_DOUBLE, next, theirs, 100, MPI_DOUBLE, win);
        MPI_Win_fence(0, win);
        expect(has(buffer, 100, 2e4 * next + round, 1), "a get of what a rank has stored");
    }
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    MPI_Type_free(&column);
    result("fences");
}

static void locks(void)
{
    double one = 1, got[2];
    MPI_Aint theirs;

    open_window();
    theirs = attach(memory, N);
    for (int round = 0; round < 3; round++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        fill(memory, 10, 100 * rank + round, 1);
        MPI_Win_unlock(rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        MPI_Accumulate(&one, 1, MPI_DOUBLE, next, theirs, 1, MPI_DOUBLE, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &got[0], MPI_DOUBLE, next, element(theirs, 1), MPI_SUM, win);
        MPI_Get(&got[1], 1, MPI_DOUBLE, next, element(theirs, 2), 1, MPI_DOUBLE, win);
        MPI_Win_unlock(next, win);
        expect(got[0] == 100 * next + round + 1 && got[1] == got[0] + 1, "what is fetched");
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        expect(has(memory, 2, 100 * rank + round + 1, 1), "sums");
        MPI_Win_unlock(rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, memory);
    expect(has(memory, 2, 100 * rank + 3, 1), "what was added last");
    MPI_Win_free(&win);
    result("locks");
}

/* Pieces come and go while the window is locked, some of them where another one was. */
static void one_epoch(void)
{
    MPI_Aint theirs;

    open_window();
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 2 * PIECES; i++) {
        const int from = i % 3 * 500, n = 1000 + 100 * i;

        theirs = attach(memory + from, n);
        fill(buffer, n, 1e4 * rank + i, 1);
        for (int j = 0; j < n; j += n / 4)
            MPI_Put(buffer + j, n / 4, MPI_DOUBLE, next, element(theirs, j), n / 4, MPI_DOUBLE,
                    win);
        MPI_Win_flush(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(win);
        expect(has(memory + from, n, 1e4 * before + i, 1), "a put");
        MPI_Win_detach(win, memory + from);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    result("pieces that come and go in one epoch");
}

/* The request alone says that the get is complete. */
static void requests(void)
{
    MPI_Request request;
    MPI_Aint theirs;

    open_window();
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < PIECES; i++) {
        double *const piece = memory + i % 2 * 7;

        fill(memory, N, 1e4 * rank + i, 1);
        theirs = attach(piece, N - 10 - i);
        MPI_Rget(buffer, 100, MPI_DOUBLE, next, element(theirs, 9), 100, MPI_DOUBLE, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(has(buffer, 100, 1e4 * next + i + i % 2 * 7 + 9, 1), "a get");
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_detach(win, piece);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    result("gets that a request completes");
}

/* What was put before a flag in another piece is there when the flag is. */
static void flags(void)
{
    double *const large = device_alloc(2 * FLAG * sizeof *large);
    MPI_Aint theirs, flag;
    double seen;

    open_window();
    MPI_Win_lock_all(0, win);
    flag = attach(large, 1);
    attach(large + 1, FLAG - 1); /* which takes time to look at */
    theirs = attach(large + FLAG, FLAG);
    for (int round = 1; round <= 60; round++) {
        const double value = round;

        MPI_Put(&value, 1, MPI_DOUBLE, next, element(theirs, FLAG - 5), 1, MPI_DOUBLE, win);
        MPI_Win_flush(next, win);
        MPI_Put(&value, 1, MPI_DOUBLE, next, flag, 1, MPI_DOUBLE, win);
        MPI_Win_flush(next, win);
        do {
            int any;

            MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &any, MPI_STATUS_IGNORE);
            MPI_Win_sync(win);
            device_read(&seen, large, sizeof seen);
        } while (seen != round);
        expect(has(large + 2 * FLAG - 5, 1, round, 0), "what was put before a flag");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    device_free(large);
    result("a flag in another piece");
}

/* One call accesses blocks of one piece, or of host memory on both sides of one. */
static void blocks(void)
{
    MPI_Datatype two, around;
    MPI_Aint theirs;
    int error;

    MPI_Type_vector(2, 1, 200, MPI_DOUBLE, &two);
    MPI_Type_vector(2, 1, 1000, MPI_DOUBLE, &around);
    MPI_Type_commit(&two);
    MPI_Type_commit(&around);
    open_window();
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    theirs = attach(memory, 300);
    MPI_Win_attach(win, memory + 1000, 100 * sizeof *memory);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    fill(buffer, 2, 1e4 * rank, 1);
    error = MPI_Put(buffer, 2, MPI_DOUBLE, next, element(theirs, 5), 1, two, win);
    expect(error == MPI_SUCCESS, "two blocks of a piece");
    error = MPI_Put(buffer, 2, MPI_DOUBLE, next, element(theirs, 5), 1, around, win);
    expect(class_of(error) == MPI_ERR_RMA_RANGE, "blocks of two pieces");
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    expect(has(memory + 5, 1, 1e4 * before, 0) && has(memory + 205, 1, 1e4 * before + 1, 0),
           "a put of two blocks");
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Type_free(&two);
    MPI_Type_free(&around);
    result("blocks of pieces");
}

/* Pieces of both kinds of memory, in two windows, by fences. */
static void several(void)
{
    MPI_Aint theirs[PIECES];
    MPI_Win other;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    open_window();
    for (int i = 0; i < PIECES; i++)
        theirs[i] = attach(i % 2 ? of_host + 1000 * i : memory + 1000 * i, 900);
    MPI_Win_fence(0, other);
    MPI_Win_fence(0, win);
    fill(buffer, 900, 1e4 * rank, 1);
    for (int i = 0; i < PIECES; i++)
        MPI_Put(buffer, 900, MPI_DOUBLE, next, theirs[i], 900, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, other);
    for (int i = 0; i < PIECES; i++)
        expect(i % 2 ? of_host[1000 * i + 899] == 1e4 * before + 899
                     : has(memory + 1000 * i, 900, 1e4 * before, 1),
               "a put");
    for (int i = 1; i < PIECES; i += 2)
        MPI_Win_detach(win, of_host + 1000 * i);
    MPI_Win_free(&win); /* GPU memory is still attached */
    MPI_Win_free(&other);
    result("GPU and host memory");
}

static void faults(void)
{
    MPI_Aint theirs;
    int error;

    open_window();
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    theirs = attach(memory, 100);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    error = MPI_Put(host, 2, MPI_DOUBLE, next, element(theirs, 99), 2, MPI_DOUBLE, win);
    expect(class_of(error) == MPI_ERR_RMA_RANGE, "a put behind the end");
    MPI_Put(host, 1, MPI_DOUBLE, MPI_PROC_NULL, theirs, 1, MPI_DOUBLE, win);
    MPI_Put(host, 0, MPI_DOUBLE, next, theirs, 0, MPI_DOUBLE, win);
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    error = MPI_Win_attach(win, memory + 200, (MPI_Aint)1 << 30);
    expect(class_of(error) == MPI_ERR_BUFFER, "more than what is there");
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    result("faults");
}

/* More pieces than there is room for. */
static void full(void)
{
    int n = 0, error = MPI_SUCCESS;

    open_window();
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    while (error == MPI_SUCCESS && n < 200) {
        error = MPI_Win_attach(win, memory + n, sizeof *memory);
        n += error == MPI_SUCCESS;
    }
    expect(n == 128, "pieces in one window");
    for (int i = 0; i < n; i++)
        expect(MPI_Win_detach(win, memory + i) == MPI_SUCCESS, "MPI_Win_detach");
    expect(MPI_Win_attach(win, memory, N * sizeof *memory) == MPI_SUCCESS, "there is room again");
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    result("a window that is full");
}

/* Open MPI 4.1 makes no window on a machine without a network, or of one rank. */
static bool mpi_makes_windows(void)
{
    bool made;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    made = MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return made;
}

/* A window that was made before any rank had used CUDA has no place for GPU memory. */
static void early(void)
{
    device_start();
    memory = device_alloc(N * sizeof *memory);
    buffer = device_alloc(N * sizeof *buffer);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    expect(class_of(MPI_Win_attach(win, memory, 80)) == MPI_ERR_BUFFER, "MPI_Win_attach");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    result("a window from before the ranks used CUDA");
}

/* Of host memory alone, where some rank may be without the library. */
static void host_alone(void)
{
    const double value = rank;
    MPI_Aint theirs = attach(of_host, N);

    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_DOUBLE, next, element(theirs, 7), 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    expect(of_host[7] == before, "a put");
    MPI_Win_detach(win, of_host);
    MPI_Win_free(&win);
    result("host memory");
}

static void all_tests(void)
{
    early();
    fences();
    locks();
    one_epoch();
    requests();
    flags();
    blocks();
    several();
    faults();
    full();
    device_free(buffer);
    device_free(memory);
}

/* `attached host`: no rank uses CUDA. */
int main(int argc, char **argv)
{
    /* Open MPI 4.1 has room for 64 pieces, and its MPI_Win_detach hangs after one that found none. */
    setenv("OMPI_MCA_osc_rdma_max_attach", "200", 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    if (mpi_makes_windows())
        argc > 1 && strcmp(argv[1], "host") == 0 ? host_alone() : all_tests();
    else if (rank == 0)
        tap_skip("dynamic windows over several nodes", "this MPI makes none here");
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
