/* A step of a code as gpubind-port(7) shows it, in a program that checks what came: port.t takes the
 * lines from the page and builds this file once for each fragment (FRAGMENT), with gpubind.h or
 * without (RENAMED). Each rank computes an edge in a stream that does not block, its southern
 * neighbour gets it as its halo, and a later kernel of that stream reads it there. */
#ifdef RENAMED
#include <gpubind.h>
#endif
#include <mpi.h>
#include <stdint.h>

#include "examples/device.h"

enum { N = 20000, STEPS = 20 };

/* ---- what of CUDA's runtime the fragments call */

typedef struct CUstream_st *cudaStream_t;
enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };

static inline int cudaMemcpyAsync(void *to, const void *from, size_t nbytes, int kind,
                                  cudaStream_t in)
{
    int (*copy)(uintptr_t, uintptr_t, size_t, cudaStream_t);

    (void)kind;
    *(void **)&copy = device_call("cuMemcpyAsync");
    device_check(copy((uintptr_t)to, (uintptr_t)from, nbytes, in), "cuMemcpyAsync");
    return 0;
}

static inline int cudaStreamSynchronize(cudaStream_t in)
{
    device_wait(in);
    return 0;
}

static void *page_locked(size_t nbytes)
{
    int (*alloc)(void **, size_t, unsigned);
    void *memory;

    *(void **)&alloc = device_call("cuMemHostAlloc");
    device_check(alloc(&memory, nbytes, 0), "cuMemHostAlloc");
    return memory;
}

/* ---- what the fragments find */

static const int n = N, steps = STEPS;
static const size_t bytes = N * sizeof(double);
static int rank, size, north, south, inner;
static MPI_Comm comm = MPI_COMM_WORLD;
static cudaStream_t stream;
static double *edge, *halo, *host_edge, *host_halo;
static double *edges[STEPS], *halos[STEPS]; /* of each step: what is computed, what came */
static int computed, used;

/* Stand for kernels. */
static inline void compute_edge(cudaStream_t in)
{
    cudaMemcpyAsync(edge, edges[computed++], bytes, cudaMemcpyDeviceToDevice, in);
}

static inline void use_halo(cudaStream_t in)
{
    cudaMemcpyAsync(halos[used++], halo, bytes, cudaMemcpyDeviceToDevice, in);
}

static inline void compute_inner(cudaStream_t in)
{
    (void)in;
    inner++;
}

/* What a rank sends in a step. */
static inline int number_of(int of_rank, int step)
{
    return 1000 * (of_rank + 1) + step;
}

#ifdef RENAMED
/* NCCL takes no simulated GPU. A group starts its messages together, and later work in the stream
 * comes after all of them. */
typedef MPI_Comm ncclComm_t;
static ncclComm_t nccl = MPI_COMM_WORLD;
enum { NCCL_TAG = 9 };
#define ncclDouble MPI_DOUBLE
#define ncclGroupStart() 0
#define ncclGroupEnd() gpubind_quiet_on_stream(stream)
#define ncclSend(buf, count, type, peer, comm, in) \
    gpubind_isend_on_stream(buf, (int)(count), type, peer, NCCL_TAG, comm, in)
#define ncclRecv(buf, count, type, peer, comm, in) \
    gpubind_irecv_on_stream(buf, (int)(count), type, peer, NCCL_TAG, comm, in)

/* Requests of both kinds: a number of the host goes with each halo. */
static gpubind_request gpu_requests[2];
static MPI_Request host_requests[2];
static int gpu_done, host_done, told, heard;

static inline void start_both(void)
{
    told = number_of(rank, computed - 1);
    cudaStreamSynchronize(stream);
    MPI_Irecv(&heard, 1, MPI_INT, north, 3, comm, &host_requests[0]);
    MPI_Isend(&told, 1, MPI_INT, south, 3, comm, &host_requests[1]);
    gpubind_irecv(halo, n, MPI_DOUBLE, north, 3, comm, &gpu_requests[0]);
    gpubind_isend(edge, n, MPI_DOUBLE, south, 3, comm, &gpu_requests[1]);
}
#endif

static void exchange(void)
{
#include FRAGMENT
}

/* ---- the frame around them */

static void fill(double *gpu, double value)
{
    static double numbers[N];

    for (int i = 0; i < N; i++)
        numbers[i] = value;
    device_write(gpu, numbers, sizeof numbers);
}

static void set_up(void)
{
    device_start();
    stream = device_stream();
    edge = device_alloc(bytes);
    halo = device_alloc(bytes);
    fill(edge, -1);
    fill(halo, -2);
    host_edge = page_locked(bytes);
    host_halo = page_locked(bytes);
    for (int i = 0; i < STEPS; i++) {
        edges[i] = device_alloc(bytes);
        halos[i] = device_alloc(bytes);
        fill(edges[i], number_of(rank, i));
        fill(halos[i], -3);
    }
}

static int count_wrong(void)
{
    static double came[N];
    int wrong = used != STEPS || computed != STEPS;

    for (int step = 0; step < STEPS; step++) {
        device_read(came, halos[step], sizeof came);
        for (int i = 0; i < N; i++)
            wrong += came[i] != number_of(north, step);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int wrong, all_wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    north = (rank + size - 1) % size;
    south = (rank + 1) % size;
    set_up();
    MPI_Barrier(comm);
    while (used < STEPS)
        exchange();
    cudaStreamSynchronize(stream);
    wrong = count_wrong();
#ifdef RENAMED
    wrong += heard && heard != number_of(north, STEPS - 1);
#endif
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, comm);
    if (rank == 0)
        printf("%d ranks: %d numbers are wrong\n", size, all_wrong);
    MPI_Finalize();
    return all_wrong > 0;
}
