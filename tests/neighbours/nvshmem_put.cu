/* An NVSHMEM program under gpubind: each rank's kernel puts a number to the next rank.
 * tests/mpi/neighbours_gpu.t compiles and runs it. Says which GPU the rank uses. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <strings.h>

static void must(cudaError_t status)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "%s\n", cudaGetErrorString(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The GPU that the launcher chose, wherever it stands among the visible ones. */
static void choose_gpu(char pci[32])
{
    const char *wanted = getenv("GPUBIND_GPU_PCI");
    int count = 0, device = 0;

    must(cudaGetDeviceCount(&count));
    for (int i = 0; i < count; i++) {
        must(cudaDeviceGetPCIBusId(pci, 32, i));
        if (wanted && strncasecmp(wanted, pci, strlen(pci)) == 0)
            device = i;
    }
    must(cudaSetDevice(device));
    must(cudaDeviceGetPCIBusId(pci, 32, device));
}

__global__ void put(int *target, int me, int n)
{
    nvshmem_int_p(target, 1000 + me, (me + 1) % n);
}

int main(int argc, char **argv)
{
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    int rank, size, got = 0, wrong;
    char pci[32] = "";
    int *target;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    choose_gpu(pci);
    if (rank == 0)
        nvshmemx_get_uniqueid(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    nvshmemx_set_attr_uniqueid_args(rank, size, &id, &attributes);
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0) {
        fprintf(stderr, "NVSHMEM does not start\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }

    target = static_cast<int *>(nvshmem_malloc(sizeof *target));
    put<<<1, 1>>>(target, nvshmem_my_pe(), nvshmem_n_pes());
    must(cudaDeviceSynchronize());
    nvshmem_barrier_all();
    must(cudaMemcpy(&got, target, sizeof got, cudaMemcpyDeviceToHost));
    wrong = got != 1000 + (rank + size - 1) % size;
    printf("rank %d of %d GPUs, %s: %d numbers are wrong\n", rank, size, pci, wrong);
    nvshmem_free(target);
    nvshmem_finalize();
    MPI_Finalize();
    return wrong;
}
