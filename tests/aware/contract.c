/* What the MPI standard promises of buffers, with GPU memory in plain MPI functions: bytes that no
 * message reaches stay as they are. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/mpi/job.h"

#if MPI_VERSION >= 4 && !defined MPICH_NUMVERSION /* which sends to MPI_PROC_NULL, and crashes */
#define STARTS_REPLACES
#endif
#define TAG 5
#define MANY 70

static const size_t sizes[] = {0, 8, 5000, 300000};
static const enum memory kinds[] = {MEMORY_HOST, MEMORY_DEVICE, MEMORY_MANAGED, MEMORY_PINNED};
#define SIZES (sizeof sizes / sizeof *sizes)
#define KINDS (sizeof kinds / sizeof *kinds)

/* From rank 0 to 1, by a persistent send or an ordinary one, into a buffer that is longer. */
static void pass(size_t nbytes, enum memory from, enum memory to, bool persistent)
{
    struct buffer buffer;
    MPI_Request request;
    MPI_Status status;

    if (job.rank == 0) {
        need_filled(&buffer, from, nbytes, 1);
        if (persistent) {
            MPI_Send_init(buffer.at, (int)nbytes, MPI_BYTE, 1, TAG, job.plain, &request);
            buffer_fill(&buffer, 0, nbytes, 2);
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Request_free(&request);
        } else {
            buffer_fill(&buffer, 0, nbytes, 2);
            MPI_Ssend(buffer.at, (int)nbytes, MPI_BYTE, 1, TAG, job.plain);
        }
    } else if (job.rank == 1) {
        need_buffer(&buffer, to, nbytes + 100);
        MPI_Irecv(buffer.at, (int)nbytes + 100, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, job.plain,
                  &request);
        MPI_Wait(&request, &status);
        status_is(&status, 0, TAG, (MPI_Count)nbytes, "a short message");
        received(&buffer, nbytes, 2, "a short message");
    }
    if (job.rank < 2)
        buffer_clear(&buffer);
}

static void test_short(void)
{
    job_test("messages shorter than the buffer");
    for (size_t s = 0; s < SIZES; s++)
        for (size_t k = 0; k < KINDS * KINDS * 2; k++)
            pass(sizes[s], kinds[k / 2 % KINDS], kinds[k / 2 / KINDS], k % 2);
    job_result();
}

static void test_nobody(void)
{
    struct buffer buffer;
    MPI_Request request;
    int cancelled = 0;
    MPI_Status status;

    job_test("no message: MPI_PROC_NULL, a cancelled receive");
    need_buffer(&buffer, MEMORY_DEVICE, 5000);
    MPI_Recv(buffer.at, 5000, MPI_BYTE, MPI_PROC_NULL, TAG, job.plain, &status);
    status_is(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "MPI_PROC_NULL");
    MPI_Sendrecv_replace(buffer.at, 5000, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_PROC_NULL, TAG,
                         job.plain, MPI_STATUS_IGNORE);
    MPI_Irecv(buffer.at, 5000, MPI_BYTE, MPI_ANY_SOURCE, TAG + 1, job.plain, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    expect(cancelled, "the receive is not cancelled");
    expect(buffer_untouched(&buffer, 0), "the buffer was written to");
    buffer_clear(&buffer);
    job_result();
}

/* More requests than a call keeps room for on the stack, and null ones among them. */
static void test_many(void)
{
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;
    MPI_Request requests[3 * MANY];
    struct buffer in, out;

    job_test("%d requests in a call", 3 * MANY);
    need_filled(&out, MEMORY_DEVICE, MANY * 8, (uint64_t)job.rank + 10);
    need_buffer(&in, MEMORY_DEVICE, MANY * 8);
    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(in.at + (size_t)i * 8, 8, MPI_BYTE, last, i, job.plain, &requests[3 * i]);
        MPI_Isend(out.at + (size_t)i * 8, 8, MPI_BYTE, next, i, job.plain, &requests[3 * i + 1]);
        requests[3 * i + 2] = MPI_REQUEST_NULL;
    }
    MPI_Waitall(3 * MANY, requests, MPI_STATUSES_IGNORE);
    received(&in, MANY * 8, (uint64_t)last + 10, "many requests");
    buffer_clear(&in);
    buffer_clear(&out);
    job_result();
}

/* A line of ranks: the first one has nobody before it, and its first block stays as it is. Of what is sent the ends
 * of the line have the blocks alone that somebody gets. */
static void test_borders(void)
{
    const int dims[1] = {job.size}, periods[1] = {0};
    const size_t before = job.rank == 0 ? 5000 : 0, behind = job.rank == job.size - 1 ? 5000 : 0;
    struct buffer in, out;
    MPI_Comm line;

    MPI_Cart_create(job.plain, 1, dims, periods, 0, &line);
    MPI_Comm_set_errhandler(line, MPI_ERRORS_RETURN);
    for (int form = 0; form < 2; form++) {
        job_test("blocks of missing neighbours: %s", form ? "allgather" : "alltoall");
        need_filled(&out, MEMORY_DEVICE, 2 * 5000 - before - behind, 3);
        need_buffer(&in, MEMORY_DEVICE, 2 * 5000);
        if (form)
            MPI_Neighbor_allgather(out.at, 5000, MPI_BYTE, in.at, 5000, MPI_BYTE, line);
        else
            is_int(
                MPI_Neighbor_alltoall(out.at - before, 5000, MPI_BYTE, in.at, 5000, MPI_BYTE, line),
                MPI_SUCCESS, "MPI_Neighbor_alltoall");
        if (job.rank == job.size - 1)
            expect(buffer_untouched(&in, 5000), "written to the block of nobody");
        if (job.rank == 0) {
            char first[5000];

            gpu_get(first, in.at, sizeof first);
            for (size_t i = 0; i < sizeof first; i++)
                expect(first[i] == (char)BUFFER_UNTOUCHED, "byte %zu of nobody was written", i);
        }
        buffer_clear(&in);
        buffer_clear(&out);
        job_result();
    }
    MPI_Comm_free(&line);
}

/* Memory of its own, so that nothing near it stays. */
static char *freed_memory(void)
{
    struct buffer buffer;
    char *freed;

    need_buffer(&buffer, MEMORY_DEVICE, 8 << 20);
    freed = buffer.at;
    buffer_clear(&buffer);
    return freed;
}

enum { BLOCK = 5000, NEIGHBOUR_CALLS = 6 };
static const char *const neighbour_calls[NEIGHBOUR_CALLS] = {
    "MPI_Neighbor_allgather", "MPI_Neighbor_allgatherv", "MPI_Neighbor_alltoall",
    "MPI_Neighbor_alltoallv", "MPI_Neighbor_alltoallw",  "MPI_Ineighbor_allgather"};
static const int block_size[2] = {BLOCK, BLOCK}, block_place[2] = {0, BLOCK};

static int call_neighbours(int which, const char *out, char *in, MPI_Comm comm)
{
    static const MPI_Aint places[2] = {0, BLOCK};
    const MPI_Datatype types[2] = {MPI_BYTE, MPI_BYTE};
    MPI_Request request;
    int result;

    switch (which) {
    case 0:
        return MPI_Neighbor_allgather(out, BLOCK, MPI_BYTE, in, BLOCK, MPI_BYTE, comm);
    case 1:
        return MPI_Neighbor_allgatherv(out, BLOCK, MPI_BYTE, in, block_size, block_place, MPI_BYTE,
                                       comm);
    case 2:
        return MPI_Neighbor_alltoall(out, BLOCK, MPI_BYTE, in, BLOCK, MPI_BYTE, comm);
    case 3:
        return MPI_Neighbor_alltoallv(out, block_size, block_place, MPI_BYTE, in, block_size,
                                      block_place, MPI_BYTE, comm);
    case 4:
        return MPI_Neighbor_alltoallw(out, block_size, places, types, in, block_size, places, types,
                                      comm);
    default:
        result = MPI_Ineighbor_allgather(out, BLOCK, MPI_BYTE, in, BLOCK, MPI_BYTE, comm, &request);
        return result == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : result;
    }
}

/* From rank 0 to the last one: what the others, and a line of one rank, give is never looked at. */
static void test_nobody_near(void)
{
    const int zero = 0, one = 1, last = job.size - 1;
    const bool sends = job.rank == 0, gets = job.rank == last;
    char *freed = freed_memory();
    struct buffer in, out;
    MPI_Comm arrow, alone;

    MPI_Dist_graph_create_adjacent(job.plain, gets, &zero, &one, sends, &last, &one, MPI_INFO_NULL,
                                   0, &arrow);
    MPI_Cart_create(MPI_COMM_SELF, 1, &one, &zero, 0, &alone);
    MPI_Comm_set_errhandler(arrow, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
    need_filled(&out, MEMORY_DEVICE, BLOCK, 5);
    need_buffer(&in, MEMORY_DEVICE, BLOCK);
    for (int which = 0; which < NEIGHBOUR_CALLS; which++) {
        job_test("%s: buffers of ranks without neighbours", neighbour_calls[which]);
        buffer_reset(&in);
        is_int(call_neighbours(which, sends ? out.at : freed, gets ? in.at : freed, arrow),
               MPI_SUCCESS, "from one rank to another");
        if (gets)
            received(&in, BLOCK, 5, "from one rank to another");
        is_int(call_neighbours(which, freed, freed, alone), MPI_SUCCESS, "MPI_PROC_NULL alone");
        job_result();
    }
    buffer_clear(&in);
    buffer_clear(&out);
    MPI_Comm_free(&arrow);
    MPI_Comm_free(&alone);
}

static int class_of(int result)
{
    int class;

    MPI_Error_class(result, &class);
    return class;
}

/* Each ends in the error class that host memory ends in. */
static void use_freed_memory(void)
{
#ifdef STARTS_REPLACES
    MPI_Request request;
#endif
    char *freed;

    if (!gpu_count)
        return;
    freed = freed_memory();
    job_at("memory that was freed");
    is_int(class_of(MPI_Send(freed, 8, MPI_BYTE, job.rank, TAG, MPI_COMM_WORLD)), MPI_ERR_BUFFER,
           "MPI_Send");
    is_int(class_of(MPI_Recv(freed, 8, MPI_BYTE, job.rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)),
           MPI_ERR_BUFFER, "MPI_Recv");
    is_int(class_of(MPI_Bcast(freed, 8, MPI_BYTE, 0, MPI_COMM_WORLD)), MPI_ERR_BUFFER, "MPI_Bcast");
    is_int(MPI_Send(freed, 8, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD), MPI_SUCCESS,
           "MPI_Send to nobody");
    is_int(MPI_Sendrecv_replace(freed, 8, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_PROC_NULL, TAG,
                                MPI_COMM_WORLD, MPI_STATUS_IGNORE),
           MPI_SUCCESS, "MPI_Sendrecv_replace with nobody");
#ifdef STARTS_REPLACES
    is_int(MPI_Isendrecv_replace(freed, 8, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_PROC_NULL, TAG,
                                 MPI_COMM_WORLD, &request),
           MPI_SUCCESS, "MPI_Isendrecv_replace with nobody");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
}

static void test_errors(void)
{
    struct buffer buffer;
    MPI_Request request;
    char out[8];

    job_test("errors of calls with GPU memory");
    need_filled(&buffer, MEMORY_DEVICE, 5000, 4);
    job_at("a count of -1");
    is_int(class_of(MPI_Send(buffer.at, -1, MPI_BYTE, job.rank, TAG, MPI_COMM_WORLD)),
           MPI_ERR_COUNT, "MPI_Send");
#ifndef MPICH_NUMVERSION /* which crashes, with host memory, too */
    is_int(class_of(MPI_Allreduce(MPI_IN_PLACE, buffer.at, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)),
           MPI_ERR_COUNT, "MPI_Allreduce");
#endif
    job_at("no type");
    is_int(class_of(MPI_Send(buffer.at, 1, MPI_DATATYPE_NULL, job.rank, TAG, MPI_COMM_WORLD)),
           MPI_ERR_TYPE, "MPI_Send");
    job_at("no such rank");
    is_int(class_of(MPI_Isend(buffer.at, 8, MPI_BYTE, job.size, TAG, MPI_COMM_WORLD, &request)),
           MPI_ERR_RANK, "MPI_Isend");
    is_int(class_of(MPI_Sendrecv(buffer.at, 5000, MPI_BYTE, job.rank, TAG, out, 8, MPI_BYTE,
                                 job.size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)),
           MPI_ERR_RANK, "MPI_Sendrecv");
    job_at("a message that is too long");
    MPI_Isend(out, 8, MPI_BYTE, job.rank, TAG, MPI_COMM_WORLD, &request);
    is_int(class_of(
               MPI_Recv(buffer.at, 4, MPI_BYTE, job.rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)),
           MPI_ERR_TRUNCATE, "MPI_Recv");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    buffer_clear(&buffer);
    use_freed_memory();
    job_result();
}

/* MPI_DOUBLE_INT has a gap at its end. */
static void test_pairs(void)
{
    struct pair {
        double value;
        int rank, gap;
    } mine = {.value = -job.rank, .rank = job.rank, .gap = 77}, got = {.gap = 78};
    struct buffer in, out;

    job_test("MPI_MINLOC");
    need_buffer(&out, MEMORY_DEVICE, sizeof mine);
    need_buffer(&in, MEMORY_DEVICE, sizeof got);
    gpu_put(out.at, &mine, sizeof mine);
    gpu_put(in.at, &got, sizeof got);
    MPI_Allreduce(out.at, in.at, 1, MPI_DOUBLE_INT, MPI_MINLOC, job.plain);
    gpu_get(&got, in.at, sizeof got);
    is_int(got.rank, job.size - 1, "the rank");
    is_int(got.gap, 78, "the gap");
    mine.rank += 100;
    gpu_put(out.at, &mine, sizeof mine);
    MPI_Sendrecv(out.at, 1, MPI_DOUBLE_INT, (job.rank + 1) % job.size, TAG, in.at, 1,
                 MPI_DOUBLE_INT, MPI_ANY_SOURCE, TAG, job.plain, MPI_STATUS_IGNORE);
    gpu_get(&got, in.at, sizeof got);
    is_int(got.rank, 100 + (job.rank + job.size - 1) % job.size, "the rank of a message");
    is_int(got.gap, 78, "the gap after a message");
    buffer_clear(&in);
    buffer_clear(&out);
    job_result();
}

/* MPI_Request_get_status, a persistent receive that is started again, an inactive request. */
static void test_requests(void)
{
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;
    struct buffer in, out;
    MPI_Request requests[2];

    job_test("persistent requests among others");
    need_buffer(&out, MEMORY_DEVICE, 5000);
    need_buffer(&in, MEMORY_DEVICE, 5000);
    MPI_Recv_init(in.at, 5000, MPI_BYTE, last, TAG, job.plain, &requests[0]);
    for (int round = 0; round < 3; round++) {
        const size_t nbytes = 5000 - (size_t)round * 1000;
        int done = 0, which = -1;

        job_at("round %d", round);
        buffer_reset(&in);
        buffer_fill(&out, 0, nbytes, (uint64_t)(job.rank + 10 * round));
        MPI_Start(&requests[0]);
        MPI_Isend(out.at, (int)nbytes, MPI_BYTE, next, TAG, job.plain, &requests[1]);
        while (!done)
            MPI_Request_get_status(requests[0], &done, MPI_STATUS_IGNORE);
        received(&in, nbytes, (uint64_t)(last + 10 * round), "MPI_Request_get_status");
        buffer_reset(&in);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        expect(buffer_untouched(&in, 0), "MPI_Waitall wrote again");
        MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
        is_int(which, MPI_UNDEFINED, "MPI_Waitany of inactive requests");
    }
    MPI_Request_free(&requests[0]);
    buffer_clear(&in);
    buffer_clear(&out);
    job_result();
}

enum { TOLD_BY_MESSAGE, TOLD_BY_PROBES, TOLD_BY_BARRIERS, TOLD };
static const char *const told[TOLD] = {"a second message tells", "probes see", "barriers show"};

static void be_told(int how, int next, int last)
{
    int token = 0, flag;

    if (how == TOLD_BY_MESSAGE) {
        MPI_Sendrecv(&job.rank, 1, MPI_INT, next, TAG, &token, 1, MPI_INT, last, TAG, job.plain,
                     MPI_STATUS_IGNORE);
        is_int(token, last, "the second message");
        return;
    }
    for (int i = 0; i < 200; i++) { /* 0.2 s, as MPI need not have the message at once */
        if (how == TOLD_BY_PROBES)
            MPI_Iprobe(last, TAG + 1, job.plain, &flag, MPI_STATUS_IGNORE);
        else
            MPI_Barrier(job.plain);
        usleep(1000);
    }
}

static void test_freed(int how)
{
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;
    struct buffer in, out;
    MPI_Request request;

    job_test("requests that are freed at once: %s that they are complete", told[how]);
    need_filled(&out, MEMORY_DEVICE, 1000, (uint64_t)job.rank + 30);
    need_buffer(&in, MEMORY_DEVICE, 5000);
    MPI_Irecv(in.at, 5000, MPI_BYTE, last, TAG, job.plain, &request);
    MPI_Request_free(&request);
    is_int(request == MPI_REQUEST_NULL, 1, "the handle of a freed request");
    MPI_Isend(out.at, 1000, MPI_BYTE, next, TAG, job.plain, &request);
    MPI_Request_free(&request);
    be_told(how, next, last);
    received(&in, 1000, (uint64_t)last + 30, "a freed receive");
    buffer_clear(&in);
    buffer_clear(&out);
    job_result();
}

/* The host memory that takes the place of both buffers may lie side by side; MPI must not take a
 * pointer to one less its displacement for the other. */
static void test_displaced(void)
{
    enum { NBYTES = 4096 };
    int counts[64] = {0}, displacements[64] = {0};
    struct buffer out, in;
    MPI_Request request;

    job_test("a block behind a gap of the size of what is sent");
    counts[0] = NBYTES;
    displacements[0] = NBYTES;
    need_filled(&out, MEMORY_DEVICE, NBYTES, (uint64_t)job.rank + 60);
    need_buffer(&in, MEMORY_DEVICE, 2 * NBYTES);
    MPI_Iallgatherv(out.at, counts[job.rank], MPI_BYTE, in.at, counts, displacements, MPI_BYTE,
                    job.plain, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(buffer_holds(&in, NBYTES, NBYTES, 60, NULL), "the block");
    buffer_clear(&in);
    buffer_clear(&out);
    job_result();
}

int main(void)
{
    job_start(MPI_THREAD_SINGLE);
    test_short();
    test_nobody();
    test_many();
    test_borders();
    test_nobody_near();
    test_errors();
    test_pairs();
    test_requests();
    for (int how = 0; how < TOLD; how++)
        test_freed(how);
    test_displaced();
    return job_end();
}
