/* Puts and gets between GPU memory without gaps are one copy each, from GPU to GPU: the test makes copies to and
 * from the host fail, through which they would be several times slower, and right all the same. */
#include <mpi.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#define NBYTES (1 << 20)

static unsigned char *window_memory, *buffer, host[NBYTES];
static MPI_Win win;

static void fill(unsigned char *at, int first)
{
    for (int i = 0; i < NBYTES; i++)
        host[i] = (unsigned char)(first + i * 7);
    device_write(at, host, NBYTES);
}

static void expect(const unsigned char *at, int n, int first, const char *what)
{
    device_read(host, at, (size_t)n);
    for (int i = 0; i < n; i++)
        if (host[i] != (unsigned char)(first + i * 7) && wrong++ == 0)
            tap_diag("rank %d: %s of %d bytes: byte %d is %d", rank, what, n, i, host[i]);
}

static void expect_success(int result, const char *what)
{
    if (result != MPI_SUCCESS && wrong++ == 0)
        tap_diag("rank %d: %s has failed", rank, what);
}

static void put_and_get(int n, MPI_Datatype type, int count)
{
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;

    fill(window_memory, 0);
    fill(buffer, rank);
    MPI_Win_fence(0, win);
    expect_success(MPI_Put(buffer, count, type, right, 0, count, type, win), "MPI_Put");
    MPI_Win_fence(0, win);
    expect(window_memory, n, left, "put");
    expect_success(MPI_Get(buffer, count, type, right, 0, count, type, win), "MPI_Get");
    MPI_Win_fence(0, win);
    expect(buffer, n, rank, "get");
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Datatype rows;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    window_memory = device_alloc(NBYTES);
    buffer = device_alloc(NBYTES);
    MPI_Type_contiguous(500, MPI_DOUBLE, &rows);
    MPI_Type_commit(&rows);
    MPI_Win_create(window_memory, NBYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    put_and_get(8, MPI_DOUBLE, 1);
    put_and_get(1000, MPI_BYTE, 1000);
    put_and_get(NBYTES, MPI_BYTE, NBYTES);
    put_and_get(20000, rows, 5);
    MPI_Win_free(&win);
    MPI_Type_free(&rows);
    device_free(window_memory);
    device_free(buffer);
    result("puts and gets between GPUs are one copy each");
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
