/* One rank captures messages long before the other, which may wait for it meanwhile: calls that wait for the GPU return,
 * since no graph is launched; launches wait then, and the messages are passed. For two ranks. */
#include <string.h>
#include <unistd.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { MESSAGES = 3, LARGEST = 3 << 20, ROUNDS = 3 };

static struct CUstream_st *stream;
static struct buffer from[MESSAGES], to[MESSAGES];
static int other, nbytes;

static struct CUgraphExec_st *capture(void)
{
    is_int(cuda.cuStreamBeginCapture_v2(stream, 0), CUDA_OK, "the capture's begin");
    for (int i = 0; i < MESSAGES; i++) {
        succeeds(
            gpubind_irecv_on_stream(to[i].at, nbytes, MPI_BYTE, other, i, MPI_COMM_WORLD, stream),
            "receive %d", i);
        succeeds(
            gpubind_isend_on_stream(from[i].at, nbytes, MPI_BYTE, other, i, MPI_COMM_WORLD, stream),
            "send %d", i);
    }
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    return graph_captured(stream);
}

static void fill(int round)
{
    for (int i = 0; i < MESSAGES; i++) {
        buffer_fill(&from[i], 0, (size_t)nbytes, (uint64_t)(100 * round + 10 * job.rank + i));
        buffer_reset(&to[i]);
    }
}

static void launch(struct CUgraphExec_st *exec)
{
    is_int(cuda.cuGraphLaunch(exec, stream), CUDA_OK, "cuGraphLaunch");
}

static void check(int round)
{
    for (int i = 0; i < MESSAGES; i++)
        expect(
            buffer_holds(&to[i], 0, (size_t)nbytes, (uint64_t)(100 * round + 10 * other + i), NULL),
            "round %d, message %d: other bytes came", round, i);
}

static void rounds(struct CUgraphExec_st *exec, int first)
{
    for (int round = first; round < ROUNDS; round++) {
        fill(round);
        job_barrier();
        launch(exec);
        stream_ends(stream);
        check(round);
    }
    is_int(cuda.cuGraphExecDestroy(exec), CUDA_OK, "cuGraphExecDestroy");
}

/* Each waits for the whole GPU, also for streams of the library. */
static void wait_for_the_gpu(void)
{
    cuda_address memory = 0;

    is_int(cuda.cuCtxSynchronize(), CUDA_OK, "cuCtxSynchronize");
    is_int(cuda.cuMemAlloc_v2(&memory, 4096), CUDA_OK, "cuMemAlloc");
    is_int(cuda.cuMemFree_v2(memory), CUDA_OK, "cuMemFree");
}

static void not_launched(int early)
{
    struct CUgraphExec_st *exec;

    job_test("%d messages of %d bytes each way, which rank %d captures first", MESSAGES, nbytes,
             early);
    if (job.rank != early)
        job_barrier();
    exec = capture();
    wait_for_the_gpu();
    if (job.rank == early)
        job_barrier();
    rounds(exec, 0);
    job_result();
}

/* The early one is in a call of the driver that waits for its launch when the other captures: what connects them
 * has to call nothing that waits for this call. */
static void launched(int early)
{
    struct CUgraphExec_st *exec;
    char bytes[64];

    job_test(
        "%d messages of %d bytes each way, which rank %d has launched before the other captures",
        MESSAGES, nbytes, early);
    fill(0);
    job_barrier();
    if (job.rank != early)
        usleep(50000);
    exec = capture();
    launch(exec);
    if (job.rank == early)
        is_int(cuda.cuMemcpyDtoH_v2(bytes, address_of(&to[0]), sizeof bytes), CUDA_OK,
               "cuMemcpyDtoH");
    stream_ends(stream);
    check(0);
    rounds(exec, 1);
    job_result();
}

void test_on_stream_graph_late(void)
{
    static const int sizes[] = {64, 70000, LARGEST};

    other = job.rank ^ 1;
    is_int(cuda.cuStreamCreate(&stream, 0), CUDA_OK, "cuStreamCreate"); /* blocking */
    for (int i = 0; i < MESSAGES; i++) {
        need_buffer(&from[i], MEMORY_DEVICE, LARGEST);
        need_buffer(&to[i], MEMORY_DEVICE, LARGEST);
    }
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int early = 0; early < 2; early++) {
            nbytes = sizes[s];
            not_launched(early);
            launched(early);
        }
    for (int i = 0; i < MESSAGES; i++) {
        buffer_clear(&from[i]);
        buffer_clear(&to[i]);
    }
    cuda.cuStreamDestroy_v2(stream);
}
