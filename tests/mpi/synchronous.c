/* Synchronous sends, sends that replace their data, messages that are taken before they are
 * received. For two ranks and more; rank 0 sends to rank 1. */
#include <string.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define LARGEST 3000000

static const int sizes[] = {0, 8, 5000, 16384, 70001, LARGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct buffer outs[2], ins[2]; /* in host memory and on the GPU */
static MPI_Datatype halves;           /* every other 8 bytes */

/* The sends of one kind of memory and layout to each receive. */
static void for_all(void (*test)(const struct buffer *out, const struct buffer *in, int nbytes,
                                 bool strided))
{
    for (int way = 0; way < 8; way++)
        for (int i = 0; i < SIZES; i++)
            if (way < 4 || sizes[i] % 8 == 0)
                test(&outs[way & 1], &ins[way >> 1 & 1], way < 4 ? sizes[i] : sizes[i] / 2 / 8 * 8,
                     way >= 4);
}

static int send_of(const struct buffer *out, int nbytes, bool strided, int dest, int tag,
                   gpubind_request *request)
{
    return gpubind_issend(out->at, strided ? nbytes / 8 : nbytes, strided ? halves : MPI_BYTE, dest,
                          tag, MPI_COMM_WORLD, request);
}

/* What a send of every other 8 bytes of a filled buffer looks like in one piece. */
static bool arrived(const struct buffer *in, size_t nbytes, bool strided, const char *what)
{
    static char whole[2 * LARGEST], got[LARGEST];

    if (!strided)
        return received(in, nbytes, 9, what);
    bytes_of_seed(whole, 2 * nbytes, 9);
    gpu_get(got, in->at, nbytes);
    for (size_t i = 0; i < nbytes; i += 8)
        if (!expect(memcmp(got + i, whole + 2 * i, 8) == 0, "%s: byte %zu", what, i))
            return false;
    return true;
}

static void not_before_its_receive(const struct buffer *out, const struct buffer *in, int nbytes,
                                   bool strided)
{
    gpubind_request request;
    MPI_Status status;
    int flag = 0;

    buffer_reset(in);
    if (job.rank == 0) {
        buffer_fill(out, 0, (size_t)nbytes * (strided ? 2 : 1), 9);
        succeeds(send_of(out, nbytes, strided, 1, 3, &request), "issend");
        for (int i = 0; i < 200 && !flag; i++)
            succeeds(gpubind_test(&request, &flag, MPI_STATUS_IGNORE), "test");
        expect(!flag, "%d bytes of %s are complete before their receive", nbytes,
               memory_name(out->kind));
    }
    job_barrier();
    if (job.rank == 0)
        succeeds(gpubind_wait(&request, &status), "wait");
    if (job.rank == 1) {
        succeeds(MPI_GPURecv(in->at, LARGEST, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &status), "receive");
        status_is(&status, 0, 3, nbytes, "receive");
        arrived(in, (size_t)nbytes, strided, "issend");
    }
}

/* Rank 1 says by MPI that its receive comes; ssend may return after that. */
static void blocking(const struct buffer *out, const struct buffer *in, int nbytes, bool strided)
{
    int word = 0, there = 0;

    buffer_reset(in);
    if (job.rank == 0) {
        buffer_fill(out, 0, (size_t)nbytes * (strided ? 2 : 1), 9);
        succeeds(gpubind_ssend(out->at, strided ? nbytes / 8 : nbytes, strided ? halves : MPI_BYTE,
                               1, 4, MPI_COMM_WORLD),
                 "ssend");
        for (int i = 0; i < 200 && !there; i++)
            MPI_Iprobe(1, 5, job.plain, &there, MPI_STATUS_IGNORE);
        expect(there, "%d bytes of %s: ssend returns before the receive", nbytes,
               memory_name(out->kind));
        MPI_Recv(&word, 1, MPI_INT, 1, 5, job.plain, MPI_STATUS_IGNORE);
    }
    if (job.rank == 1) {
        usleep(10000);
        MPI_Send(&word, 1, MPI_INT, 0, 5, job.plain);
        succeeds(MPI_GPURecv(in->at, LARGEST, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
        arrived(in, (size_t)nbytes, strided, "ssend");
    }
}

/* To itself, to nobody, into too small a buffer; the receive waits already. */
static void other_ends(void)
{
    gpubind_request requests[2];
    int flag = 1;

    job_test("issend to itself, to nobody, into too small a buffer, into a posted receive");
    buffer_fill(&outs[1], 0, 5000, 9);
    buffer_reset(&ins[1]);
    succeeds(gpubind_issend(outs[1].at, 5000, MPI_BYTE, 0, 1, MPI_COMM_SELF, &requests[0]),
             "issend");
    succeeds(gpubind_test(&requests[0], &flag, MPI_STATUS_IGNORE), "test");
    expect(!flag, "complete before its receive, to itself");
    succeeds(gpubind_irecv(ins[1].at, 5000, MPI_BYTE, 0, 1, MPI_COMM_SELF, &requests[1]), "irecv");
    succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    received(&ins[1], 5000, 9, "to itself");
    succeeds(gpubind_ssend(outs[1].at, 10, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD), "nobody");
    succeeds(gpubind_ssend_c(outs[1].at, 10, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD), "nobody");
    succeeds(
        gpubind_issend_c(outs[1].at, 10, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]),
        "nobody");
    succeeds(gpubind_wait(&requests[0], MPI_STATUS_IGNORE), "wait");
    if (job.rank == 0)
        succeeds(gpubind_ssend(outs[1].at, 5000, MPI_BYTE, 1, 1, MPI_COMM_WORLD), "too long");
    if (job.rank == 1)
        fails(MPI_GPURecv(ins[1].at, 50, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              MPI_ERR_TRUNCATE, "5000", "too short");
    if (job.rank == 1)
        succeeds(gpubind_irecv(ins[1].at, LARGEST, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[0]),
                 "irecv");
    job_barrier();
    if (job.rank == 0)
        succeeds(gpubind_ssend(outs[1].at, 5000, MPI_BYTE, 1, 2, MPI_COMM_WORLD), "posted");
    if (job.rank == 1)
        succeeds(gpubind_wait(&requests[0], MPI_STATUS_IGNORE), "wait");
    received(&ins[1], 5000, 9, "posted");
    job_result();
}

void test_synchronous(void)
{
    MPI_Type_vector(1, 1, 2, MPI_DOUBLE, &halves);
    MPI_Datatype part = halves;

    MPI_Type_create_resized(part, 0, 16, &halves);
    MPI_Type_free(&part);
    MPI_Type_commit(&halves);
    for (int kind = 0; kind < 2; kind++) {
        need_buffer(&outs[kind], kind ? MEMORY_DEVICE : MEMORY_HOST, LARGEST);
        need_buffer(&ins[kind], kind ? MEMORY_DEVICE : MEMORY_HOST, LARGEST);
    }
    job_test("issend is not complete before its receive");
    for_all(not_before_its_receive);
    job_result();
    job_test("ssend does not return before its receive");
    for_all(blocking);
    job_result();
    other_ends();
    for (int kind = 0; kind < 2; kind++) {
        buffer_clear(&outs[kind]);
        buffer_clear(&ins[kind]);
    }
    MPI_Type_free(&halves);
}
