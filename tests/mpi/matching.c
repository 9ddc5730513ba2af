/* Which message meets which receive: wildcards, order, communicators, messages that
 * nobody waits for yet. For three ranks and more; most send to rank 0. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define LARGEST 300000

/* Sizes of every path's kind: empty, small, beyond any eager limit. */
static size_t mixed_size(int i)
{
    static const size_t sizes[] = {40, 300000, 0, 4096, 8, 70000, 1, 131072, 2000, 65536};

    return sizes[i % 10];
}

static enum memory mixed_kind(int i)
{
    return i % 3 ? MEMORY_DEVICE : MEMORY_HOST;
}

static uint64_t seed_of(int rank, int i)
{
    return (uint64_t)rank * 100000 + (uint64_t)i;
}

/* The i-th of a series of messages, sent with a buffer of its own. */
static void send_mixed(int i, int dest, int tag, MPI_Comm comm)
{
    size_t nbytes = mixed_size(i);
    struct buffer out;

    need_filled(&out, mixed_kind(i), nbytes, seed_of(job.rank, i));
    succeeds(MPI_GPUSend(out.at, (int)nbytes, MPI_BYTE, dest, tag, comm), "send %d", i);
    buffer_clear(&out);
}

/* Receives with these arguments and expects the i-th message of sender (its number in
 * MPI_COMM_WORLD; source in comm). */
static void receive_mixed(const struct buffer *in, int i, int sender, int source, int tag,
                          int any_source, int any_tag, MPI_Comm comm)
{
    MPI_Status status;

    buffer_reset(in);
    succeeds(MPI_GPURecv(in->at, (int)in->nbytes, MPI_BYTE, any_source ? MPI_ANY_SOURCE : source,
                         any_tag ? MPI_ANY_TAG : tag, comm, &status),
             "receive %d", i);
    status_is(&status, source, tag, (MPI_Count)mixed_size(i), "receive");
    received(in, mixed_size(i), seed_of(sender, i), "receive");
}

static void any_source(void)
{
    struct buffer in;
    int *seen = calloc((size_t)job.size, sizeof *seen);

    job_test("MPI_ANY_SOURCE: each sender once, and the status names it");
    need_buffer(&in, MEMORY_DEVICE, LARGEST);
    if (job.rank)
        send_mixed(job.rank, 0, 9, MPI_COMM_WORLD);
    for (int n = 1; job.rank == 0 && n < job.size; n++) {
        MPI_Status status;

        buffer_reset(&in);
        succeeds(MPI_GPURecv(in.at, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status),
                 "receive");
        if (!expect(status.MPI_SOURCE > 0 && status.MPI_SOURCE < job.size &&
                        !seen[status.MPI_SOURCE]++,
                    "received from rank %d", status.MPI_SOURCE))
            continue;
        status_is(&status, status.MPI_SOURCE, 9, (MPI_Count)mixed_size(status.MPI_SOURCE),
                  "receive");
        received(&in, mixed_size(status.MPI_SOURCE), seed_of(status.MPI_SOURCE, status.MPI_SOURCE),
                 "receive");
    }
    free(seen);
    buffer_clear(&in);
    job_result();
}

/* 60 messages of every size from memory of both kinds, received in the order sent. */
static void order(int wild_source, int wild_tag)
{
    struct buffer in;

    job_test("order of mixed sizes and kinds, %s source, %s tag", wild_source ? "any" : "one",
             wild_tag ? "any" : "one");
    need_buffer(&in, MEMORY_DEVICE, LARGEST);
    for (int i = 0; i < 60; i++) {
        if (job.rank == 1)
            send_mixed(i, 0, 4, MPI_COMM_WORLD);
        if (job.rank == 0)
            receive_mixed(&in, i, 1, 1, 4, wild_source && i % 2 == 0, wild_tag && i % 4 < 2,
                          MPI_COMM_WORLD);
    }
    buffer_clear(&in);
    job_result();
}

#define WINDOW 40

/* All are under way at once: posted is what comes first, the receives or the sends. */
static void order_nonblocking(int receives_first)
{
    struct buffer buffers[WINDOW];
    gpubind_request requests[WINDOW];
    MPI_Status statuses[WINDOW];

    job_test("order of %d nonblocking messages, the %s first", WINDOW,
             receives_first ? "receives" : "sends");
    for (int i = 0; i < WINDOW; i++) {
        if (job.rank == 1)
            need_filled(&buffers[i], mixed_kind(i), mixed_size(i), seed_of(1, i));
        else if (job.rank == 0)
            need_buffer(&buffers[i], mixed_kind(i + 1), LARGEST);
    }
    if (job.rank == !!receives_first)
        job_barrier();
    for (int i = 0; i < WINDOW && job.rank < 2; i++)
        succeeds(job.rank
                     ? gpubind_isend(buffers[i].at, (int)mixed_size(i), MPI_BYTE, 0, 4,
                                     MPI_COMM_WORLD, &requests[i])
                     : gpubind_irecv(buffers[i].at, LARGEST, MPI_BYTE, i % 2 ? 1 : MPI_ANY_SOURCE,
                                     i % 3 ? 4 : MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]),
                 "message %d", i);
    if (job.rank != !!receives_first)
        job_barrier();
    if (job.rank < 2)
        succeeds(gpubind_waitall(WINDOW, requests, statuses), "waitall");
    for (int i = 0; i < WINDOW && job.rank == 0; i++) {
        status_is(&statuses[i], 1, 4, (MPI_Count)mixed_size(i), "receive");
        received(&buffers[i], mixed_size(i), seed_of(1, i), "receive");
    }
    for (int i = 0; i < WINDOW && job.rank < 2; i++)
        buffer_clear(&buffers[i]);
    job_result();
}

/* Tags are taken in the opposite order; the small sends do not wait for that. */
static void tags_backwards(void)
{
    struct buffer in, out;

    job_test("20 small messages received in the opposite order of their tags");
    need_buffer(&in, MEMORY_DEVICE, 100);
    need_buffer(&out, MEMORY_DEVICE, 100);
    for (int tag = 0; tag < 20 && job.rank == 1; tag++) {
        buffer_fill(&out, 0, 100, seed_of(1, tag));
        succeeds(MPI_GPUSend(out.at, 100, MPI_BYTE, 0, tag, MPI_COMM_WORLD), "send");
    }
    for (int tag = 19; tag >= 0 && job.rank == 0; tag--) {
        buffer_reset(&in);
        succeeds(MPI_GPURecv(in.at, 100, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE),
                 "receive");
        received(&in, 100, seed_of(1, tag), "receive");
    }
    buffer_clear(&in);
    buffer_clear(&out);
    job_result();
}

/* A large message under way does not hold up one with another tag. */
static void past_a_large_one(void)
{
    const int nbytes = 4 << 20;
    struct buffer large, small;
    gpubind_request request;

    job_test("a small message is received before a large one of another tag");
    need_filled(&large, MEMORY_DEVICE, (size_t)nbytes, seed_of(job.rank, 1));
    need_filled(&small, MEMORY_DEVICE, 100, seed_of(job.rank, 2));
    if (job.rank == 1) {
        succeeds(gpubind_isend(large.at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request),
                 "isend");
        succeeds(MPI_GPUSend(small.at, 100, MPI_BYTE, 0, 2, MPI_COMM_WORLD), "send");
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    }
    if (job.rank == 0) {
        buffer_reset(&small);
        buffer_reset(&large);
        succeeds(MPI_GPURecv(small.at, 100, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
        received(&small, 100, seed_of(1, 2), "small");
        succeeds(MPI_GPURecv(large.at, nbytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
        received(&large, (size_t)nbytes, seed_of(1, 1), "large");
    }
    buffer_clear(&large);
    buffer_clear(&small);
    job_result();
}

/* Both sides of a pair send first and receive then, eager sizes. */
static void both_send_first(void)
{
    static const int sizes[] = {8, 1024, 2048};
    struct buffer in, out;
    int partner = job.rank ^ 1;

    job_test("both sides send first, then receive: 8 bytes to 2 KiB");
    need_buffer(&in, MEMORY_DEVICE, 4096);
    need_buffer(&out, MEMORY_DEVICE, 4096);
    for (int i = 0; i < 3 && partner < job.size; i++)
        for (int turn = 0; turn < 20; turn++) {
            buffer_fill(&out, 0, (size_t)sizes[i], seed_of(job.rank, turn));
            buffer_reset(&in);
            succeeds(MPI_GPUSend(out.at, sizes[i], MPI_BYTE, partner, 1, MPI_COMM_WORLD), "send");
            succeeds(
                MPI_GPURecv(in.at, 4096, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                "receive");
            received(&in, (size_t)sizes[i], seed_of(partner, turn), "receive");
        }
    buffer_clear(&in);
    buffer_clear(&out);
    job_result();
}

/* The receiver comes when all were sent: it takes part in nothing before. */
static void many_before_the_first_receive(int n, int nbytes)
{
    struct buffer in, out;

    job_test("%d sends of %d bytes return before the first receive", n, nbytes);
    need_buffer(&in, MEMORY_DEVICE, (size_t)nbytes);
    need_buffer(&out, MEMORY_DEVICE, (size_t)nbytes);
    for (int i = 0; i < n && job.rank == 1; i++) {
        buffer_fill(&out, 0, (size_t)nbytes, seed_of(1, i));
        succeeds(MPI_GPUSend(out.at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD), "send %d", i);
    }
    job_barrier();
    for (int i = 0; i < n && job.rank == 0; i++) {
        buffer_reset(&in);
        succeeds(MPI_GPURecv(in.at, nbytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive %d", i);
        received(&in, (size_t)nbytes, seed_of(1, i), "receive");
    }
    buffer_clear(&in);
    buffer_clear(&out);
    job_result();
}

/* Every rank sends to every other, all receive from anyone whatever comes. */
static void storm(int each)
{
    int n = each * (job.size - 1), *next = calloc((size_t)job.size, sizeof *next), sent = 0;
    struct buffer *outs = calloc((size_t)n, sizeof *outs), in;
    gpubind_request *requests = calloc((size_t)n, sizeof(gpubind_request));

    job_test("a storm: %d messages from every rank to every other, wildcards", each);
    need_buffer(&in, MEMORY_DEVICE, LARGEST);
    for (int i = 0; i < each; i++)
        for (int step = 1; step < job.size; step++) {
            need_filled(&outs[sent], mixed_kind(i), mixed_size(i), seed_of(job.rank, i));
            succeeds(gpubind_isend(outs[sent].at, (int)mixed_size(i), MPI_BYTE,
                                   (job.rank + step) % job.size, i, MPI_COMM_WORLD,
                                   &requests[sent]),
                     "isend %d", sent);
            sent++;
        }
    for (int i = 0; i < n; i++) {
        MPI_Status status;

        buffer_reset(&in);
        succeeds(MPI_GPURecv(in.at, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                             &status),
                 "receive %d", i);
        if (!expect(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < job.size, "from rank %d",
                    status.MPI_SOURCE))
            continue;
        is_int(status.MPI_TAG, next[status.MPI_SOURCE]++, "the next from this rank");
        status_is(&status, status.MPI_SOURCE, status.MPI_TAG, (MPI_Count)mixed_size(status.MPI_TAG),
                  "receive");
        received(&in, mixed_size(status.MPI_TAG), seed_of(status.MPI_SOURCE, status.MPI_TAG),
                 "receive");
    }
    succeeds(gpubind_waitall(n, requests, MPI_STATUSES_IGNORE), "waitall");
    for (int i = 0; i < n; i++)
        buffer_clear(&outs[i]);
    buffer_clear(&in);
    free(next);
    free(outs);
    free(requests);
    job_result();
}

void test_matching(void)
{
    any_source();
    for (int wild = 0; wild < 4; wild++)
        order(wild & 1, wild >> 1);
    order_nonblocking(1);
    order_nonblocking(0);
    tags_backwards();
    past_a_large_one();
    both_send_first();
    many_before_the_first_receive(300, 8);
    many_before_the_first_receive(20, 2048);
    storm(30);
}
