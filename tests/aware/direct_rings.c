/* Chains and rings of ranks, both ways at once, a receiver that seldom calls MPI, many messages. */
#include "tests/aware/direct.h"

#include <stdlib.h>

enum { MANY = 300, MANY_BYTES = 65536 };

static int next, last;

/* ---- */

static void test_chain(void)
{
    static const int sizes[] = {3008, 16384, 300000, MIB};
    struct buffer buffer;

    job_test("a message goes down the line of ranks and back");
    for (int i = 0; i < 16; i++) {
        const int nbytes = sizes[i % 4];
        const uint64_t seed = draw_seed();
        const enum memory kind = i % 3 ? MEMORY_DEVICE : MEMORY_MANAGED;

        need_buffer(&buffer, (i + job.rank) % 5 ? kind : MEMORY_HOST, (size_t)nbytes);
        if (job.rank == 0)
            buffer_fill(&buffer, 0, (size_t)nbytes, seed);
        else
            MPI_Recv(buffer.at, nbytes, MPI_BYTE, job.rank - 1, TAG, messages, MPI_STATUS_IGNORE);
        received(&buffer, (size_t)nbytes, seed, "down");
        if (job.rank < job.size - 1) {
            MPI_Send(buffer.at, nbytes, MPI_BYTE, job.rank + 1, TAG, messages);
            buffer_reset(&buffer);
            MPI_Recv(buffer.at, nbytes, MPI_BYTE, job.rank + 1, TAG, messages, MPI_STATUS_IGNORE);
            received(&buffer, (size_t)nbytes, seed, "back");
        }
        if (job.rank > 0)
            MPI_Ssend(buffer.at, nbytes, MPI_BYTE, job.rank - 1, TAG, messages);
        buffer_clear(&buffer);
    }
    job_result();
}

static void turn_ring(int form, struct buffer *out, struct buffer *in, int nbytes)
{
    MPI_Request request;
    int done = 0;

    switch (form) {
    case 0:
    case 1:
        MPI_Irecv(in->at, nbytes, MPI_BYTE, last, TAG, messages, &request);
        (form ? MPI_Ssend : MPI_Send)(out->at, nbytes, MPI_BYTE, next, TAG, messages);
        buffer_reset(out);
        break;
    case 2:
    case 3:
        (form == 2 ? MPI_Isend : MPI_Issend)(out->at, nbytes, MPI_BYTE, next, TAG, messages,
                                             &request);
        MPI_Recv(in->at, nbytes, MPI_BYTE, last, TAG, messages, MPI_STATUS_IGNORE);
        break;
    default: /* one rank starts, the others pass it on */
        if (job.rank == 0)
            MPI_Isend(out->at, nbytes, MPI_BYTE, next, TAG, messages, &request);
        else
            MPI_Irecv(in->at, nbytes, MPI_BYTE, last, TAG, messages, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (job.rank == 0)
            MPI_Recv(in->at, nbytes, MPI_BYTE, last, TAG, messages, MPI_STATUS_IGNORE);
        else
            MPI_Send(out->at, nbytes, MPI_BYTE, next, TAG, messages);
    }
    if (form < 4)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void test_ring(void)
{
    static const char *const forms[] = {"MPI_Irecv, MPI_Send", "MPI_Irecv, MPI_Ssend",
                                        "MPI_Isend, MPI_Recv", "MPI_Issend, MPI_Recv",
                                        "one after the other"};
    struct buffer out, in;

    for (int form = 0; form < 5; form++) {
        job_test("a ring of ranks: %s", forms[form]);
        for (int i = 0; i < 24; i++) {
            const int nbytes = i % 8 == 7 ? LARGEST : (int)draw_size() % MIB + 1;
            const uint64_t seed = draw_seed();
            const enum memory from = draw_memory(), to = draw_memory();

            job_at("%d bytes of %s into %s", nbytes, memory_name(from), memory_name(to));
            need_filled(&out, from, (size_t)nbytes, seed + (uint64_t)job.rank);
            need_buffer(&in, to, (size_t)nbytes);
            turn_ring(form, &out, &in, nbytes);
            received(&in, (size_t)nbytes, seed + (uint64_t)last, "of the rank before");
            buffer_clear(&in);
            buffer_clear(&out);
        }
        job_result();
    }
}

/* ---- every pair of ranks, both ways, itself included */

static void test_all_pairs(void)
{
    enum { MOST = 16 };
    MPI_Request requests[2 * MOST];
    struct buffer in[MOST], out[MOST];

    job_test("every rank sends to every rank at once");
    for (int round = 0; round < 10; round++) {
        const int nbytes = round % 2 ? MIB / 2 + round : 2000 + 16 * round;

        for (int i = 0; i < job.size; i++) {
            need_filled(&out[i], (i + round) % 3 ? MEMORY_DEVICE : MEMORY_HOST, (size_t)nbytes,
                        (uint64_t)(100 * job.rank + i + round));
            need_buffer(&in[i], (i + round) % 4 ? MEMORY_DEVICE : MEMORY_PINNED, (size_t)nbytes);
            MPI_Isend(out[i].at, nbytes, MPI_BYTE, i, TAG, messages, &requests[i]);
        }
        for (int i = 0; i < job.size; i++)
            MPI_Irecv(in[i].at, nbytes, MPI_BYTE, i, TAG, messages, &requests[job.size + i]);
        MPI_Waitall(2 * job.size, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < job.size; i++) {
            received(&in[i], (size_t)nbytes, (uint64_t)(100 * i + job.rank + round), "of a rank");
            buffer_clear(&in[i]);
            buffer_clear(&out[i]);
        }
    }
    job_result();
}

/* ---- a receiver that calls MPI now and then */

static void test_now_and_then(void)
{
    job_test("the receiver calls MPI_Test now and then, the sender sends in every way");
    for (int i = 0; i < 24; i++) {
        const int nbytes = i % 2 ? MIB : 40000;
        const uint64_t seed = draw_seed();
        struct buffer buffer;
        MPI_Request request;
        int done = 0;

        if (job.rank == 0) {
            need_filled(&buffer, i % 3 ? MEMORY_DEVICE : MEMORY_POOL, (size_t)nbytes, seed);
            if (i / 2 % 3 == 0) {
                MPI_Send(buffer.at, nbytes, MPI_BYTE, 1, TAG, messages);
                done = 1;
            } else if (i / 2 % 3 == 1) {
                MPI_Ssend(buffer.at, nbytes, MPI_BYTE, 1, TAG, messages);
                done = 1;
            } else {
                MPI_Isend(buffer.at, nbytes, MPI_BYTE, 1, TAG, messages, &request);
            }
            while (!done) {
                nap(1);
                MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            }
            buffer_clear(&buffer);
        } else if (job.rank == 1) {
            need_buffer(&buffer, i % 5 ? MEMORY_DEVICE : MEMORY_HOST, (size_t)nbytes);
            nap(i % 3);
            MPI_Irecv(buffer.at, nbytes, MPI_BYTE, 0, TAG, messages, &request);
            while (!done) {
                nap(1);
                MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            }
            received(&buffer, (size_t)nbytes, seed, "the message");
            buffer_clear(&buffer);
        }
    }
    job_result();
}

/* ---- many */

/* first: the sends start before any receive. */
static void exchange_many(bool first, int step, enum memory from, enum memory to)
{
    MPI_Request *requests = calloc(2 * MANY, sizeof *requests);
    struct buffer out, in;

    if (!requests)
        abort();
    need_filled(&out, from, (size_t)MANY * MANY_BYTES, (uint64_t)job.rank + 1);
    need_buffer(&in, to, (size_t)MANY * MANY_BYTES);
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < MANY; i++) {
            const int which = i * step % MANY;

            if ((half == 0) == first)
                MPI_Isend(out.at + (size_t)i * MANY_BYTES, MANY_BYTES, MPI_BYTE, next, i, messages,
                          &requests[i]);
            else
                MPI_Irecv(in.at + (size_t)which * MANY_BYTES, MANY_BYTES, MPI_BYTE, last, which,
                          messages, &requests[MANY + i]);
        }
        MPI_Barrier(job.plain);
    }
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    received(&in, (size_t)MANY * MANY_BYTES, (uint64_t)last + 1, "all of them");
    buffer_clear(&in);
    buffer_clear(&out);
    free(requests);
}

/* The receiver has no request of its own: it takes them one by one, the last tag first. */
static void test_many_late(void)
{
    MPI_Request requests[MANY];
    struct buffer buffer;

    job_test("%d sends before any receive, which then come one by one, last tag first", MANY);
    if (job.rank < 2)
        need_filled(&buffer, MEMORY_DEVICE, (size_t)MANY * MANY_BYTES, 5);
    if (job.rank == 0) {
        for (int i = 0; i < MANY; i++)
            MPI_Isend(buffer.at + (size_t)i * MANY_BYTES, MANY_BYTES, MPI_BYTE, 1, i, messages,
                      &requests[i]);
        token_to(1);
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    } else if (job.rank == 1) {
        buffer_reset(&buffer);
        token_from(0);
        for (int i = MANY - 1; i >= 0; i--)
            MPI_Recv(buffer.at + (size_t)i * MANY_BYTES, MANY_BYTES, MPI_BYTE, 0, i, messages,
                     MPI_STATUS_IGNORE);
        received(&buffer, (size_t)MANY * MANY_BYTES, 5, "all of them");
    }
    if (job.rank < 2)
        buffer_clear(&buffer);
    job_result();
}

static void test_many(void)
{
    job_test("%d sends before any receive, received in another order of tags", MANY);
    exchange_many(true, 7, MEMORY_DEVICE, MEMORY_DEVICE);
    exchange_many(true, 299, MEMORY_DEVICE, MEMORY_HOST);
    job_result();
    job_test("%d receives before any send, in another order of tags", MANY);
    exchange_many(false, 7, MEMORY_DEVICE, MEMORY_DEVICE);
    exchange_many(false, 299, MEMORY_HOST, MEMORY_DEVICE);
    job_result();
    test_many_late();
}

void test_rings(void)
{
    next = (job.rank + 1) % job.size;
    last = (job.rank + job.size - 1) % job.size;
    test_chain();
    test_ring();
    test_all_pairs();
    test_now_and_then();
    test_many();
}
