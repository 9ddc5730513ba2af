/* How requests end: one, some, any and all of a list, by tests and waits. For two ranks and more;
 * rank 1 sends to rank 0. */
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 3000
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

/* None of them may take the place of a request that is made later. */
static void copies_of_handles(void)
{
    gpubind_request twice[2], copy;
    MPI_Status statuses[2];
    int flag;

    job_test("a request named twice, or by a copy of its handle when it has ended");
    if (job.rank == 1) {
        send_to_0(0);
        send_to_0(2);
    } else if (job.rank == 0) {
        succeeds(gpubind_irecv(parts[0].at, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &twice[0]),
                 "irecv");
        copy = twice[1] = twice[0];
        fails(gpubind_waitall(2, twice, statuses), MPI_ERR_IN_STATUS, "request 1", "waitall");
        is_int(statuses[0].MPI_ERROR, MPI_SUCCESS, "MPI_ERROR of the request");
        is_int(statuses[1].MPI_ERROR, MPI_ERR_REQUEST, "MPI_ERROR of its copy");
        came(0, &statuses[0], "waitall");
        twice[0] = twice[1] = copy;
        fails(gpubind_request_get_status(copy, &flag, statuses), MPI_ERR_REQUEST, "copy", "status");
        fails(gpubind_cancel(&copy), MPI_ERR_REQUEST, "copy", "cancel");
        fails(gpubind_test(&copy, &flag, statuses), MPI_ERR_REQUEST, "copy", "test");
        fails(gpubind_wait(&twice[0], statuses), MPI_ERR_REQUEST, "copy", "wait");
        fails(gpubind_request_free(&twice[1]), MPI_ERR_REQUEST, "copy", "free");
        expect(!copy && !twice[0] && !twice[1], "the copies are null now");
        for (int i = 0; i < 2; i++)
            succeeds(
                gpubind_irecv(parts[i].at, BYTES, MPI_BYTE, 1, 2 + i, MPI_COMM_WORLD, &twice[i]),
                "irecv");
        expect(twice[0] != twice[1], "two requests have one place");
        succeeds(gpubind_cancel(&twice[1]), "cancel");
        succeeds(gpubind_waitall(2, twice, statuses), "waitall");
        received(&parts[0], BYTES, 2, "a later message");
    }
    job_result();

    job_test("a copy of the handle of a request that was freed while active");
    if (job.rank == 0) {
        for (int i = 0; i < 2; i++)
            succeeds(
                gpubind_irecv(parts[i].at, BYTES, MPI_BYTE, 1, 4 + i, MPI_COMM_WORLD, &twice[i]),
                "irecv");
        copy = twice[0];
        succeeds(gpubind_request_free(&twice[0]), "free");
        twice[0] = copy;
        fails(gpubind_request_free(&twice[0]), MPI_ERR_REQUEST, "copy", "a second free");
        fails(gpubind_cancel(&copy), MPI_ERR_REQUEST, "copy", "cancel");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (job.rank == 1) {
        send_to_0(4);
        send_to_0(5);
    } else if (job.rank == 0) {
        fails(gpubind_wait(&copy, statuses), MPI_ERR_REQUEST, "copy", "wait");
        expect(!copy, "the copy is null now");
        succeeds(gpubind_wait(&twice[1], statuses), "wait");
        received(&parts[1], BYTES, 5, "the next message");
        received(&parts[0], BYTES, 4, "what the freed one received");
    }
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
    copies_of_handles();
    buffer_clear(&out);
    for (int i = 0; i < N; i++)
        buffer_clear(&parts[i]);
}
