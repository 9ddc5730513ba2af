/* Between two phases of a program the device is reset, or its context destroyed: messages work
 * in the next phase as in the first. With an argument, also on streams. For two ranks and more. */
#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define LARGE 3000000
#define PHASES 3

static int device;

static void pass(size_t nbytes, MPI_Datatype type, int count, enum memory kind)
{
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;
    gpubind_request requests[2];
    struct buffer out, in;

    need_filled(&out, kind, nbytes, (uint64_t)job.rank);
    need_buffer(&in, kind, nbytes);
    succeeds(gpubind_irecv(in.at, (int)nbytes, MPI_BYTE, last, 1, MPI_COMM_WORLD, &requests[0]),
             "irecv of %zu bytes", nbytes);
    succeeds(gpubind_isend(out.at, count, type, next, 1, MPI_COMM_WORLD, &requests[1]),
             "isend of %zu bytes", nbytes);
    succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    if (type == MPI_BYTE)
        received(&in, nbytes, (uint64_t)last, "nonblocking");
    buffer_reset(&in);
    succeeds(gpubind_sendrecv(out.at, (int)nbytes, MPI_BYTE, next, 2, in.at, (int)nbytes, MPI_BYTE,
                              last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "sendrecv of %zu bytes", nbytes);
    received(&in, nbytes, (uint64_t)last, "blocking");
    buffer_clear(&out);
    buffer_clear(&in);
}

/* On a stream of this phase alone, and on a default one. */
static void pass_on_stream(void)
{
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;
    struct CUstream_st *streams[2] = {NULL, NULL};
    struct buffer out, in;
    gpubind_request request;

    if (!gpu_count || nargs == 0)
        return;
    cuda.cuStreamCreate(&streams[0], CUDA_STREAM_NON_BLOCKING);
    need_filled(&out, MEMORY_DEVICE, LARGE, (uint64_t)job.rank);
    need_buffer(&in, MEMORY_DEVICE, LARGE);
    for (int s = 0; s < 2; s++) {
        buffer_reset(&in);
        succeeds(gpubind_isend(out.at, LARGE, MPI_BYTE, next, 1, MPI_COMM_WORLD, &request),
                 "isend");
        succeeds(
            gpubind_recv_on_stream(in.at, LARGE, MPI_BYTE, last, 1, MPI_COMM_WORLD, streams[s]),
            "recv_on_stream");
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
        cuda.cuStreamSynchronize(streams[s]);
        received(&in, LARGE, (uint64_t)last, "on a stream");
    }
    buffer_clear(&out);
    buffer_clear(&in);
}

static void phase(void)
{
    MPI_Datatype type;

    MPI_Type_vector(1000, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    pass(100, MPI_BYTE, 100, MEMORY_DEVICE);
    pass(8000, MPI_BYTE, 8000, MEMORY_DEVICE);
    pass(LARGE, MPI_BYTE, LARGE, MEMORY_DEVICE);
    pass(LARGE, MPI_BYTE, LARGE, MEMORY_POOL);
    pass(12000, type, 1, MEMORY_DEVICE);
    MPI_Type_free(&type);
    pass_on_stream();
    job_barrier(); /* no message is under way anywhere */
}

/* What is said of the GPUs of all pairs of ranks. */
static void peers_stay(void)
{
    static struct gpubind_peers first;
    struct gpubind_peers peers;

    if (!succeeds(gpubind_enable_peer_access(MPI_COMM_WORLD, &peers), "enable_peer_access"))
        return;
    if (!first.access) {
        first = peers;
        return;
    }
    for (int i = 0; i < peers.n * peers.n; i++)
        is_int(peers.access[i], first.access[i], "access of a pair");
    gpubind_peers_clear(&peers);
}

void test_reset(void)
{
    struct CUctx_st *context = NULL;

    device = gpu_count ? job.local % gpu_count : 0;
    for (int i = 0; i < PHASES; i++) {
        job_test("messages after %d resets of the device", i);
        if (i && gpu_count)
            gpu_reset(device);
        phase();
        peers_stay();
        job_result();
    }
    for (int i = 0; i < PHASES; i++) {
        job_test("messages in context %d of the program's own, then in the primary one", i);
        if (gpu_count)
            context = gpu_make_context(device);
        phase();
        if (gpu_count)
            gpu_end_context(context, device);
        phase();
        job_result();
    }
}
