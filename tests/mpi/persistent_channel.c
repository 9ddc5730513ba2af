/* How requests come to a channel, whatever either side does when: rank 0 sends to rank 1 with
 * one tag, first plain and persistent messages by the host, then persistent ones that
 * each side starts by the host or on a stream as chance has it. All arrive in order. */
#include <stdlib.h>
#include <time.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define TRIALS 60
#define BEFORE 4
#define AFTER 7
#define LARGEST 40000

static struct buffer buffer, other; /* of the persistent request; of plain messages */
static struct CUstream_st *stream;

static int any(uint64_t *state, int most)
{
    return (int)(random_next(state) % (unsigned)(most + 1));
}

static void rest(uint64_t *state)
{
    static const long pauses[] = {0, 0, 20000, 300000, 2000000};

    nanosleep(&(struct timespec){0, pauses[any(state, 4)]}, NULL);
}

static void before(const struct buffer *of, int nbytes, uint64_t seed)
{
    if (job.rank == 0)
        buffer_fill(of, 0, (size_t)nbytes, seed);
    else
        buffer_reset(of);
}

static void after(const struct buffer *of, int nbytes, uint64_t seed)
{
    if (job.rank == 1)
        received(of, (size_t)nbytes, seed, "a message");
}

static void plain(int nbytes, int tag, uint64_t seed)
{
    before(&other, nbytes, seed);
    if (job.rank == 0)
        succeeds(MPI_GPUSend(other.at, nbytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD), "send");
    else
        succeeds(MPI_GPURecv(other.at, nbytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
    after(&other, nbytes, seed);
}

static void persistent(gpubind_request *request, int nbytes, bool on_stream, uint64_t seed)
{
    before(&buffer, nbytes, seed);
    if (on_stream) {
        succeeds(gpubind_startall_on_stream(1, request, stream), "startall_on_stream");
        is_int(cuda.cuStreamSynchronize(stream), 0, "the stream");
    } else {
        succeeds(gpubind_start(request), "start");
    }
    succeeds(gpubind_wait(request, MPI_STATUS_IGNORE), "wait");
    after(&buffer, nbytes, seed);
}

static void set_up(gpubind_request *request, int nbytes, int tag)
{
    if (job.rank == 0)
        succeeds(gpubind_send_init(buffer.at, nbytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, request),
                 "send_init");
    else
        succeeds(gpubind_recv_init(buffer.at, nbytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, request),
                 "recv_init");
}

/* both: the same on both ranks; mine: not so. */
static void trial(int number, uint64_t *both, uint64_t *mine)
{
    const int nbytes = any(both, 1) ? any(both, 1000) : any(both, LARGEST);
    const int nbefore = any(both, BEFORE), tag = any(both, 2);
    const bool late = any(mine, 1);
    gpubind_request request;

    if (!late)
        set_up(&request, nbytes, tag);
    for (int i = 0; i < nbefore; i++) {
        const uint64_t seed = (uint64_t)(number * 100 + i);

        rest(mine);
        if (late || any(mine, 1))
            plain(nbytes, tag, seed);
        else
            persistent(&request, nbytes, false, seed);
    }
    if (late)
        set_up(&request, nbytes, tag);
    for (int i = 0; i < AFTER; i++) {
        rest(mine);
        persistent(&request, nbytes, any(mine, 1), (uint64_t)(number * 100 + 50 + i));
    }
    succeeds(gpubind_request_free(&request), "request_free");
}

/* What has no channel goes on streams all the same. */
static void without_a_channel(void)
{
    gpubind_request requests[2];

    job_test("on a stream: from any source, to nobody, and with plain calls on the other side");
    for (uint64_t round = 0; round < 3 && job.rank == 0; round++) {
        if (round == 0) {
            set_up(&requests[0], 3000, 7);
            succeeds(gpubind_send_init(other.at, 10, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                                       &requests[1]),
                     "send_init");
        }
        before(&buffer, 3000, round);
        succeeds(gpubind_startall_on_stream(2, requests, stream), "startall_on_stream");
        is_int(cuda.cuStreamSynchronize(stream), 0, "the stream");
        plain(3000, 8, 10 + round);
    }
    for (uint64_t round = 0; round < 3 && job.rank == 1; round++) {
        if (round == 0) {
            succeeds(gpubind_recv_init(buffer.at, 3000, MPI_BYTE, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD,
                                       &requests[0]),
                     "recv_init");
            succeeds(gpubind_recv_init(other.at, 10, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                                       &requests[1]),
                     "recv_init");
        }
        plain(3000, 7, round);
        before(&buffer, 3000, 0);
        succeeds(gpubind_startall_on_stream(2, requests, stream), "startall_on_stream");
        is_int(cuda.cuStreamSynchronize(stream), 0, "the stream");
        after(&buffer, 3000, 10 + round);
    }
    for (int i = 0; i < 2 && job.rank < 2; i++)
        succeeds(gpubind_request_free(&requests[i]), "request_free");
    job_result();
}

void test_persistent_channel(void)
{
    uint64_t both = nargs ? (uint64_t)atoll(arguments[0]) : 1,
             mine = both + 77 * (uint64_t)job.rank;
    int all_have;

    MPI_Allreduce(&gpu_count, &all_have, 1, MPI_INT, MPI_MIN, job.plain);
    job_test("%d times a request comes to its channel, whatever went before", TRIALS);
    if (!all_have) {
        job_skip("no GPU");
        return;
    }
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
    need_buffer(&buffer, MEMORY_DEVICE, LARGEST);
    need_buffer(&other, MEMORY_DEVICE, LARGEST);
    for (int i = 0; i < TRIALS && job.rank < 2; i++)
        trial(i, &both, &mine);
    job_result();
    without_a_channel();
    buffer_clear(&buffer);
    buffer_clear(&other);
    cuda.cuStreamDestroy_v2(stream);
}
