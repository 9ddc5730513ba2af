/* The calls that complete requests over mixed lists: sends and receives of host and GPU memory, null
 * requests, inactive persistent ones, generalized ones. */
#include "tests/aware/direct.h"

#include <stdlib.h>

enum {
    GPU_IN,
    HOST_IN,
    NONE,
    INACTIVE_IN,
    GPU_OUT,
    HOST_OUT,
    PERSISTENT_IN,
    PERSISTENT_OUT,
    GENERALIZED,
    INACTIVE_OUT,
    SMALL_IN,
    SMALL_OUT,
    LIST
};
enum { BYTES = 200000, FEW = 2000, ELEMENTS = 77 };

static int next, last;
static struct buffer buffers[LIST];
static int nqueries, nfrees;
static int nfilled; /* statuses of MPI_Waitany that are not empty, where all is inactive */

/* ---- a generalized request */

static int query(void *unused, MPI_Status *status)
{
    (void)unused;
    nqueries++;
    MPI_Status_set_elements(status, MPI_BYTE, ELEMENTS);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return MPI_SUCCESS;
}

static int release(void *unused)
{
    (void)unused;
    nfrees++;
    return MPI_SUCCESS;
}

static int cancel(void *unused, int complete)
{
    (void)unused;
    (void)complete;
    return MPI_SUCCESS;
}

/* ---- the list */

static bool is_in(int i)
{
    return i == GPU_IN || i == HOST_IN || i == PERSISTENT_IN || i == SMALL_IN || i == INACTIVE_IN;
}

static int size_of(int i)
{
    return i == SMALL_IN || i == SMALL_OUT ? FEW : BYTES;
}

/* What comes in comes from the request of the same tag. */
static int tag_of(int i)
{
    static const int out[LIST] = {[GPU_IN] = GPU_OUT,
                                  [HOST_IN] = HOST_OUT,
                                  [PERSISTENT_IN] = PERSISTENT_OUT,
                                  [SMALL_IN] = SMALL_OUT};

    return is_in(i) ? out[i] : i;
}

static void make_buffers(void)
{
    for (int i = 0; i < LIST; i++)
        need_buffer(&buffers[i], i == HOST_IN || i == HOST_OUT ? MEMORY_HOST : MEMORY_DEVICE,
                    BYTES);
}

static void make_persistent(MPI_Request requests[LIST])
{
    MPI_Recv_init(buffers[INACTIVE_IN].at, BYTES, MPI_BYTE, last, 99, messages,
                  &requests[INACTIVE_IN]);
    MPI_Send_init(buffers[INACTIVE_OUT].at, BYTES, MPI_BYTE, next, 99, messages,
                  &requests[INACTIVE_OUT]);
    MPI_Recv_init(buffers[PERSISTENT_IN].at, BYTES, MPI_BYTE, last, tag_of(PERSISTENT_IN), messages,
                  &requests[PERSISTENT_IN]);
    MPI_Ssend_init(buffers[PERSISTENT_OUT].at, BYTES, MPI_BYTE, next, PERSISTENT_OUT, messages,
                   &requests[PERSISTENT_OUT]);
}

static void start(MPI_Request requests[LIST], uint64_t seed, bool sends)
{
    for (int i = 0; i < LIST; i++) {
        const bool starts = is_in(i) != sends && i != INACTIVE_IN && i != INACTIVE_OUT;

        if (!starts)
            continue;
        if (is_in(i))
            buffer_reset(&buffers[i]);
        else
            buffer_fill(&buffers[i], 0, (size_t)size_of(i), seed + (uint64_t)i);
        if (i == NONE)
            requests[i] = MPI_REQUEST_NULL;
        else if (i == GENERALIZED)
            MPI_Grequest_start(query, release, cancel, NULL, &requests[i]);
        else if (i == PERSISTENT_IN || i == PERSISTENT_OUT)
            MPI_Start(&requests[i]);
        else if (is_in(i))
            MPI_Irecv(buffers[i].at, BYTES, MPI_BYTE, last, tag_of(i), messages, &requests[i]);
        else
            (i == GPU_OUT ? MPI_Isend : MPI_Issend)(buffers[i].at, size_of(i), MPI_BYTE, next, i,
                                                    messages, &requests[i]);
        if (i == GENERALIZED)
            MPI_Grequest_complete(requests[i]);
    }
}

static void check(int how, MPI_Request requests[LIST], MPI_Status statuses[LIST], uint64_t seed)
{
    const bool all = how == 0 || how == 1 || how == 4 || how == 5 || how == 9;

    for (int i = 0; i < LIST; i++) {
        const bool kept = i == INACTIVE_IN || i == INACTIVE_OUT || i == PERSISTENT_IN ||
                          i == PERSISTENT_OUT;

        is_int(requests[i] == MPI_REQUEST_NULL, !kept, "a request at its end");
        if (i != INACTIVE_IN && is_in(i)) {
            status_says(&statuses[i], last, tag_of(i), (size_t)size_of(i), NULL, "a receive");
            received(&buffers[i], (size_t)size_of(i),
                     seed - (uint64_t)(1000 * job.rank) + (uint64_t)(1000 * last + tag_of(i)),
                     "a receive");
        }
        if (all && (i == NONE || i == INACTIVE_IN || i == INACTIVE_OUT))
            status_is(&statuses[i], MPI_ANY_SOURCE, MPI_ANY_TAG, 0, "the empty status");
    }
    status_is(&statuses[GENERALIZED], 3, 4, ELEMENTS, "the generalized request's status");
    is_int(nfrees, 1, "calls of the generalized request's end");
    expect(nqueries >= 1, "the generalized request was never asked");
    expect(buffer_untouched(&buffers[INACTIVE_IN], 0), "an inactive receive wrote");
}

/* Nothing of the program's is left: all is inactive or null. */
static void check_inactive(MPI_Request requests[LIST])
{
    int flag = 0, which = 0, count = 0, indices[LIST];
    MPI_Status status = {.MPI_SOURCE = 55, .MPI_TAG = 56}, statuses[LIST];

    MPI_Testall(LIST, requests, &flag, statuses);
    is_int(flag, 1, "MPI_Testall's flag");
    MPI_Waitall(LIST, requests, statuses);
    for (int i = 0; i < LIST; i++)
        status_is(&statuses[i], MPI_ANY_SOURCE, MPI_ANY_TAG, 0, "a status of MPI_Waitall");
    MPI_Waitany(LIST, requests, &which, &status);
    is_int(which, MPI_UNDEFINED, "MPI_Waitany's index");
    nfilled += status.MPI_SOURCE != MPI_ANY_SOURCE || status.MPI_TAG != MPI_ANY_TAG;
    flag = 0;
    MPI_Testany(LIST, requests, &which, &flag, &status);
    is_int(flag && which == MPI_UNDEFINED, 1, "MPI_Testany's flag and index");
    MPI_Waitsome(LIST, requests, &count, indices, statuses);
    is_int(count, MPI_UNDEFINED, "MPI_Waitsome's count");
    count = 0;
    MPI_Testsome(LIST, requests, &count, indices, statuses);
    is_int(count, MPI_UNDEFINED, "MPI_Testsome's count");
    MPI_Request_get_status(requests[PERSISTENT_IN], &flag, &status);
    is_int(flag, 1, "MPI_Request_get_status's flag");
    status_is(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, "MPI_Request_get_status's status");
    MPI_Test(&requests[PERSISTENT_OUT], &flag, &status);
    is_int(flag, 1, "MPI_Test's flag");
}

static void test_list(int how)
{
    MPI_Request requests[LIST];
    MPI_Status statuses[LIST];

    job_test("a mixed list, %s", completion_name(how));
    make_persistent(requests);
    for (int round = 0; round < 6; round++) {
        const uint64_t seed = draw_seed() + (uint64_t)(1000 * job.rank);

        job_at("round %d", round);
        nqueries = nfrees = 0;
        start(requests, seed, round % 2);
        if (round / 2 == 1)
            MPI_Barrier(job.plain);
        if (round / 2 == 2 && job.rank == 0)
            nap(2);
        start(requests, seed, !(round % 2));
        complete(how, LIST, requests, statuses);
        check(how, requests, statuses, seed);
        check_inactive(requests);
    }
    for (int i = 0; i < LIST; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
    job_result();
}

/* ---- requests that are not complete */

static void none_is_complete(MPI_Request requests[3])
{
    const MPI_Request before[3] = {requests[0], requests[1], requests[2]};
    int flag, which, count, indices[3];

    for (int i = 0; i < 5; i++) {
        MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
        is_int(flag, 0, "MPI_Testall's flag");
        MPI_Testany(3, requests, &which, &flag, MPI_STATUS_IGNORE);
        is_int(flag, 0, "MPI_Testany's flag");
        MPI_Testsome(3, requests, &count, indices, MPI_STATUSES_IGNORE);
        is_int(count, 0, "MPI_Testsome's count");
        MPI_Test(&requests[i % 2], &flag, MPI_STATUS_IGNORE);
        is_int(flag, 0, "MPI_Test's flag");
        MPI_Request_get_status(requests[i % 2], &flag, MPI_STATUS_IGNORE);
        is_int(flag, 0, "MPI_Request_get_status's flag");
    }
    for (int i = 0; i < 3; i++)
        expect(requests[i] == before[i], "request %d has another handle", i);
}

/* A synchronous send whose receive is not posted, a receive whose message is not sent. */
static void test_incomplete(void)
{
    const int peer = job.rank ^ 1;
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    struct buffer out, in;

    for (int k = 0; k < 4; k++) {
        const enum memory kind = k % 2 ? MEMORY_HOST : MEMORY_DEVICE;
        const int nbytes = k / 2 ? 300000 : 1000;

        job_test("requests that are not complete yet, %d bytes of %s", nbytes, memory_name(kind));
        need_filled(&out, kind, (size_t)nbytes, (uint64_t)job.rank);
        need_buffer(&in, kind, (size_t)nbytes);
        if (job.rank < 2) {
            MPI_Issend(out.at, nbytes, MPI_BYTE, peer, TAG, messages, &requests[0]);
            MPI_Irecv(in.at, nbytes, MPI_BYTE, peer, TAG + 1, messages, &requests[1]);
            none_is_complete(requests);
        }
        MPI_Barrier(job.plain);
        if (job.rank < 2) {
            MPI_Request more[2];

            MPI_Isend(out.at, nbytes, MPI_BYTE, peer, TAG + 1, messages, &more[0]);
            MPI_Waitall(1, &requests[1], MPI_STATUSES_IGNORE);
            received(&in, (size_t)nbytes, (uint64_t)peer, "the second message");
            buffer_reset(&in);
            MPI_Irecv(in.at, nbytes, MPI_BYTE, peer, TAG, messages, &more[1]);
            MPI_Waitall(2, more, MPI_STATUSES_IGNORE);
            received(&in, (size_t)nbytes, (uint64_t)peer, "the first message");
            MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        }
        buffer_clear(&in);
        buffer_clear(&out);
        job_result();
    }
}

static void test_inactive_status(void)
{
    job_test("MPI_Waitany of inactive requests gives the empty status");
    is_int(nfilled, 0, "other statuses");
    job_result();
}

static void test_empty_lists(void)
{
    int flag = 0, which = 0, count = 0;

    job_test("lists of no requests");
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
    is_int(flag, 1, "MPI_Testall's flag");
    MPI_Waitany(0, NULL, &which, MPI_STATUS_IGNORE);
    is_int(which, MPI_UNDEFINED, "MPI_Waitany's index");
    MPI_Waitsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE);
    is_int(count, MPI_UNDEFINED, "MPI_Waitsome's count");
    job_result();
}

/* ---- freed receives */

/* The message that is completed after it tells that it is here: both are short. */
static void test_freed(int how)
{
    const uint64_t seed = draw_seed();
    struct buffer in, out, token, other;
    MPI_Request requests[2], request;
    MPI_Status statuses[2];

    job_test("a freed receive, by what %s completes", completion_name(how));
    need_buffer(&in, MEMORY_DEVICE, FEW);
    need_buffer(&token, how % 2 ? MEMORY_HOST : MEMORY_DEVICE, FEW);
    need_filled(&out, MEMORY_DEVICE, FEW, seed + (uint64_t)job.rank);
    need_filled(&other, MEMORY_HOST, FEW, seed);
    MPI_Irecv(in.at, FEW, MPI_BYTE, last, 1, messages, &request);
    MPI_Request_free(&request);
    MPI_Irecv(token.at, FEW, MPI_BYTE, last, 2, messages, &requests[0]);
    MPI_Issend(out.at, FEW, MPI_BYTE, next, 1, messages, &request);
    MPI_Isend(other.at, FEW, MPI_BYTE, next, 2, messages, &requests[1]);
    complete(how, 2, requests, statuses);
    received(&in, FEW, seed + (uint64_t)last, "a freed receive");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    buffer_clear(&in);
    buffer_clear(&out);
    buffer_clear(&token);
    buffer_clear(&other);
    job_result();
}

/* More than MPICH's functions for lists have room for at once, and no statuses: a large message, and words in host
 * memory, while a receive is open that another call completes. */
static void test_many(void)
{
    enum { MANY = 130, WORD = 8 };
    const uint64_t seed = draw_seed();
    struct buffer late, in, out, words, word;
    MPI_Request requests[MANY], request, theirs;

    job_test("130 requests completed at once without statuses");
    need_buffer(&late, MEMORY_DEVICE, MIB);
    need_buffer(&in, MEMORY_DEVICE, MIB);
    need_buffer(&word, MEMORY_HOST, WORD);
    need_filled(&out, MEMORY_DEVICE, MIB, seed + (uint64_t)job.rank);
    need_filled(&words, MEMORY_HOST, WORD, seed + (uint64_t)job.rank);
    MPI_Irecv(late.at, MIB, MPI_BYTE, last, 1, messages, &request);
    MPI_Isend(out.at, MIB, MPI_BYTE, next, 2, messages, &requests[0]);
    for (int i = 1; i < MANY; i++)
        MPI_Isend(words.at, WORD, MPI_BYTE, next, 3, messages, &requests[i]);
    for (int i = 1; i < MANY; i++) {
        MPI_Recv(word.at, WORD, MPI_BYTE, last, 3, messages, MPI_STATUS_IGNORE);
        received(&word, WORD, seed + (uint64_t)last, "a word");
        buffer_reset(&word);
    }
    MPI_Irecv(in.at, MIB, MPI_BYTE, last, 2, messages, &theirs);
    if (job.rank % 2)
        MPI_Wait(&theirs, MPI_STATUS_IGNORE);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    MPI_Wait(&theirs, MPI_STATUS_IGNORE);
    received(&in, MIB, seed + (uint64_t)last, "the large message");
    MPI_Send(out.at, MIB, MPI_BYTE, next, 1, messages);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    received(&late, MIB, seed + (uint64_t)last, "the late message");
    buffer_clear(&late);
    buffer_clear(&in);
    buffer_clear(&out);
    buffer_clear(&words);
    buffer_clear(&word);
    job_result();
}

void test_lists(void)
{
    next = (job.rank + 1) % job.size;
    last = (job.rank + job.size - 1) % job.size;
    make_buffers();
    for (int how = 0; how < COMPLETIONS; how++) {
        test_list(how);
        test_freed(how);
    }
    for (int i = 0; i < LIST; i++)
        buffer_clear(&buffers[i]);
    test_inactive_status();
    test_incomplete();
    test_empty_lists();
    test_many();
}
