/* Whose error handler is called for a call to GPU memory of a window. Rank 0 prints the results. */
#include <mpi.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

static int nworld, nself, nwindow, last;

static void expect(bool good, const char *what)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s", rank, what);
}

static void world_handler(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    nworld++;
}

static void self_handler(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    nself++;
}

static void window_handler(MPI_Win *win, int *error, ...)
{
    (void)win;
    nwindow++;
    MPI_Error_class(*error, &last);
}

static void set_handler(MPI_Comm comm, MPI_Comm_errhandler_function *function)
{
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(function, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
}

/* The call has returned error, and wants that class, or none: MPI_SUCCESS. */
static void expect_class(int error, int wanted, const char *what)
{
    int class;

    MPI_Error_class(error, &class);
    expect(class == wanted, what);
    expect(nworld == 0 && nself == 0, "no handler of a communicator is called");
    expect(nwindow == (wanted != MPI_SUCCESS) && (wanted == MPI_SUCCESS || last == wanted),
           "the window's handler is called once");
    nworld = nself = nwindow = 0;
}

static void add(void *from, void *to, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((double *)to)[i] += ((double *)from)[i];
}

static void operations(MPI_Win win)
{
    const int next = (rank + 1) % size;
    double number = 1, fetched, numbers[4] = {1, 2};
    MPI_Datatype pair, both;
    MPI_Request request;
    MPI_Op own;

    MPI_Op_create(add, 1, &own);
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_contiguous(1, MPI_DOUBLE_INT, &both);
    MPI_Type_commit(&both);
    for (int i = 0; i < 2; i++) { /* again, where the answer is known */
        expect_class(MPI_Accumulate(&number, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, MPI_BAND, win),
                     MPI_ERR_OP, "bits of a double");
        expect_class(MPI_Fetch_and_op(&number, &fetched, MPI_DOUBLE, next, 0, MPI_MAXLOC, win),
                     MPI_ERR_OP, "the place of a double");
        expect_class(MPI_Get_accumulate(numbers, 1, pair, numbers + 2, 1, pair, next, 0, 1, pair,
                                        MPI_BXOR, win),
                     MPI_ERR_OP, "bits of a derived type");
        expect_class(MPI_Get_accumulate(numbers, 0, pair, numbers + 2, 0, pair, next, 0, 0, pair,
                                        MPI_SUM, win),
                     MPI_SUCCESS, "sums of no elements");
        expect_class(MPI_Accumulate(&number, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, MPI_SUM, win),
                     MPI_SUCCESS, "a sum of doubles");
        expect_class(MPI_Accumulate(&number, 0, both, next, 0, 0, both, MPI_MINLOC, win),
                     MPI_SUCCESS, "the place of pairs");
        expect_class(
            MPI_Accumulate(&number, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, MPI_REPLACE, win),
            MPI_SUCCESS, "a replacement");
        expect_class(MPI_Accumulate(&number, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, own, win),
                     MPI_ERR_OP, "the program's own operation");
        expect_class(MPI_Fetch_and_op(NULL, &fetched, MPI_DOUBLE, next, 0, MPI_NO_OP, win),
                     MPI_SUCCESS, "no operation");
    }
    expect_class(
        MPI_Raccumulate(&number, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, MPI_BOR, win, &request),
        MPI_ERR_OP, "bits of a double, with a request");
    MPI_Op_free(&own);
    MPI_Type_free(&pair);
    MPI_Type_free(&both);
    result("operations that a type does not have");
}

/* They are the application's again. */
static void handlers(void)
{
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER);
    expect(nworld == 1 && nself == 1, "the communicators' handlers are called");
    nworld = nself = 0;
    result("the communicators' handlers are there");
}

static void with_window(void)
{
    double *memory = device_alloc(64 * sizeof *memory);
    MPI_Errhandler handler;
    MPI_Win win;

    MPI_Win_create(memory, 64 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &win);
    MPI_Win_create_errhandler(window_handler, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Errhandler_free(&handler);
    set_handler(MPI_COMM_WORLD, world_handler);
    set_handler(MPI_COMM_SELF, self_handler);
    MPI_Win_fence(0, win);
    operations(win);
    handlers();
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Win_free(&win);
    device_free(memory);
}

/* Of host memory, where MPI_NO_OP ignores the origin's buffer, GPU memory that was freed. */
static void not_given(void)
{
    const int next = (rank + 1) % size;
    double *freed = device_alloc(4096), *memory, fetched[2] = {-1, -1};
    MPI_Win win;

    device_free(freed);
    MPI_Win_allocate(4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    *memory = 5 + rank;
    MPI_Win_fence(0, win);
    expect(MPI_Get_accumulate(freed, 1, MPI_DOUBLE, &fetched[0], 1, MPI_DOUBLE, next, 0, 1,
                              MPI_DOUBLE, MPI_NO_OP, win) == MPI_SUCCESS &&
               MPI_Fetch_and_op(freed, &fetched[1], MPI_DOUBLE, next, 0, MPI_NO_OP, win) ==
                   MPI_SUCCESS,
           "no operation");
    MPI_Win_fence(0, win);
    expect(fetched[0] == 5 + next && fetched[1] == 5 + next, "what is fetched");
    MPI_Win_free(&win);
    result("a buffer that no operation reads");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    with_window();
    not_given();
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
