/* Starts of many persistent messages at once, which do not wait for each other's receivers. Two ranks and two do the
 * same. */
#include <unistd.h>

#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { MOST = 128, ROUNDS = 3 };

static struct CUstream_st *stream;
static int other, side;
static struct buffer from, to;
static gpubind_request requests[MOST];

static uint64_t seed_of(int rank, int round)
{
    return 100 * (uint64_t)round + (uint64_t)rank;
}

static void make(int n, int nbytes, bool sends)
{
    for (int i = 0; i < n; i++)
        succeeds(sends ? gpubind_send_init(from.at + i * nbytes, nbytes, MPI_BYTE, other, i,
                                           MPI_COMM_WORLD, &requests[i])
                       : gpubind_recv_init(to.at + i * nbytes, nbytes, MPI_BYTE, other, i,
                                           MPI_COMM_WORLD, &requests[i]),
                 "request %d", i);
}

static void start(int first, int n, bool by_host)
{
    if (by_host)
        succeeds(gpubind_startall(n, requests + first), "startall");
    else
        succeeds(gpubind_startall_on_stream(n, requests + first, stream), "startall_on_stream");
}

static void end(int first, int n, bool by_host)
{
    if (by_host)
        succeeds(gpubind_waitall(n, requests + first, MPI_STATUSES_IGNORE), "waitall");
    else
        stream_ends(stream);
}

/* One side starts all at once; the other the last one, and when that is over all others. */
static void dependent(int n, int nbytes, bool sends, bool by_host)
{
    const size_t all = (size_t)n * (size_t)nbytes;

    job_test("%d messages of %d bytes in one start, %s, of which the last is %s first", n, nbytes,
             by_host ? "by the host" : "on a stream", side ? "sent" : "received");
    make(n, nbytes, sends);
    for (int round = 0; round < ROUNDS; round++) {
        buffer_fill(&from, 0, all, seed_of(job.rank, round));
        buffer_reset(&to);
        job_barrier();
        if (side == 0) {
            start(0, n, by_host);
            end(0, n, by_host);
        } else {
            start(n - 1, 1, by_host);
            end(n - 1, 1, by_host);
            start(0, n - 1, by_host);
            end(0, n - 1, by_host);
        }
        expect(sends || buffer_holds(&to, 0, all, seed_of(other, round), NULL),
               "round %d: other bytes came", round);
    }
    job_barrier();
    for (int i = 0; i < n; i++)
        succeeds(gpubind_request_free(&requests[i]), "free");
    job_result();
}

/* `ranks persistent_large` */
void test_persistent_large(void)
{
    static const int counts[] = {30, 31, 60, MOST};

    other = job.rank ^ 1;
    side = job.rank % 2;
    if (cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING))
        MPI_Abort(MPI_COMM_WORLD, 2);
    need_buffer(&from, MEMORY_DEVICE, (size_t)MOST * 20000);
    need_buffer(&to, MEMORY_DEVICE, (size_t)MOST * 20000);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (int way = 0; way < 4; way++)
            dependent(counts[i], way % 2 ? 20000 : 8, (side == 0) == (way < 2), false);
    dependent(MOST, 1000, side == 0, true);
    dependent(MOST, 1000, side == 1, true);
}
