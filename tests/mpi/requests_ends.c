/* How requests end: lists of them in every way, freed while active, cancelled, looked at. For
 * two ranks and more; rank 1 sends to rank 0. */
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 3000
#define LARGE 700000
#define N 5

static struct buffer out, parts[N];

static void send_to_0(int tag)
{
    buffer_fill(&out, 0, BYTES, (uint64_t)tag);
    succeeds(MPI_GPUSend(out.at, BYTES, MPI_BYTE, 0, tag, MPI_COMM_WORLD), "send");
}

/* Request 1 is null, the others receive with the tag of their place. */
static void post(gpubind_request requests[N])
{
    for (int i = 0; i < N; i++) {
        requests[i] = GPUBIND_REQUEST_NULL;
        if (i == 1)
            continue;
        buffer_reset(&parts[i]);
        succeeds(gpubind_irecv(parts[i].at, BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]),
                 "irecv");
    }
}

static void came(int i, MPI_Status *status, const char *what)
{
    status_is(status, 1, i, BYTES, what);
    received(&parts[i], BYTES, (uint64_t)i, what);
}

static void empty(MPI_Status *status, const char *what)
{
    status_is(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, what);
}

static void nothing_to_end(void)
{
    gpubind_request none[N] = {GPUBIND_REQUEST_NULL}, request;
    MPI_Status statuses[N];
    int flag = 0, n = 7, indices[N], index = 7;

    job_test("null and inactive requests in every call that ends some");
    succeeds(gpubind_send_init_c(out.at, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &none[2]),
             "send_init_c");
    succeeds(gpubind_recv_init_c(out.at, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &none[3]),
             "recv_init_c");
    memset(statuses, 0x55, sizeof statuses);
    succeeds(gpubind_testall(N, none, &flag, statuses), "testall");
    expect(flag, "testall of null requests");
    empty(&statuses[0], "testall");
    empty(&statuses[2], "testall, inactive");
    flag = 0;
    succeeds(gpubind_testany(N, none, &index, &flag, &statuses[0]), "testany");
    expect(flag && index == MPI_UNDEFINED, "testany of null requests: %d, %d", flag, index);
    empty(&statuses[0], "testany");
    succeeds(gpubind_testsome(N, none, &n, indices, statuses), "testsome");
    is_int(n, MPI_UNDEFINED, "testsome of null requests");
    n = 7;
    succeeds(gpubind_waitsome(N, none, &n, indices, MPI_STATUSES_IGNORE), "waitsome");
    is_int(n, MPI_UNDEFINED, "waitsome of null requests");
    flag = 0;
    succeeds(gpubind_request_get_status(none[0], &flag, &statuses[0]), "get_status");
    expect(flag, "get_status of a null request");
    empty(&statuses[0], "get_status");
    succeeds(gpubind_request_free(&none[2]), "free");
    succeeds(gpubind_request_free(&none[3]), "free");
    flag = 0;
    succeeds(gpubind_testall(0, NULL, &flag, MPI_STATUSES_IGNORE), "testall of none");
    expect(flag, "testall of none");
    n = 7;
    succeeds(gpubind_testsome(0, NULL, &n, NULL, MPI_STATUSES_IGNORE), "testsome of none");
    is_int(n, MPI_UNDEFINED, "testsome of none");
    succeeds(gpubind_testany(0, NULL, &index, &flag, MPI_STATUS_IGNORE), "testany of none");
    expect(flag && index == MPI_UNDEFINED, "testany of none");
    request = GPUBIND_REQUEST_NULL;
    fails(gpubind_request_free(&request), MPI_ERR_REQUEST, "NULL", "free of null");
    fails(gpubind_cancel(&request), MPI_ERR_REQUEST, "NULL", "cancel of null");
    job_result();
}

static void counts(void)
{
    gpubind_request none[1] = {GPUBIND_REQUEST_NULL};
    int flag = 1, n = 0, index = 0, indices[1];

    job_test("a negative number of requests is MPI_ERR_COUNT in every call");
    fails(gpubind_waitall(-1, none, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "-1", "waitall");
    fails(gpubind_waitany(-2, none, &index, MPI_STATUS_IGNORE), MPI_ERR_COUNT, "-2", "waitany");
    fails(gpubind_waitsome(-3, none, &n, indices, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "-3",
          "waitsome");
    fails(gpubind_testall(-4, none, &flag, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "-4", "testall");
    fails(gpubind_testany(-5, none, &index, &flag, MPI_STATUS_IGNORE), MPI_ERR_COUNT, "-5",
          "testany");
    fails(gpubind_testsome(-6, none, &n, indices, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "-6",
          "testsome");
    fails(gpubind_startall(-7, none), MPI_ERR_COUNT, "-7", "startall");
    fails(gpubind_startall_on_stream(-8, none, NULL), MPI_ERR_COUNT, "-8", "startall_on_stream");
    job_result();
}

/* Bytes or addresses beyond what can be counted. */
static void too_many(void)
{
    const MPI_Count most = (MPI_Count)1 << 61;
    struct gpubind_message message;
    MPI_Datatype wide, type;
    gpubind_request request;
    int flag = 1;

    job_test("a count whose bytes cannot be counted is MPI_ERR_COUNT, and nothing is sent");
    for (MPI_Count count = most - 1; count < most + 2; count++) {
        if (count < most)
            continue; /* these bytes can be counted */
        fails(MPI_GPUSend_c(out.at, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT,
              "2305843009213693952|2305843009213693953", "send_c");
        fails(MPI_GPURecv_c(out.at, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              MPI_ERR_COUNT, NULL, "recv_c");
        fails(gpubind_isend_c(out.at, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request),
              MPI_ERR_COUNT, NULL, "isend_c");
        fails(gpubind_ssend_c(out.at, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, NULL,
              "ssend_c");
        fails(gpubind_send_init_c(out.at, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request),
              MPI_ERR_COUNT, NULL, "send_init_c");
        fails(gpubind_sendrecv_replace_c(out.at, count, MPI_DOUBLE, 0, 0, 0, 0, MPI_COMM_WORLD,
                                         MPI_STATUS_IGNORE),
              MPI_ERR_COUNT, NULL, "replace_c");
    }
    MPI_Type_create_resized(MPI_BYTE, 0, (MPI_Aint)1 << 40, &wide);
    MPI_Type_commit(&wide);
    fails(MPI_GPUSend(out.at, 1 << 24, wide, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "apart",
          "elements far apart");
    MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    fails(MPI_GPUSend(out.at, 1 << 30, type, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, NULL,
          "a type of 8 GiB");
    MPI_Type_free(&type);
    MPI_Type_free(&wide);
    job_barrier();
    succeeds(gpubind_iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message),
             "iprobe");
    expect(!flag, "something was sent");
    job_result();
}

static void testing_all(void)
{
    gpubind_request requests[N];
    MPI_Status statuses[N];
    int flag = 1;

    job_test("testall: all of them, or none");
    if (job.rank == 0)
        post(requests);
    job_barrier();
    for (int i = N - 1; i > 0 && job.rank == 1; i--)
        if (i != 1)
            send_to_0(i);
    job_barrier();
    for (int turn = 0; turn < 200 && job.rank == 0; turn++) {
        succeeds(gpubind_testall(N, requests, &flag, statuses), "testall");
        expect(!flag && requests[0] && requests[2], "ended before the last");
    }
    job_barrier();
    if (job.rank == 1)
        send_to_0(0);
    if (job.rank == 0) {
        memset(statuses, 0x55, sizeof statuses);
        while (!flag)
            if (!succeeds(gpubind_testall(N, requests, &flag, statuses), "testall"))
                break;
        empty(&statuses[1], "testall, null");
        for (int i = 0; i < N; i++) {
            if (i != 1)
                came(i, &statuses[i], "testall");
            expect(!requests[i], "request %d is left", i);
        }
    }
    job_result();
}

static void testing_any(void)
{
    gpubind_request requests[N];
    MPI_Status status;
    int flag = 1, index = 7, seen = 0;

    job_test("testany: one at a time");
    if (job.rank == 0) {
        post(requests);
        succeeds(gpubind_testany(N, requests, &index, &flag, MPI_STATUS_IGNORE), "testany");
        expect(!flag && index == MPI_UNDEFINED, "testany before the first: %d, %d", flag, index);
    }
    job_barrier();
    for (int i = 0; i < N && job.rank == 1; i++)
        if (i != 1)
            send_to_0(i);
    while (job.rank == 0 && seen != 29) { /* 0, 2, 3, 4 */
        if (!succeeds(gpubind_testany(N, requests, &index, &flag, &status), "testany"))
            break;
        if (!flag)
            continue;
        if (!expect(index >= 0 && index < N && !(seen >> index & 1), "ended: %d", index))
            break;
        seen |= 1 << index;
        expect(!requests[index], "the request is left");
        came(index, &status, "testany");
    }
    job_result();
}

static void some(bool wait)
{
    gpubind_request requests[N];
    MPI_Status statuses[N];
    int n, indices[N], seen = 0;

    job_test("%s: those that are complete", wait ? "waitsome" : "testsome");
    if (job.rank == 0) {
        post(requests);
        if (!wait) {
            succeeds(gpubind_testsome(N, requests, &n, indices, statuses), "testsome");
            is_int(n, 0, "testsome before the first");
        }
    }
    job_barrier();
    for (int i = 0; i < N && job.rank == 1; i++)
        if (i != 1)
            send_to_0(i);
    while (job.rank == 0 && seen != 29) {
        const int result = wait ? gpubind_waitsome(N, requests, &n, indices, statuses)
                                : gpubind_testsome(N, requests, &n, indices, statuses);

        if (!succeeds(result, "some") || !expect(n >= wait && n < N, "%d have ended", n))
            break;
        for (int i = 0; i < n; i++) {
            if (!expect(!(seen >> indices[i] & 1), "%d ends twice", indices[i]))
                continue;
            seen |= 1 << indices[i];
            came(indices[i], &statuses[i], "some");
        }
    }
    if (job.rank == 0) {
        succeeds(gpubind_waitsome(N, requests, &n, indices, statuses), "at last");
        is_int(n, MPI_UNDEFINED, "at last");
    }
    job_result();
}

/* Of three receives the second has too little room. */
static void errors_in_status(int how)
{
    static const char *const names[] = {"waitall", "testall", "waitsome", "testsome"};
    gpubind_request requests[3];
    MPI_Status statuses[3];
    int flag = 0, n = 0, indices[3], result = MPI_SUCCESS, wrong = 0;

    job_test("%s: MPI_ERR_IN_STATUS, and which", names[how]);
    if (job.rank == 1)
        for (int i = 0; i < 3; i++)
            send_to_0(i);
    for (int i = 0; i < 3 && job.rank == 0; i++)
        succeeds(gpubind_irecv(parts[i].at, i == 1 ? 10 : BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD,
                               &requests[i]),
                 "irecv");
    for (int left = 3; job.rank == 0 && left > 0;) {
        if (how < 2) {
            result = how ? gpubind_testall(3, requests, &flag, statuses)
                         : gpubind_waitall(3, requests, statuses);
            n = how && !flag ? 0 : 3;
            for (int i = 0; i < 3; i++)
                indices[i] = i;
        } else {
            result = how == 2 ? gpubind_waitsome(3, requests, &n, indices, statuses)
                              : gpubind_testsome(3, requests, &n, indices, statuses);
        }
        if (!expect(n >= 0 && n <= left, "%d have ended", n))
            break;
        left -= n;
        for (int i = 0; i < n; i++) {
            if (indices[i] == 1) {
                wrong++;
                fails(result, MPI_ERR_IN_STATUS, "request 1", "the call");
                is_int(statuses[i].MPI_ERROR, MPI_ERR_TRUNCATE, "MPI_ERROR of the short one");
            } else if (result != MPI_SUCCESS) {
                is_int(statuses[i].MPI_ERROR, MPI_SUCCESS, "MPI_ERROR of a good one");
            }
        }
    }
    is_int(wrong, job.rank == 0, "errors");
    job_result();
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

void test_requests_ends(void)
{
    need_buffer(&out, MEMORY_DEVICE, BYTES);
    for (int i = 0; i < N; i++)
        need_buffer(&parts[i], i % 2 ? MEMORY_HOST : MEMORY_DEVICE, BYTES);
    nothing_to_end();
    counts();
    too_many();
    testing_all();
    testing_any();
    some(true);
    some(false);
    for (int how = 0; how < 4; how++)
        errors_in_status(how);
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
