/* One message from one rank to another: sizes, kinds of memory, verbs. Ranks work in
 * pairs (0 and 1, 2 and 3, ...), both ways. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define LARGEST ((size_t)20 << 20)
#define MEDIUM 3000001
#define ROOM 100 /* bytes that the receiver has beyond the message */

static size_t sizes[] = {0, 1, 7, 8, 4095, 4096, 65536, 65537, (1 << 20) + 3, LARGEST};
#define SIZES ((int)(sizeof sizes / sizeof sizes[0]))

static int partner;

/* What rank sends in step of a test. */
static uint64_t seed_of(int rank, int step)
{
    return (uint64_t)rank * 1000 + (uint64_t)step;
}

static void send_one(const struct buffer *out, size_t nbytes, int step)
{
    buffer_fill(out, 0, nbytes, seed_of(job.rank, step));
    succeeds(MPI_GPUSend(out->at, (int)nbytes, MPI_BYTE, partner, step, MPI_COMM_WORLD),
             "send of %zu bytes", nbytes);
}

static void receive_one(const struct buffer *in, size_t nbytes, int step)
{
    MPI_Status status;

    buffer_reset(in);
    succeeds(
        MPI_GPURecv(in->at, (int)(nbytes + ROOM), MPI_BYTE, partner, step, MPI_COMM_WORLD, &status),
        "receive of %zu bytes", nbytes);
    status_is(&status, partner, step, (MPI_Count)nbytes, "receive");
    received(in, nbytes, seed_of(partner, step), "receive");
}

static void blocking(const struct buffer *out, const struct buffer *in)
{
    for (int step = 0; step < SIZES; step++) {
        if (job.rank & 1)
            send_one(out, sizes[step], step);
        receive_one(in, sizes[step], step);
        if (!(job.rank & 1))
            send_one(out, sizes[step], step);
    }
}

static void nonblocking(const struct buffer *out, const struct buffer *in, int nsizes)
{
    for (int step = 0; step < nsizes; step++) {
        int nbytes = (int)sizes[step];
        gpubind_request requests[2];
        MPI_Status statuses[2];

        buffer_fill(out, 0, sizes[step], seed_of(job.rank, step));
        buffer_reset(in);
        succeeds(gpubind_irecv(in->at, nbytes + ROOM, MPI_BYTE, partner, step, MPI_COMM_WORLD,
                               &requests[0]),
                 "irecv");
        succeeds(
            gpubind_isend(out->at, nbytes, MPI_BYTE, partner, step, MPI_COMM_WORLD, &requests[1]),
            "isend");
        succeeds(gpubind_waitall(2, requests, statuses), "waitall, %d bytes", nbytes);
        expect(!requests[0] && !requests[1], "waitall leaves a request");
        status_is(&statuses[0], partner, step, nbytes, "irecv");
        received(in, sizes[step], seed_of(partner, step), "irecv");
    }
}

static void sendrecv(const struct buffer *out, const struct buffer *in, int nsizes)
{
    for (int step = 0; step < nsizes; step++) {
        int mine = (int)sizes[step], theirs = (int)sizes[nsizes - 1 - step];
        MPI_Status status;

        if (job.rank & 1) { /* the two directions differ */
            mine = theirs;
            theirs = (int)sizes[step];
        }
        buffer_fill(out, 0, (size_t)mine, seed_of(job.rank, step));
        buffer_reset(in);
        succeeds(gpubind_sendrecv(out->at, mine, MPI_BYTE, partner, step, in->at, theirs + ROOM,
                                  MPI_BYTE, partner, step, MPI_COMM_WORLD, &status),
                 "sendrecv, %d bytes for %d", mine, theirs);
        status_is(&status, partner, step, theirs, "sendrecv");
        received(in, (size_t)theirs, seed_of(partner, step), "sendrecv");
    }
}

static void all_verbs(enum memory from, enum memory to)
{
    int nsizes = from == MEMORY_DEVICE && to == from ? SIZES : SIZES - 1; /* to be done soon */
    struct buffer out, in;

    need_buffer(&out, from, sizes[SIZES - 1]);
    need_buffer(&in, to, sizes[SIZES - 1] + ROOM);
    job_test("%s to %s: blocking, 0 to %zu bytes", memory_name(from), memory_name(to),
             sizes[SIZES - 1]);
    blocking(&out, &in);
    job_result();
    job_test("%s to %s: nonblocking, both ways at once", memory_name(from), memory_name(to));
    nonblocking(&out, &in, nsizes);
    job_result();
    job_test("%s to %s: sendrecv, sizes differ", memory_name(from), memory_name(to));
    sendrecv(&out, &in, nsizes);
    job_result();
    buffer_clear(&out);
    buffer_clear(&in);
}

/* Both buffers begin at odd places in their allocations. */
static void in_the_middle(void)
{
    static const size_t offsets[] = {1, 4099, 65537};
    const size_t nbytes = 70001;
    struct buffer out, in;

    job_test("from and into the middle of an allocation");
    need_buffer(&out, MEMORY_DEVICE, 200000);
    need_buffer(&in, MEMORY_DEVICE, 200000);
    for (int i = 0; i < 3; i++) {
        size_t there = offsets[2 - i];

        buffer_reset(&in);
        buffer_fill(&out, offsets[i], nbytes, seed_of(job.rank, i));
        succeeds(gpubind_sendrecv(out.at + offsets[i], (int)nbytes, MPI_BYTE, partner, i,
                                  in.at + there, (int)nbytes, MPI_BYTE, partner, i, MPI_COMM_WORLD,
                                  MPI_STATUS_IGNORE),
                 "sendrecv");
        expect(buffer_holds(&in, there, nbytes, seed_of(partner, i), NULL),
               "wrong bytes at offset %zu", there);
        expect(buffer_untouched(&in, there + nbytes), "written behind offset %zu", there);
    }
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

static void with_64_bit_counts(void)
{
    struct buffer out, in;
    gpubind_request requests[2];
    MPI_Status status;

    job_test("the _c variants");
    need_filled(&out, MEMORY_DEVICE, 5000, seed_of(job.rank, 1));
    need_buffer(&in, MEMORY_DEVICE, 6000);
    if (job.rank & 1)
        succeeds(MPI_GPUSend_c(out.at, 5000, MPI_BYTE, partner, 1, MPI_COMM_WORLD), "send_c");
    succeeds(MPI_GPURecv_c(in.at, 6000, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &status), "recv_c");
    if (!(job.rank & 1))
        succeeds(MPI_GPUSend_c(out.at, 5000, MPI_BYTE, partner, 1, MPI_COMM_WORLD), "send_c");
    status_is(&status, partner, 1, 5000, "recv_c");
    received(&in, 5000, seed_of(partner, 1), "recv_c");
    buffer_reset(&in);
    succeeds(gpubind_irecv_c(in.at, 6000, MPI_BYTE, partner, 2, MPI_COMM_WORLD, &requests[0]),
             "irecv_c");
    succeeds(gpubind_isend_c(out.at, 5000, MPI_BYTE, partner, 2, MPI_COMM_WORLD, &requests[1]),
             "isend_c");
    succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    received(&in, 5000, seed_of(partner, 1), "irecv_c");
    buffer_reset(&in);
    succeeds(gpubind_sendrecv_c(out.at, 5000, MPI_BYTE, partner, 3, in.at, 6000, MPI_BYTE, partner,
                                3, MPI_COMM_WORLD, &status),
             "sendrecv_c");
    status_is(&status, partner, 3, 5000, "sendrecv_c");
    received(&in, 5000, seed_of(partner, 1), "sendrecv_c");
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

static void to_itself(void)
{
    struct buffer out, in;

    job_test("a rank sends to itself, nonblocking");
    need_buffer(&out, MEMORY_DEVICE, sizes[SIZES - 1]);
    need_buffer(&in, MEMORY_DEVICE, sizes[SIZES - 1]);
    for (int step = 0; step < SIZES; step++) {
        int nbytes = (int)sizes[step], first = step & 1;
        gpubind_request requests[2];
        MPI_Status statuses[2];

        buffer_fill(&out, 0, sizes[step], seed_of(job.rank, step));
        buffer_reset(&in);
        for (int i = 0; i < 2; i++) /* either is made first */
            succeeds((i == first) ? gpubind_isend(out.at, nbytes, MPI_BYTE, job.rank, step,
                                                  MPI_COMM_WORLD, &requests[0])
                                  : gpubind_irecv(in.at, nbytes, MPI_BYTE, job.rank, step,
                                                  MPI_COMM_WORLD, &requests[1]),
                     "isend and irecv");
        succeeds(gpubind_waitall(2, requests, statuses), "waitall, %d bytes", nbytes);
        status_is(&statuses[1], job.rank, step, nbytes, "self");
        received(&in, sizes[step], seed_of(job.rank, step), "self");
    }
    buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

/* Two sends of different size with one buffer, then the other way round: what the
 * first left behind must not matter. */
static void buffers_reused(void)
{
    struct buffer one;

    job_test("one buffer sends and receives in turn, 200 times");
    need_buffer(&one, MEMORY_DEVICE, 100000);
    for (int step = 0; step < 200; step++) {
        size_t nbytes = (size_t)(step * 7919 % 100000);

        if ((step + job.rank) & 1) {
            send_one(&one, nbytes, step);
        } else {
            buffer_reset(&one);
            succeeds(MPI_GPURecv(one.at, 100000, MPI_BYTE, partner, step, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE),
                     "receive");
            received(&one, nbytes, seed_of(partner, step), "receive");
        }
    }
    buffer_clear(&one);
    job_result();
}

/* `ranks pt2pt [medium]`: medium leaves out what takes its time. */
void test_pt2pt(void)
{
    partner = job.rank ^ 1;
    if (nargs)
        sizes[SIZES - 1] = MEDIUM;
    all_verbs(MEMORY_DEVICE, MEMORY_DEVICE);
    all_verbs(MEMORY_DEVICE, MEMORY_HOST);
    all_verbs(MEMORY_HOST, MEMORY_DEVICE);
    all_verbs(MEMORY_HOST, MEMORY_HOST);
    in_the_middle();
    with_64_bit_counts();
    to_itself();
    buffers_reused();
}

/* More than 2 GiB: for real GPUs, since it takes its time elsewhere. */
void test_huge(void)
{
    const size_t nbytes = ((size_t)2 << 30) + 12345;
    struct buffer one;
    MPI_Status status;

    job_test("more than 2 GiB");
    need_buffer(&one, MEMORY_DEVICE, nbytes);
    if (job.rank == 1) {
        succeeds(MPI_GPURecv_c(one.at, (MPI_Count)nbytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status),
                 "receive");
        status_is(&status, 0, 0, (MPI_Count)nbytes, "receive");
        received(&one, nbytes, 77, "receive");
    }
    if (job.rank == 0) {
        buffer_fill(&one, 0, nbytes, 77);
        succeeds(MPI_GPUSend_c(one.at, (MPI_Count)nbytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD), "send");
    }
    buffer_clear(&one);
    job_result();
}
