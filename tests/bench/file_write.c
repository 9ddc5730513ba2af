/* What writing and reading 1 GiB of a file takes, from and to GPU memory and host memory, in a program that knows
 * nothing of gpubind. From the build folder, or wherever the file is to be:
 *   make tests/bench/file_write && mpirun -np 1 bin/gpubind --gpu-aware tests/bench/file_write [FILE]
 * FILE is file_write.data unless named, and is removed. Medians of 5 turns, GB/s; the page cache has the file. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/device.h"

#define NBYTES (1 << 30)
#define TURNS 5

static MPI_File file;

static void check(int result, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (result == MPI_SUCCESS)
        return;
    MPI_Error_string(result, text, &length);
    fprintf(stderr, "file_write: %s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static double do_write(void *buffer)
{
    const double before = MPI_Wtime();

    check(MPI_File_write_at(file, 0, buffer, NBYTES, MPI_BYTE, MPI_STATUS_IGNORE), "write");
    return MPI_Wtime() - before;
}

static double do_read(void *buffer)
{
    const double before = MPI_Wtime();

    check(MPI_File_read_at(file, 0, buffer, NBYTES, MPI_BYTE, MPI_STATUS_IGNORE), "read");
    return MPI_Wtime() - before;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Both kinds of memory in turn, as the file's pages and the machine are the same for both then. */
static void measure(const char *name, double (*call)(void *), void *gpu, void *host)
{
    double of_gpu[TURNS], of_host[TURNS];

    call(gpu); /* makes all ready */
    call(host);
    for (int i = 0; i < TURNS; i++) {
        of_gpu[i] = call(gpu);
        of_host[i] = call(host);
    }
    qsort(of_gpu, TURNS, sizeof *of_gpu, compare);
    qsort(of_host, TURNS, sizeof *of_host, compare);
    printf("%5s: GPU memory %6.2f, host memory %6.2f GB/s, of that %3.0f %%\n", name,
           NBYTES / of_gpu[TURNS / 2] / 1e9, NBYTES / of_host[TURNS / 2] / 1e9,
           100 * of_host[TURNS / 2] / of_gpu[TURNS / 2]);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "file_write.data";
    void *gpu, *host = malloc(NBYTES);

    MPI_Init(&argc, &argv);
    if (!host) {
        fprintf(stderr, "file_write: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(host, 1, NBYTES);
    device_start();
    gpu = device_alloc(NBYTES);
    device_write(gpu, host, NBYTES);
    check(MPI_File_open(MPI_COMM_SELF, name,
                        MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &file),
          name);
    measure("write", do_write, gpu, host);
    measure("read", do_read, gpu, host);
    check(MPI_File_close(&file), "close");
    device_free(gpu);
    free(host);
    MPI_Finalize();
    return 0;
}
