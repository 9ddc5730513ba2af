/* Many messages that nobody waits for yet. Rank 1 sends to rank 0, and to others where there
 * are more than 8. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define LARGEST 16384
#define PARTS 64 /* different data; as many messages as wanted send them */

static uint64_t seed_of(int i)
{
    return 7000 + (uint64_t)(i % PARTS);
}

/* `nbytes`, or sizes up to it: empty, at the limits of what goes at once, and odd ones. */
static int size_of(int i, int nbytes)
{
    static const int sizes[] = {0, 8, 8192, 100, 16384, 4097, 1, 8193};

    return nbytes ? nbytes : sizes[i % 8];
}

static void take(const struct buffer *in, int i, int nbytes)
{
    MPI_Status status;

    buffer_reset(in);
    succeeds(MPI_GPURecv(in->at, LARGEST, MPI_BYTE, i % 2 ? 1 : MPI_ANY_SOURCE, i, MPI_COMM_WORLD,
                         &status),
             "receive %d", i);
    status_is(&status, 1, i, nbytes, "receive");
    received(in, (size_t)nbytes, seed_of(i), "receive");
}

/* Blocking sends, of which the receiver wants the last first. */
static void backwards(int n, int nbytes, enum memory kind)
{
    struct buffer in, out;

    job_test("%d sends of %s, %d bytes, received in the opposite order", n, memory_name(kind),
             nbytes);
    need_buffer(&in, kind, LARGEST);
    need_buffer(&out, kind, LARGEST);
    for (int i = 0; i < n && job.rank == 1; i++) {
        const int small = size_of(i, nbytes) > 8192 ? 8192 : size_of(i, nbytes);

        buffer_fill(&out, 0, (size_t)small, seed_of(i));
        succeeds(MPI_GPUSend(out.at, small, MPI_BYTE, 0, i, MPI_COMM_WORLD), "send %d", i);
    }
    for (int i = n - 1; i >= 0 && job.rank == 0; i--)
        take(&in, i, size_of(i, nbytes) > 8192 ? 8192 : size_of(i, nbytes));
    buffer_clear(&in);
    buffer_clear(&out);
    job_result();
}

/* Nonblocking sends of all sizes, all of them under way before the first receive may come. */
static void at_once(int n, enum memory kind, bool backwards)
{
    struct buffer in, out;
    gpubind_request *requests = calloc((size_t)n, sizeof(gpubind_request));

    job_test("%d nonblocking sends of %s at once, received %s", n, memory_name(kind),
             backwards ? "backwards" : "in their order");
    need_buffer(&in, kind, LARGEST);
    need_buffer(&out, kind, PARTS * LARGEST);
    for (int i = 0; i < PARTS; i++)
        buffer_fill(&out, (size_t)i * LARGEST, LARGEST, seed_of(i));
    for (int i = 0; i < n && job.rank == 1; i++)
        succeeds(gpubind_isend(out.at + (size_t)(i % PARTS) * LARGEST, size_of(i, 0), MPI_BYTE, 0,
                               i, MPI_COMM_WORLD, &requests[i]),
                 "isend %d", i);
    if (job.rank == 1)
        succeeds(gpubind_waitall(n, requests, MPI_STATUSES_IGNORE), "waitall");
    for (int i = 0; i < n && job.rank == 0; i++)
        take(&in, backwards ? n - 1 - i : i, size_of(backwards ? n - 1 - i : i, 0));
    buffer_clear(&in);
    buffer_clear(&out);
    free(requests);
    job_result();
}

/* Messages that rank 0 does not receive take all that rank 1 has for messages to it; rank 2,
 * whose own comes after, is not kept waiting. */
static void past_a_rank_that_waits(int n)
{
    gpubind_request *requests = calloc((size_t)n, sizeof(gpubind_request));
    struct buffer out, in;

    job_test("%d sends to a rank that waits for another rank first", n);
    need_filled(&out, MEMORY_HOST, 20000, seed_of(1));
    need_buffer(&in, MEMORY_HOST, 20000);
    for (int i = 0; i < n && job.rank == 1; i++)
        succeeds(gpubind_isend(out.at, 20000, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &requests[i]),
                 "isend %d", i);
    if (job.rank == 1)
        succeeds(MPI_GPUSend(out.at, 20000, MPI_BYTE, 2, 6, MPI_COMM_WORLD), "send to rank 2");
    if (job.rank == 2) {
        succeeds(MPI_GPURecv(in.at, 20000, MPI_BYTE, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive from rank 1");
        received(&in, 20000, seed_of(1), "receive");
        succeeds(MPI_GPUSend(in.at, 8, MPI_BYTE, 0, 7, MPI_COMM_WORLD), "send to rank 0");
    }
    if (job.rank == 0)
        succeeds(MPI_GPURecv(in.at, 20000, MPI_BYTE, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive from rank 2");
    for (int i = 0; i < n && job.rank == 0; i++) {
        buffer_reset(&in);
        succeeds(MPI_GPURecv(in.at, 20000, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive %d", i);
        received(&in, 20000, seed_of(1), "receive");
    }
    if (job.rank == 1)
        succeeds(gpubind_waitall(n, requests, MPI_STATUSES_IGNORE), "waitall");
    buffer_clear(&out);
    buffer_clear(&in);
    free(requests);
    job_result();
}

/* `ranks unexpected [N]` */
void test_unexpected(void)
{
    const int n = nargs ? atoi(arguments[0]) : 1500;

    for (int device = 0; device < 2; device++) {
        const enum memory kind = device ? MEMORY_DEVICE : MEMORY_HOST;

        backwards(n, 8, kind);
        backwards(n / 2, 0, kind);
        at_once(n, kind, false);
        at_once(n, kind, true);
    }
    if (job.size > 8) /* where a rank has the fewest descriptors */
        past_a_rank_that_waits(1200);
}

/* With GPUBIND_UNEXPECTED=0: rank 1 gets no further than it has slots, until rank 0 receives. */
void test_unexpected_limit(void)
{
    enum { N = 2000 };
    gpubind_request request;
    struct buffer in, last;
    int there = 0;

    job_test("%d small sends, of which the receiver keeps none", N);
    need_filled(&in, MEMORY_HOST, LARGEST, seed_of(0));
    need_buffer(&last, MEMORY_HOST, LARGEST);
    for (int i = 0; i < N && job.rank == 1; i++)
        succeeds(MPI_GPUSend(in.at, 8, MPI_BYTE, 0, i, MPI_COMM_WORLD), "send");
    if (job.rank == 0) {
        const double until = MPI_Wtime() + 3;

        succeeds(gpubind_irecv(last.at, 8, MPI_BYTE, 1, N - 1, MPI_COMM_WORLD, &request), "irecv");
        while (!there && MPI_Wtime() < until)
            succeeds(gpubind_test(&request, &there, MPI_STATUS_IGNORE), "test");
        expect(!there, "all were kept");
        for (int i = 0; i < N - 1; i++)
            succeeds(MPI_GPURecv(in.at, 8, MPI_BYTE, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     "receive");
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
        received(&last, 8, seed_of(0), "the last");
    }
    buffer_clear(&in);
    buffer_clear(&last);
    job_result();
}
