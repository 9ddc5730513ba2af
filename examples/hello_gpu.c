/* Every rank says where it runs and which GPU it was given, in order of rank.
 *
 *     mpicc hello_gpu.c -o hello_gpu
 *     mpirun -np 4 gpubind ./hello_gpu
 *
 * GPUBIND_ROLE is "gpu", "idle" or "master"; a program that divides its work over
 * the ranks with a GPU splits its communicator by it, as done here. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : "-";
}

int main(int argc, char **argv)
{
    char line[512], host[MPI_MAX_PROCESSOR_NAME];
    int rank, size, length, has_gpu, workers = 0;
    MPI_Comm with_gpu;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);

    has_gpu = strcmp(variable("GPUBIND_ROLE"), "gpu") == 0;
    MPI_Comm_split(MPI_COMM_WORLD, has_gpu ? 0 : MPI_UNDEFINED, rank, &with_gpu);
    if (with_gpu != MPI_COMM_NULL) {
        MPI_Comm_size(with_gpu, &workers);
        MPI_Comm_free(&with_gpu);
    }

    snprintf(line, sizeof line,
             "rank %d of %d on %s: role %s, GPU %s, CPUs %s, %d ranks with a GPU", rank, size, host,
             variable("GPUBIND_ROLE"), variable("GPUBIND_GPU_PCI"), variable("GPUBIND_CPUS"),
             workers);
    if (rank == 0)
        puts(line);
    for (int from = 1; from < size; from++) {
        if (rank == from)
            MPI_Send(line, sizeof line, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Recv(line, sizeof line, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            puts(line);
        }
    }
    MPI_Finalize();
    return 0;
}
