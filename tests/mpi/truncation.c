/* A message that is larger than its receive's buffer: an error at the receiver alone,
 * which takes the message and leaves the buffer. For two ranks and more; rank 1 sends
 * to rank 0. */
#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define LARGE 300000

static struct buffer out, in, host;

static void send_one(int nbytes, int tag, uint64_t seed)
{
    buffer_fill(&out, 0, (size_t)nbytes, seed);
    succeeds(MPI_GPUSend(out.at, nbytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD),
             "the send of a message that is too large, or the next");
}

static void next_is_right(void)
{
    MPI_Status status;

    buffer_reset(&in);
    succeeds(
        MPI_GPURecv(in.at, LARGE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status),
        "the next receive");
    status_is(&status, 1, 2, 777, "the next receive");
    received(&in, 777, 5, "the next receive");
}

static void blocking(const struct buffer *into, int nbytes, int room)
{
    job_test("%d bytes into %d of %s", nbytes, room, memory_name(into->kind));
    if (job.rank == 1) {
        send_one(nbytes, 1, 4);
        send_one(777, 2, 5);
    }
    if (job.rank == 0) {
        buffer_reset(into);
        fails(MPI_GPURecv(into->at, room, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              MPI_ERR_TRUNCATE, NULL, "receive");
        expect(buffer_untouched(into, 0), "the buffer was written to");
        next_is_right();
    }
    job_result();
}

static void nonblocking(void)
{
    gpubind_request requests[3];
    struct buffer parts[3];
    MPI_Status statuses[3];
    int class = MPI_SUCCESS;

    job_test("waitall: MPI_ERR_IN_STATUS, and the statuses say which of them");
    if (job.rank == 0) {
        for (int i = 0; i < 3; i++) {
            need_buffer(&parts[i], MEMORY_DEVICE, 1000);
            succeeds(gpubind_irecv(parts[i].at, i == 1 ? 10 : 1000, MPI_BYTE, 1, 1, MPI_COMM_WORLD,
                                   &requests[i]),
                     "irecv");
        }
        fails(gpubind_waitall(3, requests, statuses), MPI_ERR_IN_STATUS, NULL, "waitall");
        for (int i = 0; i < 3; i++) {
            MPI_Error_class(statuses[i].MPI_ERROR, &class);
            is_int(class, i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS, "MPI_ERROR of a status");
            expect(!requests[i], "a request is left");
            if (i != 1)
                received(&parts[i], 1000, 30 + (uint64_t)i, "its neighbours");
        }
        expect(buffer_untouched(&parts[1], 0), "the buffer was written to");
        next_is_right();
        for (int i = 0; i < 3; i++)
            buffer_clear(&parts[i]);
    }
    if (job.rank == 1) {
        for (int i = 0; i < 3; i++)
            send_one(1000, 1, 30 + (uint64_t)i);
        send_one(777, 2, 5);
    }
    job_result();
}

/* One test for each verb that completes a receive. */
static void other_verbs(void)
{
    gpubind_request request = GPUBIND_REQUEST_NULL;
    int flag = 0, status = MPI_SUCCESS, which = 7;

    job_test("wait, test, waitany and sendrecv say it, too");
    if (job.rank == 1) {
        for (int i = 0; i < 4; i++)
            send_one(LARGE / (i + 1), 1, 4);
        send_one(777, 2, 5);
    }
    if (job.rank == 0) {
        buffer_reset(&in);
        for (int i = 0; i < 3; i++) {
            succeeds(gpubind_irecv(in.at, 10, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request), "irecv");
            if (i == 0)
                status = gpubind_wait(&request, MPI_STATUS_IGNORE);
            if (i == 1)
                status = gpubind_waitany(1, &request, &which, MPI_STATUS_IGNORE);
            while (i == 2 && !flag) {
                status = gpubind_test(&request, &flag, MPI_STATUS_IGNORE);
                flag |= status != MPI_SUCCESS;
            }
            fails(status, MPI_ERR_TRUNCATE, NULL, "completion of a receive");
            expect(!request, "the request is left");
        }
        is_int(which, 0, "the index of waitany");
        fails(gpubind_sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, in.at, 10, MPI_BYTE, 1, 1,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              MPI_ERR_TRUNCATE, NULL, "sendrecv");
        expect(buffer_untouched(&in, 0), "the buffer was written to");
        next_is_right();
    }
    job_result();
}

static int handled, handled_class;
static MPI_Comm handled_comm;

static void handler(MPI_Comm *comm, int *code, ...)
{
    handled++;
    handled_comm = *comm;
    MPI_Error_class(*code, &handled_class);
}

static void handlers(void)
{
    MPI_Errhandler errhandler;
    MPI_Comm comm;

    job_test("the communicator's error handler is called, once, and the call returns");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(comm, errhandler);
    if (job.rank == 1)
        succeeds(MPI_GPUSend(out.at, 100, MPI_BYTE, 0, 1, comm), "send");
    if (job.rank == 0) {
        fails(MPI_GPURecv(in.at, 10, MPI_BYTE, 1, 1, comm, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE,
              NULL, "receive");
        expect(handled == 1 && handled_class == MPI_ERR_TRUNCATE && handled_comm == comm,
               "called %d times, for class %d", handled, handled_class);
        fails(MPI_GPUSend(in.at, 10, MPI_BYTE, 1, -9, comm), MPI_ERR_TAG, "-9", "send");
        expect(handled == 2 && handled_class == MPI_ERR_TAG && handled_comm == comm,
               "called %d times, for class %d", handled, handled_class);
    }
    MPI_Errhandler_free(&errhandler);
    MPI_Comm_free(&comm);
    job_result();
}

void test_truncation(void)
{
    need_buffer(&out, MEMORY_DEVICE, LARGE);
    need_buffer(&in, MEMORY_DEVICE, LARGE);
    need_buffer(&host, MEMORY_HOST, LARGE);
    blocking(&in, 11, 10);
    blocking(&in, 1000, 0);
    blocking(&in, LARGE, LARGE - 1);
    blocking(&host, 11, 10);
    blocking(&host, LARGE, 1000);
    nonblocking();
    other_verbs();
    handlers();
    buffer_clear(&out);
    buffer_clear(&in);
    buffer_clear(&host);
}
