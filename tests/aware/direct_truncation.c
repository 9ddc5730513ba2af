/* Receives that are shorter than their message. */
#include "tests/aware/direct.h"

#include <stdlib.h>

enum { RECV, SENDRECV, MRECV, RECV_INIT, IRECV, WAYS }; /* to receive one that is too long */

#ifdef OPEN_MPI
#define TELLS_BY_ANY(way) ((way) != RECV_INIT) /* the error, of host memory, too */
#else
#define TELLS_BY_ANY(way) true
#endif

static const char *const ways[WAYS] = {"MPI_Recv", "MPI_Sendrecv", "MPI_Mrecv", "MPI_Recv_init",
                                       "MPI_Irecv"};
static const enum memory kinds[] = {MEMORY_DEVICE, MEMORY_HOST, MEMORY_MANAGED, MEMORY_PINNED};
static MPI_Comm strict; /* where errors are returned */

/* The errors of a call that completes all three requests, the second of which fails. */
static void complete_failing(int how, MPI_Request requests[3])
{
    MPI_Status statuses[3];
    int indices[3], count, which, flag = 0, result = MPI_SUCCESS;

    for (int i = 0; i < 3; i++)
        statuses[i].MPI_ERROR = MPI_SUCCESS;
    if (how < 2) { /* all at once */
        while (!flag) {
            result = how ? MPI_Testall(3, requests, &flag, statuses)
                         : MPI_Waitall(3, requests, statuses);
            flag |= !how || result != MPI_SUCCESS;
        }
        is_int(class_of(result), MPI_ERR_IN_STATUS, how ? "MPI_Testall" : "MPI_Waitall");
        is_int(class_of(statuses[1].MPI_ERROR), MPI_ERR_TRUNCATE, "the status's error");
        for (int i = 0; i < 3; i += 2) {
            const int class = class_of(statuses[i].MPI_ERROR);

            expect(class == MPI_SUCCESS || class == MPI_ERR_PENDING, "another's error: %d", class);
        }
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        return;
    }
    for (int failed = 0; !failed;) {
        if (how == 2)
            result = MPI_Waitsome(3, requests, &count, indices, statuses);
        else
            result = MPI_Testsome(3, requests, &count, indices, statuses);
        if (!expect(count != MPI_UNDEFINED, "no call says that a receive failed"))
            return;
        if (result == MPI_SUCCESS)
            continue;
        is_int(class_of(result), MPI_ERR_IN_STATUS, how == 2 ? "MPI_Waitsome" : "MPI_Testsome");
        for (int i = 0; i < count; i++) {
            is_int(class_of(statuses[i].MPI_ERROR),
                   indices[i] == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS, "the status's error");
            failed |= indices[i] == 1;
        }
        expect(failed, "the receive that is too short is not said to have failed");
        failed = 1;
    }
    do
        MPI_Waitany(3, requests, &which, MPI_STATUS_IGNORE);
    while (which != MPI_UNDEFINED);
}

/* Of one request. */
static int complete_one(int how, MPI_Request *request)
{
    MPI_Status status;
    int flag = 0, result = MPI_SUCCESS, which = 0;

    switch (how) {
    case 0:
        return MPI_Wait(request, &status);
    case 1:
        while (!flag && result == MPI_SUCCESS)
            result = MPI_Test(request, &flag, &status);
        return result;
    case 2:
        return MPI_Waitany(1, request, &which, &status);
    default:
        while (!flag && result == MPI_SUCCESS)
            result = MPI_Testany(1, request, &which, &flag, &status);
        return result;
    }
}

static void receive_too_long(int way, int how, char *at, int room)
{
    MPI_Message matched;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int result = MPI_SUCCESS;

    switch (way) {
    case RECV:
        result = MPI_Recv(at, room, MPI_BYTE, 0, TAG, strict, &status);
        break;
    case SENDRECV:
        result = MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, TAG, at, room, MPI_BYTE, 0, TAG,
                              strict, &status);
        break;
    case MRECV:
        MPI_Mprobe(0, TAG, strict, &matched, &status);
        result = MPI_Mrecv(at, room, MPI_BYTE, &matched, &status);
        break;
    case RECV_INIT:
        MPI_Recv_init(at, room, MPI_BYTE, 0, TAG, strict, &request);
        MPI_Start(&request);
        result = complete_one(TELLS_BY_ANY(way) ? how : how % 2, &request);
        if (request != MPI_REQUEST_NULL) /* Open MPI frees it */
            MPI_Request_free(&request);
        break;
    default:
        MPI_Irecv(at, room, MPI_BYTE, 0, TAG, strict, &request);
        result = complete_one(how, &request);
    }
    is_int(class_of(result), MPI_ERR_TRUNCATE, "the receive's error");
}

/* Too long for the receiver, and then one that is not. */
static void pass_long(size_t nbytes, int way, int how, enum memory from, enum memory to)
{
    static const size_t rooms[] = {2, 3, 100000000};
    const size_t divisor = rooms[draw(3)], room = draw(2) ? nbytes / divisor : nbytes - 1;
    const uint64_t seed = draw_seed();
    struct buffer buffer, next;

    job_at("%zu bytes of %s, %s, %zu bytes of %s, completion %d", nbytes, memory_name(from),
           ways[way], room, memory_name(to), how);
    if (job.rank == 0) {
        need_filled(&buffer, from, nbytes, seed);
        MPI_Ssend(buffer.at, (int)nbytes, MPI_BYTE, 1, TAG, strict);
        buffer_fill(&buffer, 0, nbytes, seed + 1);
        MPI_Send(buffer.at, (int)nbytes, MPI_BYTE, 1, TAG, strict);
    }
    if (job.rank == 1) {
        need_buffer(&buffer, to, room);
        receive_too_long(way, how, buffer.at, (int)room);
        expect(buffer_untouched(&buffer, room), "written behind the receive's buffer");
        need_buffer(&next, to, nbytes);
        MPI_Recv(next.at, (int)nbytes, MPI_BYTE, 0, TAG, strict, MPI_STATUS_IGNORE);
        received(&next, nbytes, seed + 1, "the next message");
        buffer_clear(&next);
    }
    if (job.rank < 2)
        buffer_clear(&buffer);
}

static void test_shorter(void)
{
    static const size_t sizes[] = {100, 3008, 70000, MIB};

    for (int way = 0; way < WAYS; way++) {
        job_test("a message that is too long for %s, then one that is not", ways[way]);
        for (int i = 0; i < 4 * 9; i++)
            for (int how = 0; how < (way < RECV_INIT ? 1 : 4); how++)
                pass_long(sizes[i / 9], way, how, kinds[i % 3], kinds[i / 3 % 3]);
        job_result();
    }
}

/* In a list: a receive, the one that fails, a send. */
static void pass_list(size_t nbytes, int how, enum memory from, enum memory to)
{
    const uint64_t seed = draw_seed();
    struct buffer all[3];
    MPI_Request requests[3];
    const int n = (int)nbytes;

    job_at("%zu bytes of %s, %s, completion %d", nbytes, memory_name(from), memory_name(to), how);
    for (int i = 0; i < 3 && job.rank < 2; i++) {
        need_buffer(&all[i], job.rank ? to : from, nbytes);
        if (job.rank == 0 || i == 2)
            buffer_fill(&all[i], 0, nbytes, seed + (uint64_t)i);
    }
    if (job.rank == 0) {
        buffer_reset(&all[2]);
        MPI_Irecv(all[2].at, n, MPI_BYTE, 1, TAG + 2, strict, &requests[2]);
        MPI_Isend(all[0].at, n, MPI_BYTE, 1, TAG, strict, &requests[0]);
        MPI_Isend(all[1].at, n, MPI_BYTE, 1, TAG + 1, strict, &requests[1]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        received(&all[2], nbytes, seed + 2, "the other way");
    } else if (job.rank == 1) {
        MPI_Irecv(all[0].at, n, MPI_BYTE, 0, TAG, strict, &requests[0]);
        MPI_Irecv(all[1].at, n / 2, MPI_BYTE, 0, TAG + 1, strict, &requests[1]);
        MPI_Isend(all[2].at, n, MPI_BYTE, 0, TAG + 2, strict, &requests[2]);
        complete_failing(how, requests);
        received(&all[0], nbytes, seed, "the message before");
        expect(buffer_untouched(&all[1], nbytes / 2), "written behind the receive's buffer");
    }
    for (int i = 0; i < 3 && job.rank < 2; i++)
        buffer_clear(&all[i]);
}

static void test_in_lists(bool large)
{
    static const size_t sizes[] = {64, 3008, 70000, MIB};
    static const char *const names[] = {"MPI_Waitall", "MPI_Testall", "MPI_Waitsome",
                                        "MPI_Testsome"};

    for (int how = 0; how < 4; how++) {
        job_test("%s with a %s message that is too long among others", names[how],
                 large ? "large" : "small");
        for (int i = 0; i < 2 * 9; i++)
            pass_list(sizes[i / 9 + 2 * large], how, kinds[i % 3], kinds[i / 3 % 3]);
        job_result();
    }
}

/* ---- whose handler */

static int ncalled[2]; /* the communicator's, another's */

static void called(MPI_Comm *comm, int *error, ...)
{
    is_int(class_of(*error), MPI_ERR_TRUNCATE, "the error of the handler");
    ncalled[*comm != strict]++;
}

static void test_handlers(void)
{
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(called, &handler);
    MPI_Comm_set_errhandler(strict, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    for (int way = 0; way < WAYS; way++) {
        job_test("the error of %s comes to its communicator's handler", ways[way]);
#ifdef MPICH
        if (way == MRECV || way == IRECV) {
            job_skip("MPICH calls another handler, of host memory, too");
            continue;
        }
#endif
        for (int i = 0; i < 4; i++) {
            ncalled[0] = ncalled[1] = 0;
            pass_long(i / 2 ? 300000 : 3008, way, 0, kinds[i % 2], kinds[0]);
            is_int(ncalled[0], job.rank == 1, "calls of the communicator's handler");
            is_int(ncalled[1], 0, "calls of another communicator's");
        }
        job_result();
    }
    MPI_Errhandler_free(&handler);
}

void test_truncation(void)
{
    MPI_Comm_dup(messages, &strict);
    MPI_Comm_set_errhandler(strict, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* test_handlers tells them apart */
    test_shorter();
    test_in_lists(false);
    test_in_lists(true);
    test_handlers();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&strict);
}
