/* Memory that another rank has mapped is freed, and buffers that messages pass through lie at its addresses: they can
 * be mapped when the old mapping is closed, for which no stream may wait. For two ranks. */
#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { LARGE = 3 << 20, BOUNCE = (12 << 20) - BUFFER_GUARD, ROUNDS = 3 };

static struct CUstream_st *stream;

/* Rank 1 maps memory of rank 0's, which is freed then. Returns where it was. */
static char *map_and_free(int nbytes)
{
    int (*mappings)(void) = NULL;
    gpubind_request request;
    struct buffer old;
    char *at;

    *(void **)&mappings = simulator_function("gpubind_sim_open_mappings");
    need_filled(&old, MEMORY_DEVICE, (size_t)nbytes, 5);
    if (job.rank == 0)
        succeeds(gpubind_isend(old.at, nbytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request), "isend");
    job_barrier(); /* the send is first: the receiver maps */
    if (job.rank == 0)
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    else
        succeeds(MPI_GPURecv(old.at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
    expect(job.rank == 0 || !mappings || mappings() > 0, "nothing was mapped");
    job_barrier();
    at = old.at;
    buffer_clear(&old);
    return at;
}

/* The simulator gives the next allocation of a size the addresses of a freed one. */
static void are_taken(const char *freed, size_t nbytes)
{
    struct buffer next;

    need_buffer(&next, MEMORY_DEVICE, nbytes);
    expect(!gpu_is_simulated() || next.at != freed, "the bounce buffers lie elsewhere");
    buffer_clear(&next);
}

/* The bounce buffers of rank 0's GPU, which are made once in a process, get the addresses of what was freed. */
void test_on_stream_in_way(void)
{
    struct buffer out, in;
    char *freed;

    job_test("a bounce buffer at freed addresses, and a receiver whose stream waits");
    is_int(cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING), CUDA_OK, "cuStreamCreate");
    freed = map_and_free(BOUNCE);
    need_filled(&out, MEMORY_POOL, LARGE, 9); /* which has no handle */
    need_buffer(&in, MEMORY_DEVICE, LARGE);
    for (int round = 0; round < ROUNDS; round++) {
        buffer_reset(&in);
        if (job.rank == 1)
            succeeds(gpubind_recv_on_stream(in.at, LARGE, MPI_BYTE, 0, 3, MPI_COMM_WORLD, stream),
                     "receive");
        job_barrier(); /* its stream waits */
        if (job.rank == 0) {
            succeeds(MPI_GPUSend(out.at, LARGE, MPI_BYTE, 1, 3, MPI_COMM_WORLD), "send");
            continue;
        }
        stream_ends(stream);
        received(&in, LARGE, 9, "of a stream");
    }
    if (job.rank == 0)
        are_taken(freed, BOUNCE);
    job_barrier();
    buffer_clear(&in);
    buffer_clear(&out);
    cuda.cuStreamDestroy_v2(stream);
    job_result();
}
