/* Reads and writes of much GPU memory by one rank: the file, the buffer, the status and the file's pointer are
 * those of the same calls with host memory. TEST_FILE: a name for a file that all ranks can open. */
#include <stdlib.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

enum { N = 7000003, TRIPLE = 3 }; /* floats: 26.7 MiB, and no multiple of anything */

static MPI_File file;
static float *gpu, *host, *got;

static void fill(float start)
{
    for (int i = 0; i < N; i++)
        host[i] = start < 0 ? -1 : start + (float)(i % 1000003);
    device_write(gpu, host, N * sizeof *host);
}

static void expect(bool good, const char *what)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s", rank, what);
}

static void expect_count(MPI_Status *status, int wanted, const char *what)
{
    int count = -1;

    MPI_Get_count(status, MPI_FLOAT, &count);
    expect(count == wanted, what);
}

/* Of n floats that host has from first on, -1 behind them. */
static void compare(int first, int n, const char *what)
{
    bool same;

    device_read(got, gpu, N * sizeof *got);
    same = memcmp(got, host + first, (size_t)n * sizeof *got) == 0;
    for (int i = n; i < N && same; i++)
        same = got[i] == -1;
    expect(same, what);
}

static void clear(void)
{
    for (int i = 0; i < N; i++)
        got[i] = -1;
    device_write(gpu, got, N * sizeof *got);
}

static void in_host_memory(const char *what)
{
    MPI_Status status;

    MPI_File_read_at(file, (MPI_Offset)rank * N, got, N, MPI_FLOAT, &status);
    expect_count(&status, N, "the status of a read to host memory");
    expect(memcmp(got, host, N * sizeof *got) == 0, what);
}

static void test_at(void)
{
    MPI_Status status;

    fill(1000 + rank);
    MPI_File_write_at(file, (MPI_Offset)rank * N, gpu, N, MPI_FLOAT, &status);
    expect_count(&status, N, "the status of MPI_File_write_at");
    in_host_memory("what MPI_File_write_at wrote");
    clear();
    MPI_File_read_at(file, (MPI_Offset)rank * N, gpu, N, MPI_FLOAT, &status);
    expect_count(&status, N, "the status of MPI_File_read_at");
    compare(0, N, "what MPI_File_read_at read");
    MPI_File_read_at(file, (MPI_Offset)rank * N, gpu, N, MPI_FLOAT, MPI_STATUS_IGNORE);
    compare(0, N, "the same without a status");
    result("26 MiB at an offset");
}

static void test_pointer(void)
{
    MPI_Offset at = -1;
    MPI_Status status;

    fill(5000 + rank);
    MPI_File_seek(file, (MPI_Offset)rank * N, MPI_SEEK_SET);
    MPI_File_write(file, gpu, N, MPI_FLOAT, &status);
    expect_count(&status, N, "the status of MPI_File_write");
    MPI_File_get_position(file, &at);
    expect(at == (MPI_Offset)(rank + 1) * N, "the pointer behind what was written");
    in_host_memory("what MPI_File_write wrote");
    clear();
    MPI_File_seek(file, (MPI_Offset)rank * N, MPI_SEEK_SET);
    MPI_File_read(file, gpu, N, MPI_FLOAT, &status);
    expect_count(&status, N, "the status of MPI_File_read");
    compare(0, N, "what MPI_File_read read");
    result("26 MiB at the file's pointer");
}

/* What a read does not reach stays as it was. */
static void test_end(void)
{
    const int first = 5000000, left = N - first;

    clear();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        MPI_Status status;

        MPI_File_read_at(file, (MPI_Offset)rank * N + first, gpu, N, MPI_FLOAT, &status);
        expect_count(&status, left, "the status of a read at the end of the file");
        compare(first, left, "what a read at the end of the file gave");
    }
    result("a read across the end of the file");
}

/* Units of three floats; the file has a thousand of them, and then as much that it has not. */
static void test_view(void)
{
    const int n = N / TRIPLE * TRIPLE;
    MPI_Datatype triple, thousand, every_second;
    MPI_Status status;

    MPI_Type_contiguous(TRIPLE, MPI_FLOAT, &triple);
    MPI_Type_contiguous(1000, triple, &thousand);
    MPI_Type_create_resized(thousand, 0, 2 * 1000 * TRIPLE * sizeof(float), &every_second);
    MPI_Type_commit(&triple);
    MPI_Type_commit(&every_second);
    MPI_File_set_view(file, (MPI_Offset)rank * 3 * N * (MPI_Offset)sizeof(float), triple,
                      every_second, "native", MPI_INFO_NULL);
    fill(9000 + rank);
    MPI_File_write_at(file, 0, gpu, n, MPI_FLOAT, &status);
    expect_count(&status, n, "the status of a write through a view");
    MPI_File_read_at(file, 0, got, n, MPI_FLOAT, &status);
    expect(memcmp(got, host, (size_t)n * sizeof *got) == 0, "what was written through a view");
    clear();
    MPI_File_read_at(file, 0, gpu, n, MPI_FLOAT, &status);
    expect_count(&status, n, "the status of a read through a view");
    compare(0, n, "what was read through a view");
    MPI_Type_free(&triple);
    MPI_Type_free(&thousand);
    MPI_Type_free(&every_second);
    result("26 MiB through a view with gaps");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    gpu = device_alloc(N * sizeof *gpu);
    host = malloc(N * sizeof *host);
    got = malloc(N * sizeof *got);
    MPI_File_open(MPI_COMM_WORLD, getenv("TEST_FILE"),
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_FLOAT, MPI_FLOAT, "native", MPI_INFO_NULL);
    test_at();
    test_pointer();
    test_end();
    test_view();
    MPI_File_close(&file);
    free(host);
    free(got);
    device_free(gpu);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
