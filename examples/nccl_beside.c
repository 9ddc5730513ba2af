/* NCCL for collectives, gpubind for messages from rank to rank, in the same memory.
 * NCCL wants the ranks that have a GPU, each one of its own; gpubind_comm_gpus has them.
 *
 *     mpicc nccl_beside.c -o nccl_beside -I/usr/local/cuda/include \
 *         $(pkg-config --cflags --libs gpubind) -L/usr/local/cuda/lib64 -lnccl
 *     mpirun -np 9 gpubind --master 0 ./nccl_beside        # a node with 8 GPUs
 */
#include <gpubind.h>
#include <mpi.h>
#include <nccl.h>
#include <stdio.h>

#include "device.h"

enum { COUNT = 1 << 20 };

static void must(ncclResult_t result)
{
    if (result == ncclSuccess)
        return;
    fprintf(stderr, "NCCL: %s\n", ncclGetErrorString(result));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static ncclComm_t nccl_comm(MPI_Comm comm)
{
    ncclUniqueId id;
    ncclComm_t nccl;
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == 0)
        must(ncclGetUniqueId(&id));
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, comm);
    must(ncclCommInitRank(&nccl, size, id, rank));
    return nccl;
}

/* Sums over all GPUs by NCCL, then the sum goes round by gpubind. Returns what is wrong. */
static int work(MPI_Comm gpus)
{
    static double host[COUNT];
    ncclComm_t nccl;
    void *sum, *north_sum;
    int rank, size, north, south, wrong = 0;
    char pci[32];

    MPI_Comm_rank(gpus, &rank);
    MPI_Comm_size(gpus, &size);
    device_start();
    device_number(pci);
    nccl = nccl_comm(gpus);
    gpubind_neighbors(gpus, 1, &north, &south);
    gpubind_alloc(&sum, sizeof host);
    gpubind_alloc(&north_sum, sizeof host);
    for (int i = 0; i < COUNT; i++)
        host[i] = rank + i;
    device_write(sum, host, sizeof host);

    /* In the default stream, which the next call comes after. */
    must(ncclAllReduce(sum, sum, COUNT, ncclDouble, ncclSum, nccl, NULL));
    gpubind_sendrecv(sum, COUNT, MPI_DOUBLE, south, 0, north_sum, COUNT, MPI_DOUBLE, north, 0, gpus,
                     MPI_STATUS_IGNORE);

    device_read(host, north_sum, sizeof host);
    for (int i = 0; i < COUNT; i++)
        wrong += host[i] != size * (double)i + size * (size - 1) / 2;
    printf("rank %d of %d GPUs, %s: %d sums are wrong\n", rank, size, pci, wrong);
    gpubind_free(north_sum);
    gpubind_free(sum);
    must(ncclCommDestroy(nccl));
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Comm gpus;
    int wrong = 0;

    MPI_Init(&argc, &argv);
    gpubind_comm_gpus(MPI_COMM_WORLD, &gpus);
    if (gpus != MPI_COMM_NULL) {
        wrong = work(gpus);
        MPI_Comm_free(&gpus);
    }
    MPI_Finalize();
    return wrong > 0;
}
