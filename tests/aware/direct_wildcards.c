/* Which message a receive gets: one tag for all sizes and kinds of memory, any source, any tag. */
#include "tests/aware/direct.h"

#include <stdlib.h>

enum { N = 48 };

struct parcel {
    size_t nbytes;
    enum memory from, to;
    uint64_t seed;
    struct buffer buffer;
};

static void draw_parcels(int n, struct parcel *parcels)
{
    for (int i = 0; i < n; i++) {
        parcels[i].nbytes = draw_size() % (MIB + 1);
        parcels[i].from = draw_memory();
        parcels[i].to = draw_memory();
        parcels[i].seed = draw_seed();
    }
}

static void send_all(int n, struct parcel *parcels, int to, int tag, int step)
{
    MPI_Request requests[N];

    for (int i = 0; i < n; i++) {
        struct parcel *p = &parcels[i];

        need_filled(&p->buffer, p->from, p->nbytes, p->seed);
        (i % 5 == 4 ? MPI_Issend : MPI_Isend)(p->buffer.at, (int)p->nbytes, MPI_BYTE, to,
                                              tag + i * step, messages, &requests[i]);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
        buffer_clear(&parcels[i].buffer);
}

static void check(struct parcel *p, MPI_Status *status, int source, int tag)
{
    status_says(status, source, tag, p->nbytes, NULL, "the status");
    received(&p->buffer, p->nbytes, p->seed, "the message");
    buffer_clear(&p->buffer);
}

/* posted: all receives before the first message. */
static void receive_all(int n, struct parcel *parcels, int source, int tag, bool posted)
{
    MPI_Request requests[N];
    MPI_Status statuses[N];

    for (int i = 0; i < n; i++) {
        need_buffer(&parcels[i].buffer, parcels[i].to, MIB);
        if (posted)
            MPI_Irecv(parcels[i].buffer.at, MIB, MPI_BYTE, source, tag, messages, &requests[i]);
        else
            MPI_Recv(parcels[i].buffer.at, MIB, MPI_BYTE, source, tag, messages, &statuses[i]);
    }
    if (posted) {
        token_to(0);
        complete((int)(n + parcels[0].seed % COMPLETIONS) % COMPLETIONS, n, requests, statuses);
    }
    for (int i = 0; i < n; i++)
        check(&parcels[i], &statuses[i], 0, TAG);
}

static void test_one_tag(void)
{
    static struct parcel parcels[N];

    for (int form = 0; form < 4; form++) {
        const bool posted = form % 2, any = form / 2;

        job_test("%d messages of one tag come in order, %s, %s", N,
                 posted ? "receives posted first" : "messages sent first",
                 any ? "of any source and tag" : "of one source");
        for (int round = 0; round < 3; round++) {
            draw_parcels(N, parcels);
            if (job.rank == 0) {
                if (posted)
                    token_from(1);
                send_all(N, parcels, 1, TAG, 0);
            } else if (job.rank == 1) {
                receive_all(N, parcels, any ? MPI_ANY_SOURCE : 0, any ? MPI_ANY_TAG : TAG, posted);
            }
        }
        job_result();
    }
}

/* ---- of all ranks to rank 0 */

static struct parcel sent[16][N]; /* of each rank; what it sends is known to all */

static void receive_of_all(int n, bool posted)
{
    const int all = n * (job.size - 1);
    MPI_Request *requests = calloc((size_t)all, sizeof *requests);
    MPI_Status *statuses = calloc((size_t)all, sizeof *statuses);
    struct buffer *buffers = calloc((size_t)all, sizeof *buffers);
    int next[16] = {0};

    if (!requests || !statuses || !buffers)
        abort();
    for (int i = 0; i < all; i++) {
        need_buffer(&buffers[i], sent[0][i % N].to, MIB);
        if (posted)
            MPI_Irecv(buffers[i].at, MIB, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, messages,
                      &requests[i]);
        else
            MPI_Recv(buffers[i].at, MIB, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, messages,
                     &statuses[i]);
    }
    if (posted)
        MPI_Waitall(all, requests, statuses);
    for (int i = 0; i < all; i++) {
        const int source = statuses[i].MPI_SOURCE;

        if (expect(source > 0 && source < job.size && next[source] < n, "a message of %d",
                   source)) {
            struct parcel *p = &sent[source][next[source]];

            p->buffer = buffers[i];
            check(p, &statuses[i], source, TAG + next[source]++);
        }
    }
    free(requests);
    free(statuses);
    free(buffers);
}

static void test_everybody(bool posted)
{
    enum { EACH = 24 };

    job_test("all ranks send to one, which takes them of any source and tag, %s",
             posted ? "posted" : "one by one");
    for (int rank = 0; rank < job.size; rank++)
        draw_parcels(N, sent[rank]);
    if (job.rank == 0)
        receive_of_all(EACH, posted);
    else
        send_all(EACH, sent[job.rank], 0, TAG, 1);
    job_result();
}

/* ---- receives that overlap */

/* The first receive that fits gets the message. */
static void test_overlapping(void)
{
    static const int tags[6] = {TAG, MPI_ANY_TAG, TAG + 1, MPI_ANY_TAG, TAG, TAG + 1};
    static const int of[6] = {TAG, TAG + 1, TAG + 1, TAG, TAG, TAG + 1};
    static struct parcel parcels[6];
    MPI_Request requests[6];
    MPI_Status statuses[6];

    job_test("receives of one tag and of any: the first that fits gets the message");
    for (int round = 0; round < 20; round++) {
        draw_parcels(6, parcels);
        if (job.rank == 1) {
            for (int i = 0; i < 6; i++) {
                need_buffer(&parcels[i].buffer, parcels[i].to, MIB);
                MPI_Irecv(parcels[i].buffer.at, MIB, MPI_BYTE, i % 2 ? 0 : MPI_ANY_SOURCE, tags[i],
                          messages, &requests[i]);
            }
            token_to(0);
            complete(round % COMPLETIONS, 6, requests, statuses);
            for (int i = 0; i < 6; i++)
                check(&parcels[i], &statuses[i], 0, of[i]);
        } else if (job.rank == 0) {
            token_from(1);
            for (int i = 0; i < 6; i++) {
                struct parcel *p = &parcels[i];

                need_filled(&p->buffer, p->from, p->nbytes, p->seed);
                MPI_Send(p->buffer.at, (int)p->nbytes, MPI_BYTE, 1, of[i], messages);
                buffer_clear(&p->buffer);
            }
        }
    }
    job_result();
}

/* ---- cancelled receives */

static void cancel(MPI_Request *request, int how)
{
    int cancelled = 0;
    MPI_Status status;

    MPI_Cancel(request);
    complete(how, 1, request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    expect(cancelled, "the receive is not cancelled");
}

static void test_cancelled(void)
{
    job_test("cancelled receives get no message, the next one does");
    for (int i = 0; i < 40; i++) {
        struct parcel p[1];
        struct buffer none;
        MPI_Request request;
        MPI_Status status;

        draw_parcels(1, p);
        job_at("%d, %zu bytes of %s into %s", i, p->nbytes, memory_name(p->from),
               memory_name(p->to));
        if (job.rank == 1) {
            need_buffer(&none, p->to, MIB);
            need_buffer(&p->buffer, p->to, MIB);
            if (i % 2) {
                MPI_Irecv(none.at, MIB, MPI_BYTE, MPI_ANY_SOURCE, TAG, messages, &request);
            } else {
                MPI_Recv_init(none.at, MIB, MPI_BYTE, 0, MPI_ANY_TAG, messages, &request);
                MPI_Start(&request);
            }
            cancel(&request, i % COMPLETIONS);
            token_to(0);
            MPI_Recv(p->buffer.at, MIB, MPI_BYTE, 0, TAG, messages, &status);
            check(p, &status, 0, TAG);
            if (request != MPI_REQUEST_NULL)
                MPI_Request_free(&request);
            expect(buffer_untouched(&none, 0), "the cancelled receive wrote");
            buffer_clear(&none);
        } else if (job.rank == 0) {
            token_from(1);
            need_filled(&p->buffer, p->from, p->nbytes, p->seed);
            MPI_Send(p->buffer.at, (int)p->nbytes, MPI_BYTE, 1, TAG, messages);
            buffer_clear(&p->buffer);
        }
    }
    job_result();
}

void test_wildcards(void)
{
    test_one_tag();
    test_everybody(false);
    test_everybody(true);
    test_overlapping();
    test_cancelled();
}
