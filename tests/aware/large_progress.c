/* Large collectives beside all else that is under way. */
#include "tests/aware/large.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGE = 600000, POSTED = 4, MOST = 1024 * KIB };

static MPI_Comm comm; /* of a part */

/* ---- ranks that need not wait run ahead, and use their memory again */

/* The root of one is ahead of the others, or they of the root. */
static void ahead(enum operation operation, int root, enum memory kind)
{
    const bool one_way = operation == BCAST || operation == SCATTER;
    struct buffer all, one;

    need_buffer(&all, kind, (size_t)MOST);
    need_buffer(&one, kind, (size_t)MOST);
    for (int i = 0; i < 24; i++) {
        const int n = (4 << (i % 6)) * KIB, blocks = operation == BCAST ? 1 : job.size;

        job_at("%s %d of %d bytes, root %d", operation_name(operation), i, n, root);
        if (i % 8 == 5 && one_way != (job.rank == root))
            nap(4);
        for (int block = 0; block < blocks && one_way && job.rank == root; block++)
            buffer_fill(&all, (size_t)(block * n), (size_t)n, (uint64_t)(100 * i + block));
        if (!one_way)
            buffer_fill(&one, 0, (size_t)n, (uint64_t)(100 * i + job.rank));
        if (operation == BCAST)
            MPI_Bcast(job.rank == root ? all.at : one.at, n, MPI_BYTE, root, comm);
        else if (operation == SCATTER)
            MPI_Scatter(all.at, n, MPI_BYTE, one.at, n, MPI_BYTE, root, comm);
        else
            MPI_Gather(one.at, n, MPI_BYTE, all.at, n, MPI_BYTE, root, comm);
        if (operation == BCAST && job.rank != root)
            received(&one, (size_t)n, (uint64_t)(100 * i), "what is broadcast");
        if (operation == SCATTER)
            received(&one, (size_t)n, (uint64_t)(100 * i + job.rank), "what is scattered");
        for (int block = 0; block < blocks && !one_way && job.rank == root; block++)
            expect(buffer_holds(&all, (size_t)(block * n), (size_t)n, (uint64_t)(100 * i + block),
                                NULL),
                   "what is gathered from %d", block);
        buffer_reset(&one);
        if (i % 5 == 4) { /* memory that is freed, and perhaps had again */
            buffer_clear(&all);
            need_buffer(&all, kind, (size_t)MOST);
        }
    }
    buffer_clear(&all);
    buffer_clear(&one);
}

void test_ahead(void)
{
    static const enum operation operations[] = {BCAST, SCATTER, GATHER};

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 3; i++) {
        job_test("%s: some ranks run ahead, and use their memory again",
                 operation_name(operations[i]));
        for (int root = 0; root < job.size; root++)
            ahead(operations[i], root, root % 2 ? MEMORY_POOL : MEMORY_DEVICE);
        job_result();
    }
    MPI_Comm_free(&comm);
}

/* ---- a message to a rank that waits in a collective */

static struct call call_on(MPI_Comm on, enum operation operation, size_t nbytes)
{
    struct call call = call_of(operation, on, element_of(INTS), nbytes);

    call.shift = draw(4);
    call.root = (int)draw(100) % call.size;
    call.seed = draw_seed();
    call.from = call.to = MEMORY_DEVICE;
    return call;
}

/* The last rank sends before it comes to the collective; the others wait there. */
static void send_to_waiting(const struct call *call, enum memory from, enum memory to, int mode)
{
    const int sender = job.size - 1;
    MPI_Request request;
    MPI_Status status;
    struct buffer buffer;

    if (job.rank == sender) {
        need_filled(&buffer, from, MESSAGE, call->seed);
        nap(3);
        for (int rank = 0; rank < sender; rank++)
            if (mode == 0)
                MPI_Send(buffer.at, MESSAGE, MPI_BYTE, rank, TAG, comm);
            else if (mode == 1)
                MPI_Ssend(buffer.at, MESSAGE, MPI_BYTE, rank, TAG, comm);
            else if (MPI_Issend(buffer.at, MESSAGE, MPI_BYTE, rank, TAG, comm, &request) == 0)
                MPI_Wait(&request, MPI_STATUS_IGNORE);
        call_check(call);
    } else {
        need_buffer(&buffer, to, MESSAGE);
        MPI_Irecv(buffer.at, MESSAGE, MPI_BYTE, sender, TAG, comm, &request);
        call_check(call);
        MPI_Wait(&request, &status);
        status_is(&status, sender, TAG, MESSAGE, "the message");
        received(&buffer, MESSAGE, call->seed, "the message");
    }
    buffer_clear(&buffer);
}

/* The first ones call on their own communicator, the others wait for a message that comes afterwards. */
static void elsewhere(void)
{
    const int half = (job.size + 1) / 2, token = 5;
    MPI_Comm some;
    int got = 0;

    MPI_Comm_split(MPI_COMM_WORLD, job.rank < half ? 0 : MPI_UNDEFINED, 0, &some);
    for (int i = 0; i < OPERATIONS; i++) {
        const struct call world = call_on(MPI_COMM_WORLD, (enum operation)i, 40000);
        const unsigned root = draw(100);

        job_at("%s", operation_name((enum operation)i));
        if (job.rank < half) {
            struct call call = call_of((enum operation)i, some, element_of(INTS), 70000);

            call.root = (int)root % half;
            call.from = call.to = MEMORY_DEVICE;
            call_check(&call);
        }
        for (int rank = half; rank < job.size && job.rank == 0; rank++)
            MPI_Send(&token, 1, MPI_INT, rank, TAG, comm);
        if (job.rank >= half)
            MPI_Recv(&got, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE);
        expect(job.rank < half || got == token, "another message");
        call_check(&world);
    }
    if (some != MPI_COMM_NULL)
        MPI_Comm_free(&some);
}

void test_progress(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int way = 0; way < 4; way++) {
        const enum memory from = way & 1 ? MEMORY_DEVICE : MEMORY_HOST;
        const enum memory to = way & 2 ? MEMORY_DEVICE : MEMORY_HOST;

        job_test("messages from %s to %s of a rank that waits in a collective", memory_name(from),
                 memory_name(to));
        for (int i = 0; i < OPERATIONS; i++) {
            const struct call call = call_on(i % 2 ? comm : MPI_COMM_WORLD, (enum operation)i,
                                             draw_size());

            job_at("%s", operation_name((enum operation)i));
            send_to_waiting(&call, from, to, (i + way) % 3);
        }
        job_result();
    }
    job_test("some ranks call on their own communicator, the others wait elsewhere");
    elsewhere();
    job_result();
    MPI_Comm_free(&comm);
}

/* ---- receives and probes of any source and tag */

static void sees_nothing(void)
{
    MPI_Status status;
    MPI_Message message;
    int flag = 0;

    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
    expect(!flag, "MPI_Iprobe finds a message of tag %d", flag ? status.MPI_TAG : 0);
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &message, &status);
    expect(!flag, "MPI_Improbe finds a message of tag %d", flag ? status.MPI_TAG : 0);
}

/* Nobody sends a message: who comes late finds none of the call's. */
static void test_probes(void)
{
    job_test("probes on its communicator see no part of a collective");
    for (int i = 0; i < 2 * OPERATIONS; i++) {
        const struct call call = call_on(comm, (enum operation)(i / 2), draw_size());

        job_at("%s", operation_name(call.operation));
        sees_nothing();
        if (job.rank == i % job.size) { /* the others are in it already */
            nap(2);
            sees_nothing();
        }
        call_check(&call);
        sees_nothing();
        if (job.rank == i % job.size)
            nap(1);
    }
    job_result();
}

void test_wildcards(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    test_probes();
    job_test("receives of any source and tag match no part of a collective");
    for (int i = 0; i < OPERATIONS; i++) {
        const struct call call = call_on(comm, (enum operation)i, draw_size());
        const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;
        struct buffer out, in[POSTED];
        MPI_Request requests[POSTED];
        MPI_Status statuses[POSTED];
        int flag, cancelled;

        job_at("%s", operation_name(call.operation));
        need_buffer(&out, i % 2 ? MEMORY_DEVICE : MEMORY_HOST, MESSAGE);
        for (int j = 0; j < POSTED; j++) {
            need_buffer(&in[j], (i + j) % 2 ? MEMORY_DEVICE : MEMORY_HOST, MESSAGE);
            MPI_Irecv(in[j].at, MESSAGE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[j]);
        }
        call_check(&call);
        for (int j = 0; j < POSTED; j++) {
            MPI_Request_get_status(requests[j], &flag, MPI_STATUS_IGNORE);
            expect(!flag, "receive %d has got something of the call", j);
            if (j == 0)
                job_barrier();
        }
        job_barrier(); /* all have looked before anything is sent */
        for (int j = 0; j < POSTED - 1; j++) {
            buffer_fill(&out, 0, MESSAGE, (uint64_t)(10 * job.rank + j));
            MPI_Send(out.at, MESSAGE, MPI_BYTE, next, j, comm);
        }
        MPI_Waitall(POSTED - 1, requests, statuses);
        for (int j = 0; j < POSTED - 1; j++) {
            status_is(&statuses[j], last, j, MESSAGE, "a message");
            received(&in[j], MESSAGE, (uint64_t)(10 * last + j), "a message");
        }
        MPI_Cancel(&requests[POSTED - 1]);
        MPI_Wait(&requests[POSTED - 1], &statuses[0]);
        MPI_Test_cancelled(&statuses[0], &cancelled);
        expect(cancelled, "the last receive has got something");
        for (int j = 0; j < POSTED; j++)
            buffer_clear(&in[j]);
        buffer_clear(&out);
        job_barrier();
    }
    job_result();
    MPI_Comm_free(&comm);
}
