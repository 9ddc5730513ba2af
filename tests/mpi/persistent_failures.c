/* Persistent messages while calls of the driver fail, as the environment says: an error or
 * the right data, no hang; what has failed is made anew. For two ranks, in a ring. */
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 50000
#define ROUNDS 40

static struct buffer out, in;
static gpubind_request requests[2];
static struct CUstream_st *stream;
static int failures;

static bool is_good(int status, const char *what)
{
    if (status != MPI_SUCCESS)
        expect(*gpubind_error_text(), "%s failed without a text", what);
    failures += status != MPI_SUCCESS;
    return status == MPI_SUCCESS;
}

static void set_up(void)
{
    const int other = (job.rank + 1) % job.size, from = (job.rank + job.size - 1) % job.size;

    succeeds(gpubind_recv_init(in.at, BYTES, MPI_BYTE, from, 1, MPI_COMM_WORLD, &requests[0]),
             "recv_init");
    succeeds(gpubind_send_init(out.at, BYTES, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[1]),
             "send_init");
    if (gpu_count == 0)
        return;
    job_barrier(); /* both sides are set up: the first start, on a stream, connects them */
    is_good(gpubind_startall_on_stream(2, requests, stream), "startall_on_stream");
    cuda.cuStreamSynchronize(stream);
    job_barrier();
}

static void pass(int round)
{
    const int from = (job.rank + job.size - 1) % job.size;
    int good = 1;

    buffer_fill(&out, 0, BYTES, (uint64_t)(round + job.rank));
    buffer_reset(&in);
    if (round % 2) {
        good &= is_good(gpubind_startall(2, requests), "startall");
    } else {
        good &= is_good(gpubind_start(&requests[0]), "start");
        good &= is_good(gpubind_start(&requests[1]), "start");
    }
    if (is_good(gpubind_wait(&requests[0], MPI_STATUS_IGNORE), "wait"))
        received(&in, BYTES, (uint64_t)(round + from), "a receive that succeeded");
    else
        good = 0;
    good &= is_good(gpubind_wait(&requests[1], MPI_STATUS_IGNORE), "wait");
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, job.plain);
    for (int i = 0; i < 2 && !good; i++)
        gpubind_request_free(&requests[i]);
    if (!good)
        set_up();
}

/* `ranks persistent_failures [some]`: some: there are failures, and an end of them. */
void test_persistent_failures(void)
{
    int all;

    need_buffer(&out, MEMORY_DEVICE, BYTES);
    need_buffer(&in, MEMORY_DEVICE, BYTES);
    if (gpu_count > 0)
        cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    job_test("an error or the right data, of persistent messages");
    set_up();
    for (int round = 0; round < ROUNDS; round++)
        pass(round);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, job.plain);
    if (nargs && strcmp(arguments[0], "some") == 0)
        expect(all > 0, "nothing failed");
    failures = 0;
    pass(ROUNDS);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, job.plain);
    if (nargs)
        expect(all == 0, "the last one failed, too");
    for (int i = 0; i < 2; i++)
        gpubind_request_free(&requests[i]);
    if (gpu_count > 0)
        cuda.cuStreamDestroy_v2(stream);
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}
