/* Kernels pass numbers round a ring of GPUs: each doubles its own and puts them to the
 * next rank, with a signal; the same kernel waits for what comes and adds it up.
 *
 *     nvcc -ccbin mpicxx -DNDEBUG device_put.cu -o device_put $(pkg-config --cflags --libs gpubind)
 *     mpirun -np 2 gpubind ./device_put
 */
#include <cstdio>
#include <cstdlib>

#include <gpubind.h>
#include <gpubind_device.cuh>
#include <mpi.h>

enum { N = 1 << 20, BLOCKS = 8, THREADS = 256 };

static void must(cudaError_t status)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "%s\n", cudaGetErrorString(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* *sum: of what came. No more blocks than run at once, since they wait for others. */
__global__ void pass(const gpubind_device_win *win, unsigned long long *mine, int n,
                     unsigned long long *sum)
{
    const int next = (gpubind_rank(win) + 1) % gpubind_size(win);
    const int each = (n + gridDim.x - 1) / gridDim.x;
    const int first = min(n, (int)blockIdx.x * each), last = min(n, first + each);
    const unsigned long long *came =
        static_cast<const unsigned long long *>(gpubind_at(win, gpubind_rank(win), 0));

    for (int i = first + threadIdx.x; i < last; i += blockDim.x)
        mine[i] *= 2;
    __syncthreads();
    gpubind_put_signal_block(win, next, 8ull * first, mine + first, 8ull * (last - first), 0, 1,
                             GPUBIND_SIGNAL_ADD);

    if (threadIdx.x == 0) /* all blocks of the rank before */
        gpubind_wait_signal(win, 0, GPUBIND_GE, gridDim.x);
    __syncthreads();
    for (int i = first + threadIdx.x; i < last; i += blockDim.x)
        atomicAdd(sum, came[i]);
}

int main(int argc, char **argv)
{
    unsigned long long *mine, *numbers, sum = 0, wanted = 0;
    const gpubind_device_win *device;
    gpubind_win win;
    void *theirs;
    int rank, size, before, wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    before = (rank + size - 1) % size;
    must(cudaMalloc(&mine, (N + 1) * sizeof *mine));
    numbers = static_cast<unsigned long long *>(calloc(N + 1, sizeof *numbers));
    for (int i = 0; i < N; i++) {
        numbers[i] = rank + i;
        wanted += 2ull * (before + i);
    }
    must(cudaMemcpy(mine, numbers, (N + 1) * sizeof *mine, cudaMemcpyHostToDevice));

    gpubind_win_allocate(MPI_COMM_WORLD, N * sizeof *mine, 1, &win);
    gpubind_win_device(win, &device);
    gpubind_win_pointer(win, (rank + 1) % size, &theirs, NULL);
    if (!theirs) {
        fprintf(stderr, "rank %d: the GPU of the next rank cannot be reached\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    pass<<<BLOCKS, THREADS>>>(device, mine, N, mine + N);
    must(cudaDeviceSynchronize());
    must(cudaMemcpy(&sum, mine + N, sizeof sum, cudaMemcpyDeviceToHost));
    gpubind_win_free(&win);

    wrong = sum != wanted;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %d sums are wrong\n", size, wrong);
    must(cudaFree(mine));
    free(numbers);
    MPI_Finalize();
    return wrong > 0;
}
