/* What the MPI standard promises of buffers, with GPU memory in plain MPI functions: bytes that no
 * message reaches stay as they are. */
#include <stdlib.h>

#include "tests/mpi/job.h"

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

/* A line of ranks: the first one has nobody before it, and its first block stays as it is. */
static void test_borders(void)
{
    const int dims[1] = {job.size}, periods[1] = {0};
    struct buffer in, out;
    MPI_Comm line;

    MPI_Cart_create(job.plain, 1, dims, periods, 0, &line);
    for (int form = 0; form < 2; form++) {
        job_test("blocks of missing neighbours: %s", form ? "allgather" : "alltoall");
        need_filled(&out, MEMORY_DEVICE, 2 * 5000, 3);
        need_buffer(&in, MEMORY_DEVICE, 2 * 5000);
        if (form)
            MPI_Neighbor_allgather(out.at, 5000, MPI_BYTE, in.at, 5000, MPI_BYTE, line);
        else
            MPI_Neighbor_alltoall(out.at, 5000, MPI_BYTE, in.at, 5000, MPI_BYTE, line);
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

int main(void)
{
    job_start(MPI_THREAD_SINGLE);
    test_short();
    test_nobody();
    test_many();
    test_borders();
    return job_end();
}
