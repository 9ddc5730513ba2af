/* Messages to oneself, and in communicators of every kind. */
#include "tests/aware/direct.h"

#include <stdlib.h>

static const int sizes[] = {8, 3008, 70000, MIB};

/* Between two ranks of a communicator, or of its two groups; both call it. tag: of this message alone. */
static void pass_in(MPI_Comm comm, bool sends, int peer, int tag, int nbytes, uint64_t seed)
{
    struct buffer buffer;
    MPI_Status status;

    if (sends) {
        need_filled(&buffer, tag % 3 ? MEMORY_DEVICE : MEMORY_HOST, (size_t)nbytes, seed);
        (tag % 2 ? MPI_Send : MPI_Ssend)(buffer.at, nbytes, MPI_BYTE, peer, tag, comm);
    } else {
        need_buffer(&buffer, tag % 4 ? MEMORY_DEVICE : MEMORY_HOST, (size_t)nbytes);
        /* Others may send to this rank, too, and this peer more of them. */
        MPI_Recv(buffer.at, nbytes, MPI_BYTE, tag % 3 == 1 ? MPI_ANY_SOURCE : peer,
                 tag % 3 == 2 ? MPI_ANY_TAG : tag, comm, &status);
        status_says(&status, peer, tag, (size_t)nbytes, NULL, "the status");
        received(&buffer, (size_t)nbytes, seed, "the message");
    }
    buffer_clear(&buffer);
}

/* ---- oneself */

static void to_oneself(MPI_Comm comm, int me, enum memory from, enum memory to, int nbytes)
{
    struct buffer out, in;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Message matched;

    need_filled(&out, from, (size_t)nbytes, 1);
    need_buffer(&in, to, (size_t)nbytes);
    MPI_Isend(out.at, nbytes, MPI_BYTE, me, TAG, comm, &requests[0]);
    MPI_Recv(in.at, nbytes, MPI_BYTE, MPI_ANY_SOURCE, TAG, comm, &statuses[0]);
    status_says(&statuses[0], me, TAG, (size_t)nbytes, NULL, "MPI_Recv");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    received(&in, (size_t)nbytes, 1, "MPI_Recv");
    buffer_fill(&out, 0, (size_t)nbytes, 2);
    MPI_Irecv(in.at, nbytes, MPI_BYTE, me, TAG, comm, &requests[0]);
    MPI_Ssend(out.at, nbytes, MPI_BYTE, me, TAG, comm);
    buffer_reset(&out);
    MPI_Wait(&requests[0], &statuses[0]);
    received(&in, (size_t)nbytes, 2, "MPI_Irecv, MPI_Ssend");
    buffer_fill(&out, 0, (size_t)nbytes, 3);
    MPI_Sendrecv(out.at, nbytes, MPI_BYTE, me, TAG, in.at, nbytes, MPI_BYTE, me, TAG, comm,
                 &statuses[0]);
    received(&in, (size_t)nbytes, 3, "MPI_Sendrecv");
    MPI_Sendrecv_replace(in.at, nbytes, MPI_BYTE, me, TAG, me, TAG, comm, &statuses[0]);
    status_says(&statuses[0], me, TAG, (size_t)nbytes, NULL, "MPI_Sendrecv_replace");
    received(&in, (size_t)nbytes, 3, "MPI_Sendrecv_replace");
    buffer_reset(&in);
    MPI_Issend(out.at, nbytes, MPI_BYTE, me, TAG, comm, &requests[0]);
    statuses[0] = (MPI_Status){0};
    MPI_Mprobe(me, TAG, comm, &matched, &statuses[0]);
    status_says(&statuses[0], me, TAG, (size_t)nbytes, NULL, "MPI_Mprobe");
    MPI_Imrecv(in.at, nbytes, MPI_BYTE, &matched, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    received(&in, (size_t)nbytes, 3, "MPI_Imrecv");
    buffer_clear(&in);
    buffer_clear(&out);
}

static void test_oneself(void)
{
    static const enum memory kinds[] = {MEMORY_DEVICE, MEMORY_HOST, MEMORY_MANAGED};

    for (int form = 0; form < 3; form++) {
        const MPI_Comm comm = form == 0 ? MPI_COMM_SELF : form == 1 ? MPI_COMM_WORLD : messages;

        job_test("messages to oneself, %s", form == 0   ? "MPI_COMM_SELF"
                                            : form == 1 ? "MPI_COMM_WORLD"
                                                        : "another communicator");
        for (int i = 0; i < 4 * 9; i++) {
            job_at("%d bytes of %s into %s", sizes[i / 9], memory_name(kinds[i % 3]),
                   memory_name(kinds[i / 3 % 3]));
            to_oneself(comm, form ? job.rank : 0, kinds[i % 3], kinds[i / 3 % 3], sizes[i / 9]);
        }
        job_result();
    }
}

/* ---- several communicators, one tag */

/* Sent in the one order, received in the other. */
static void test_apart(void)
{
    enum { COMMS = 4 };
    MPI_Comm comms[COMMS];
    MPI_Request requests[COMMS];
    struct buffer buffers[COMMS];

    job_test("messages of one tag in several communicators, received in another order");
    comms[0] = messages;
    MPI_Comm_dup(messages, &comms[1]);
    MPI_Comm_dup(comms[1], &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, job.rank, &comms[3]);
    for (int i = 0; i < 16; i++) {
        const int nbytes = sizes[i % 4];

        for (int k = 0; k < COMMS && job.rank == 0; k++) {
            need_filled(&buffers[k], (i + k) % 4 ? MEMORY_DEVICE : MEMORY_HOST, (size_t)nbytes,
                        (uint64_t)(10 * i + k));
            MPI_Isend(buffers[k].at, nbytes, MPI_BYTE, 1, TAG, comms[k], &requests[k]);
        }
        for (int k = COMMS - 1; k >= 0 && job.rank == 1; k--) {
            MPI_Status status;

            need_buffer(&buffers[k], (i + k) % 3 ? MEMORY_DEVICE : MEMORY_HOST, (size_t)nbytes);
            MPI_Recv(buffers[k].at, nbytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[k],
                     &status);
            status_says(&status, 0, TAG, (size_t)nbytes, NULL, "the status");
            received(&buffers[k], (size_t)nbytes, (uint64_t)(10 * i + k), "the message");
        }
        if (job.rank == 0)
            MPI_Waitall(COMMS, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < COMMS && job.rank < 2; k++)
            buffer_clear(&buffers[k]);
    }
    for (int k = 1; k < COMMS; k++)
        MPI_Comm_free(&comms[k]);
    job_result();
}

/* Everybody to everybody, one pair after the other. */
static void pass_all(MPI_Comm comm)
{
    int size, me;

    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    for (int from = 0; from < size; from++)
        for (int to = 0; to < size; to++)
            for (int i = 0; i < 4; i++)
                if (from != to && (me == from || me == to))
                    pass_in(comm, me == from, me == from ? to : from,
                            100 + i + 4 * (from * size + to), sizes[i],
                            (uint64_t)(from * size + to + i));
}

static void test_made(void)
{
    const int dims[1] = {job.size}, periods[1] = {1};
    MPI_Comm comm;

    job_test("a communicator in which the ranks are reversed");
    MPI_Comm_split(messages, 0, -job.rank, &comm);
    pass_all(comm);
    MPI_Comm_free(&comm);
    job_result();
    job_test("a communicator of some ranks");
    MPI_Comm_split(messages, job.rank == 0 && job.size > 2 ? MPI_UNDEFINED : 1, -job.rank, &comm);
    if (comm != MPI_COMM_NULL) {
        pass_all(comm);
        MPI_Comm_free(&comm);
    }
    job_result();
    job_test("a communicator with a topology, which may reorder the ranks");
    MPI_Cart_create(messages, 1, dims, periods, 1, &comm);
    pass_all(comm);
    MPI_Comm_free(&comm);
    job_result();
}

/* ---- two groups */

static void test_intercommunicator(void)
{
    const int side = job.rank % 2, peers = side ? (job.size + 1) / 2 : job.size / 2;
    MPI_Comm local, comm, all;
    int me, tag = 0;

    job_test("an intercommunicator, and the communicator of both groups");
    MPI_Comm_split(messages, side, -job.rank, &local);
    MPI_Intercomm_create(local, 0, messages, side ? (job.size - 1) / 2 * 2 : job.size / 2 * 2 - 1,
                         TAG, &comm);
    MPI_Comm_rank(local, &me);
    for (int way = 0; way < 2; way++)
        for (int a = 0; a < (side ? peers : (job.size + 1) / 2); a++)
            for (int b = 0; b < (side ? job.size / 2 : peers); b++)
                for (int i = 0; i < 4; i++, tag++)
                    if (me == (side ? b : a))
                        pass_in(comm, side == way, side ? a : b, tag, sizes[i], (uint64_t)tag);
    MPI_Intercomm_merge(comm, side, &all);
    pass_all(all);
    MPI_Comm_free(&all);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&local);
    job_result();
}

/* ---- freed communicators, attributes */

static int ncopied, ndeleted;

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    *(void **)out = in;
    *flag = 1;
    ncopied++;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    ndeleted++;
    return MPI_SUCCESS;
}

/* The requests end after the communicator has been freed. */
static void test_freed(void)
{
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;

    job_test("communicators that are freed while messages are under way");
    for (int i = 0; i < 24; i++) {
        const int nbytes = sizes[i % 4];
        MPI_Request requests[2];
        MPI_Status statuses[2];
        struct buffer out, in;
        MPI_Comm comm;

        job_at("%d bytes, %s", nbytes, completion_name(i % COMPLETIONS));
        MPI_Comm_dup(messages, &comm);
        need_filled(&out, i % 3 ? MEMORY_DEVICE : MEMORY_HOST, (size_t)nbytes, (uint64_t)job.rank);
        need_buffer(&in, i % 4 ? MEMORY_DEVICE : MEMORY_HOST, (size_t)nbytes);
        if (i % 2)
            MPI_Irecv(in.at, nbytes, MPI_BYTE, last, TAG, comm, &requests[1]);
        (i % 5 ? MPI_Isend : MPI_Issend)(out.at, nbytes, MPI_BYTE, next, TAG, comm, &requests[0]);
        if (i % 2 == 0)
            MPI_Irecv(in.at, nbytes, MPI_BYTE, last, TAG, comm, &requests[1]);
        MPI_Comm_free(&comm);
        complete(i % COMPLETIONS, 2, requests, statuses);
        status_says(&statuses[1], last, TAG, (size_t)nbytes, NULL, "the status");
        received(&in, (size_t)nbytes, (uint64_t)last, "the message");
        buffer_clear(&in);
        buffer_clear(&out);
    }
    job_result();
}

static void test_attributes(void)
{
    MPI_Comm comm, copy;
    int key, value = 5, *got = NULL, flag = 0;

    job_test("attributes of communicators are copied and deleted once");
    ncopied = ndeleted = 0;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL);
    MPI_Comm_dup(messages, &comm);
    MPI_Comm_set_attr(comm, key, &value);
    pass_all(comm);
    is_int(ncopied, 0, "copies, of a communicator that is not duplicated");
    MPI_Comm_dup(comm, &copy);
    pass_all(copy);
    MPI_Comm_get_attr(copy, key, &got, &flag);
    is_int(flag && got == &value, 1, "the copy's attribute");
    is_int(ncopied, 1, "copies");
    MPI_Comm_free(&copy);
    is_int(ndeleted, 1, "deletions");
    pass_all(comm);
    MPI_Comm_free(&comm);
    is_int(ndeleted, 2, "deletions");
    is_int(ncopied, 1, "copies at the end");
    MPI_Comm_free_keyval(&key);
    job_result();
}

/* More of them one after the other than MPICH has numbers for at once. */
static void test_numbers(void)
{
    enum { N = 2500 };

    job_test("%d communicators, one after the other", N);
    for (int i = 0; i < N; i++) {
        MPI_Comm comm;

        MPI_Comm_dup(messages, &comm);
        if (i % 50 == 0 && job.rank < 2)
            pass_in(comm, job.rank == i / 50 % 2, 1 - job.rank, i, 70000, (uint64_t)i);
        MPI_Comm_free(&comm);
    }
    job_result();
}

void test_comms(void)
{
    test_oneself();
    test_apart();
    test_made();
    test_intercommunicator();
    test_freed();
    test_attributes();
    test_numbers();
}
