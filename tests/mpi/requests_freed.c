/* Requests that are freed while they are active, cancelled, or looked at without being completed. For
 * two ranks and more; rank 1 sends to rank 0. */
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 3000
#define LARGE 700000
#define N 3

static struct buffer out, parts[N];

static void send_to_0(int tag)
{
    buffer_fill(&out, 0, BYTES, (uint64_t)tag);
    succeeds(MPI_GPUSend(out.at, BYTES, MPI_BYTE, 0, tag, MPI_COMM_WORLD), "send");
}

/* The request goes at once, the message comes all the same. */
static void freed(int nbytes, enum memory kind, bool strided)
{
    struct buffer from, to;
    MPI_Datatype type;
    gpubind_request request;
    int word = 0;

    job_test("active requests freed: %d bytes in %s%s", nbytes, memory_name(kind),
             strided ? ", strided" : "");
    need_filled(&from, kind, (size_t)nbytes, 5);
    need_buffer(&to, kind, (size_t)nbytes);
    MPI_Type_vector(nbytes / 8, 1, strided ? 2 : 1, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (job.rank == 1) {
        succeeds(gpubind_isend(from.at, 1, type, 0, 1, MPI_COMM_WORLD, &request), "isend");
        succeeds(gpubind_request_free(&request), "free of a send");
        expect(!request, "the request is left");
        succeeds(gpubind_ssend(from.at, 1, type, 0, 2, MPI_COMM_WORLD), "ssend");
        succeeds(MPI_GPURecv(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "end");
    }
    if (job.rank == 0) {
        char *at[2] = {to.at, NULL}, *wanted = from.at;
        struct buffer second;
        int i = 0;
        struct gpubind_message message;
        int there = 1;

        need_buffer(&second, kind, (size_t)nbytes);
        at[1] = second.at;
        buffer_reset(&to);
        buffer_reset(&second);
        succeeds(gpubind_irecv(at[1], 1, type, 1, 2, MPI_COMM_WORLD, &request), "irecv");
        succeeds(gpubind_request_free(&request), "free of a receive");
        expect(!request, "the request is left");
        succeeds(MPI_GPURecv(at[0], 1, type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "receive");
        /* Until both are the same: the second comes while this rank is in the library. */
        for (; i < 2; i++) {
            char a[4], b[4];
            const int last = (nbytes / 8 - 1) * (strided ? 8 : 4);

            gpu_get(b, wanted + last, 4);
            do {
                succeeds(gpubind_iprobe(1, 77, MPI_COMM_WORLD, &there, &message), "iprobe");
                gpu_get(a, at[i] + last, 4);
            } while (memcmp(a, b, 4) != 0);
        }
        MPI_GPUSend(&word, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
        buffer_clear(&second);
    }
    MPI_Type_free(&type);
    buffer_clear(&from);
    buffer_clear(&to);
    job_result();
}

/* Many, with nothing after them but the end of the communicator. */
static void freed_and_left(void)
{
    MPI_Comm comm;
    gpubind_request request, requests[50];

    job_test("sends are freed, and so is their communicator, before they are received");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 50 && job.rank == 1; i++) {
        succeeds(gpubind_isend(out.at, 60, MPI_BYTE, 0, i, comm, &request), "isend");
        succeeds(gpubind_request_free(&request), "free");
    }
    for (int i = 49; i >= 0 && job.rank == 0; i--)
        succeeds(gpubind_irecv(parts[0].at + 60 * i, 60, MPI_BYTE, 1, i, comm, &requests[i]),
                 "irecv");
    MPI_Comm_free(&comm);
    if (job.rank == 0)
        succeeds(gpubind_waitall(50, requests, MPI_STATUSES_IGNORE), "waitall");
    if (job.rank == 0) /* the other rank is in the library meanwhile */
        succeeds(MPI_GPUSend(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD), "send");
    if (job.rank == 1)
        succeeds(MPI_GPURecv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
    job_result();
}

/* What is under way on a communicator ends after MPI_Comm_free. */
static void comm_freed(enum memory kind)
{
    struct buffer large;
    gpubind_request request;
    MPI_Comm comm;

    job_test("MPI_Comm_free while a send and a receive are under way, %s", memory_name(kind));
    need_filled(&large, kind, LARGE, 6);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (job.rank == 1)
        succeeds(gpubind_isend(large.at, LARGE, MPI_BYTE, 0, 0, comm, &request), "isend");
    if (job.rank == 0) {
        buffer_reset(&large);
        succeeds(gpubind_irecv(large.at, LARGE, MPI_BYTE, 1, 0, comm, &request), "irecv");
    }
    MPI_Comm_free(&comm);
    if (job.rank < 2)
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    received(&large, LARGE, 6, "wait");
    buffer_clear(&large);
    job_result();
}

static void is_cancelled(const MPI_Status *status, int wanted, const char *what)
{
    int flag = !wanted;

    MPI_Test_cancelled(status, &flag);
    is_int(flag != 0, wanted, what);
}

static void cancelled(void)
{
    gpubind_request requests[4];
    MPI_Status status, statuses[2];
    int flag = 0;

    job_test("cancel: a receive without a message, one with, a send");
    if (job.rank == 0) {
        for (int i = 0; i < 3; i++) {
            buffer_reset(&parts[i]);
            succeeds(gpubind_irecv(parts[i].at, BYTES, MPI_BYTE, i == 1 ? MPI_ANY_SOURCE : 1, 5,
                                   MPI_COMM_WORLD, &requests[i]),
                     "irecv");
        }
        /* The first two of three; what comes goes to the third. */
        succeeds(gpubind_cancel(&requests[0]), "cancel");
        succeeds(gpubind_cancel(&requests[0]), "cancel again");
        succeeds(gpubind_cancel(&requests[1]), "cancel");
        expect(requests[0] && requests[1], "a cancelled request is null");
        succeeds(gpubind_test(&requests[0], &flag, &status), "test");
        expect(flag && !requests[0], "a cancelled request is not complete");
        is_cancelled(&status, 1, "test of the first");
        succeeds(gpubind_wait(&requests[1], &status), "wait");
        is_cancelled(&status, 1, "wait for the second");
    }
    job_barrier();
    if (job.rank == 1)
        send_to_0(5);
    if (job.rank == 0) {
        succeeds(gpubind_wait(&requests[2], &status), "wait");
        status_is(&status, 1, 5, BYTES, "the third");
        is_cancelled(&status, 0, "the third");
        received(&parts[2], BYTES, 5, "the third");
        expect(buffer_untouched(&parts[0], 0) && buffer_untouched(&parts[1], 0),
               "a cancelled receive got something");
    }
    job_barrier();
    if (job.rank == 1) {
        buffer_fill(&out, 0, BYTES, 6);
        succeeds(gpubind_isend(out.at, BYTES, MPI_BYTE, 0, 6, MPI_COMM_WORLD, &requests[0]),
                 "isend");
        succeeds(gpubind_cancel(&requests[0]), "cancel of a send");
        succeeds(gpubind_wait(&requests[0], &status), "wait");
        is_cancelled(&status, 0, "the send");
    }
    if (job.rank == 0) {
        succeeds(gpubind_irecv(parts[0].at, BYTES, MPI_BYTE, 1, 6, MPI_COMM_WORLD, &requests[0]),
                 "irecv");
        succeeds(gpubind_irecv(parts[1].at, BYTES, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &requests[1]),
                 "irecv");
        while (!flag || requests[0]) /* it has its message */
            if (!succeeds(gpubind_test(&requests[0], &flag, &statuses[0]), "test"))
                break;
        succeeds(gpubind_cancel(&requests[1]), "cancel");
        succeeds(gpubind_waitall(2, requests, statuses), "waitall");
        is_cancelled(&statuses[0], 0, "waitall, null");
        is_cancelled(&statuses[1], 1, "waitall, cancelled");
        received(&parts[0], BYTES, 6, "the message");
    }
    /* Of nobody: complete already. */
    succeeds(
        gpubind_irecv(parts[0].at, BYTES, MPI_BYTE, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &requests[0]),
        "irecv");
    succeeds(gpubind_cancel(&requests[0]), "cancel of nobody's");
    succeeds(gpubind_wait(&requests[0], &status), "wait");
    status_is(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "nobody's");
    is_cancelled(&status, 0, "nobody's");
    job_result();
}

/* Strided: its data are in place when it is said to be complete, and stay as the program
 * changes them before it ends the request. */
static void looked_at(void)
{
    MPI_Datatype type;
    gpubind_request request;
    MPI_Status status;
    int flag = 1;

    job_test("request_get_status: complete, and still there");
    MPI_Type_vector(BYTES / 20, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    if (job.rank == 0) {
        buffer_reset(&parts[0]);
        succeeds(gpubind_irecv(parts[0].at, 1, type, 1, 8, MPI_COMM_WORLD, &request), "irecv");
        succeeds(gpubind_request_get_status(request, &flag, &status), "get_status");
        expect(!flag, "complete before its message");
    }
    job_barrier();
    if (job.rank == 1) {
        buffer_fill(&out, 0, BYTES, 8);
        succeeds(MPI_GPUSend(out.at, 1, type, 0, 8, MPI_COMM_WORLD), "send");
    }
    if (job.rank == 0) {
        char bytes[8], sent[8];

        while (!flag)
            if (!succeeds(gpubind_request_get_status(request, &flag, &status), "get_status"))
                break;
        status_is(&status, 1, 8, BYTES / 20 * 8, "get_status");
        buffer_fill(&out, 0, BYTES, 8);
        gpu_get(bytes, parts[0].at + 16, 8);
        gpu_get(sent, out.at + 16, 8);
        expect(memcmp(bytes, sent, 8) == 0, "the data are not in place");
        memset(sent, 7, 8);
        gpu_put(parts[0].at + 16, sent, 8);
        expect(request != GPUBIND_REQUEST_NULL, "the request is gone");
        succeeds(gpubind_wait(&request, &status), "wait");
        status_is(&status, 1, 8, BYTES / 20 * 8, "wait");
        gpu_get(bytes, parts[0].at + 16, 8);
        expect(memcmp(bytes, sent, 8) == 0, "the wait has written the data again");
    }
    MPI_Type_free(&type);
    job_result();
}

void test_requests_freed(void)
{
    need_buffer(&out, MEMORY_DEVICE, BYTES);
    for (int i = 0; i < N; i++)
        need_buffer(&parts[i], i % 2 ? MEMORY_HOST : MEMORY_DEVICE, BYTES);
    freed(BYTES, MEMORY_HOST, false);
    freed(BYTES, MEMORY_DEVICE, false);
    freed(LARGE, MEMORY_HOST, false);
    freed(LARGE, MEMORY_DEVICE, false);
    freed(LARGE, MEMORY_HOST, true);
    freed(LARGE, MEMORY_DEVICE, true);
    freed_and_left();
    comm_freed(MEMORY_HOST);
    comm_freed(MEMORY_DEVICE);
    cancelled();
    looked_at();
    buffer_clear(&out);
    for (int i = 0; i < N; i++)
        buffer_clear(&parts[i]);
}
