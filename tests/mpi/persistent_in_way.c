/* Persistent messages and halos whose memory cannot be mapped when they are first started, as freed memory is in the way and
 * the GPU busy: they are passed by messages, and connect later. For two ranks. */
#include <unistd.h>

#include "tests/mpi/in_way.h"
#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { NBYTES = 3 << 20, RELAXED = 2, CELLS = 300000, WIDTH = 1000 };

static struct CUstream_st *stream, *held;
static struct buffer ours, other;

/* Rank 1's GPU is busy: by a stream that waits for a message, or for some time. */
static void keep_busy(bool waits)
{
    if (job.rank == 1 && waits)
        succeeds(gpubind_recv_on_stream(other.at, NBYTES, MPI_BYTE, 0, 9, MPI_COMM_WORLD, held),
                 "receive");
    for (int i = 0; job.rank == 1 && !waits && gpu_count > 0 && i < 10; i++)
        gpu_keep_busy(CUDA_LEGACY_STREAM);
    job_barrier();
}

static void let_go(bool waits)
{
    if (job.rank == 0 && waits)
        succeeds(MPI_GPUSend(other.at, NBYTES, MPI_BYTE, 1, 9, MPI_COMM_WORLD), "send");
    cuda.cuCtxSynchronize();
    job_barrier();
    usleep(50000);
    gpubind_progress(); /* closes the old mapping */
    job_barrier();
}

static void launch_captured(int (*start)(void *), void *argument)
{
    struct CUgraphExec_st *exec;

    is_int(cuda.cuStreamBeginCapture_v2(stream, RELAXED), CUDA_OK, "the capture's begin");
    succeeds(start(argument), "captured start");
    exec = graph_captured(stream);
    job_barrier();
    is_int(cuda.cuGraphLaunch(exec, stream), CUDA_OK, "cuGraphLaunch");
    stream_ends(stream);
    cuda.cuGraphExecDestroy(exec);
    job_barrier();
}

static int start_request(void *request)
{
    return gpubind_startall_on_stream(1, request, stream);
}

static int exchange_halo(void *halo)
{
    return gpubind_halo_exchange_on_stream(*(gpubind_halo *)halo, 0, stream);
}

static void fill(int round)
{
    if (job.rank == 0)
        buffer_reset(&ours);
    else
        buffer_fill(&ours, 0, NBYTES, 20 + (uint64_t)round);
}

static void expect_round(int round)
{
    if (job.rank == 0)
        received(&ours, NBYTES, 20 + (uint64_t)round, "of a persistent message");
}

/* Rank 0 receives where the freed memory was. */
static void persistent(bool waits)
{
    gpubind_request request;

    map_and_free(1, NBYTES);
    need_buffer(&ours, MEMORY_DEVICE, NBYTES);
    keep_busy(waits);
    if (job.rank == 0)
        succeeds(gpubind_recv_init(ours.at, NBYTES, MPI_BYTE, 1, 4, MPI_COMM_WORLD, &request),
                 "recv_init");
    else
        succeeds(gpubind_send_init(ours.at, NBYTES, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &request),
                 "send_init");
    for (int round = 0; round < 3; round++) {
        fill(round);
        succeeds(start_request(&request), "start");
        stream_ends(stream);
        expect_round(round);
        if (round == 0)
            let_go(waits);
    }
    fill(3);
    launch_captured(start_request, &request);
    expect_round(3);
    succeeds(gpubind_request_free(&request), "free");
}

static void halo(bool waits)
{
    const struct gpubind_halo_grid grid = {
        .ndims = 1, .periodic = {1}, .cells = {CELLS}, .width = {WIDTH}, .element = MPI_DOUBLE};
    void *arrays[1];
    gpubind_halo made;

    map_and_free(1, NBYTES);
    need_buffer(&ours, MEMORY_DEVICE, NBYTES);
    buffer_fill(&ours, 0, NBYTES, 30 + (uint64_t)job.rank);
    arrays[0] = ours.at;
    keep_busy(waits);
    succeeds(gpubind_halo_create(MPI_COMM_WORLD, &grid, 1, arrays, &made), "halo_create");
    succeeds(exchange_halo(&made), "exchange");
    stream_ends(stream);
    let_go(waits);
    for (int i = 0; i < 2; i++) {
        succeeds(exchange_halo(&made), "exchange");
        stream_ends(stream);
        job_barrier();
    }
    launch_captured(exchange_halo, &made);
    succeeds(gpubind_halo_free(&made), "halo_free");
}

void test_persistent_in_way(void)
{
    is_int(cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING), CUDA_OK, "cuStreamCreate");
    is_int(cuda.cuStreamCreate(&held, CUDA_STREAM_NON_BLOCKING), CUDA_OK, "cuStreamCreate");
    need_buffer(&other, MEMORY_DEVICE, NBYTES);
    for (int i = 0; i < 4; i++) {
        const bool waits = i % 2;

        job_test("%s where freed memory is in the way and the GPU is busy%s",
                 i < 2 ? "a persistent message" : "a halo", waits ? ": a stream waits" : "");
        (i < 2 ? persistent : halo)(waits);
        job_barrier();
        buffer_clear(&ours);
        job_result();
    }
    buffer_clear(&other);
    cuda.cuStreamDestroy_v2(held);
    cuda.cuStreamDestroy_v2(stream);
}
