/* Large collectives that block while others, which do not, are under way. */
#include "tests/aware/large.h"

#include <string.h>

enum { PENDING = 4, NBYTES = 200000, NINTS = NBYTES / 4, ROUNDS = 16 };

struct pending {
    struct buffer out, in;
    MPI_Request request;
    uint64_t seed;
};

static uint64_t seed_of(const struct pending *pending, int rank)
{
    return pending->seed + 1000 * (uint64_t)rank;
}

/* Of NBYTES: to the second half of in, where it has one. */
static void start(struct pending *pending, int which, MPI_Comm comm)
{
    const int part = NBYTES / job.size;

    need_filled(&pending->out, pending->seed % 2 ? MEMORY_DEVICE : MEMORY_HOST, NBYTES,
                seed_of(pending, job.rank));
    need_buffer(&pending->in, pending->seed % 3 ? MEMORY_DEVICE : MEMORY_HOST,
                (size_t)(NBYTES * job.size));
    if (which == 0)
        MPI_Ibcast(job.rank == 0 ? pending->out.at : pending->in.at, NBYTES, MPI_BYTE, 0, comm,
                   &pending->request);
    else if (which == 1)
        MPI_Iallgather(pending->out.at, NBYTES, MPI_BYTE, pending->in.at, NBYTES, MPI_BYTE, comm,
                       &pending->request);
    else if (which == 2)
        MPI_Iallreduce(pending->out.at, pending->in.at, NINTS, MPI_INT, MPI_BXOR, comm,
                       &pending->request);
    else
        MPI_Igather(pending->out.at, part, MPI_BYTE, pending->in.at, part, MPI_BYTE, job.size - 1,
                    comm, &pending->request);
}

static void has_xor(const struct pending *pending)
{
    static char wanted[NBYTES], more[NBYTES];

    memset(wanted, 0, NBYTES);
    for (int rank = 0; rank < job.size; rank++) {
        bytes_of_seed(more, NBYTES, seed_of(pending, rank));
        for (int i = 0; i < NBYTES; i++)
            wanted[i] = (char)(wanted[i] ^ more[i]);
    }
    gpu_get(more, pending->in.at, NBYTES);
    expect(memcmp(wanted, more, NBYTES) == 0, "MPI_Iallreduce: another result");
}

static void finish(struct pending *pending, int which)
{
    const int part = NBYTES / job.size;
    size_t used = 0;

    MPI_Wait(&pending->request, MPI_STATUS_IGNORE);
    if (which == 0 && job.rank != 0) {
        used = NBYTES;
        expect(buffer_holds(&pending->in, 0, NBYTES, seed_of(pending, 0), NULL), "MPI_Ibcast");
    } else if (which == 1) {
        used = (size_t)(NBYTES * job.size);
        for (int i = 0; i < job.size; i++)
            expect(
                buffer_holds(&pending->in, (size_t)(i * NBYTES), NBYTES, seed_of(pending, i), NULL),
                "MPI_Iallgather, block %d", i);
    } else if (which == 2) {
        used = NBYTES;
        has_xor(pending);
    } else if (which == 3 && job.rank == job.size - 1) {
        used = (size_t)(part * job.size);
        for (int i = 0; i < job.size; i++)
            expect(buffer_holds(&pending->in, (size_t)(i * part), (size_t)part, seed_of(pending, i),
                                NULL),
                   "MPI_Igather, block %d", i);
    }
    expect(buffer_untouched(&pending->in, used), "call %d writes behind its buffer", which);
    received(&pending->out, NBYTES, seed_of(pending, job.rank), "what was sent");
    buffer_clear(&pending->out);
    buffer_clear(&pending->in);
}

/* comm: of the calls that do not block; others: of those that do. */
static void beside(MPI_Comm comm, MPI_Comm others)
{
    struct pending pending[PENDING];

    for (int round = 0; round < ROUNDS; round++) {
        struct call call = call_of((enum operation)(round % OPERATIONS), others, element_of(INTS),
                                   draw_size());

        job_at("%s", operation_name(call.operation));
        for (int i = 0; i < PENDING; i++) {
            pending[i].seed = draw_seed();
            start(&pending[i], i, comm);
            if (i == PENDING / 2) {
                call.seed = draw_seed();
                call.root = (int)draw((unsigned)job.size);
                call.from = call.to = round % 4 ? MEMORY_DEVICE : MEMORY_HOST;
                if (job.rank == round % job.size)
                    nap(1);
                call_check(&call);
            }
        }
        for (int i = 0; i < PENDING; i++) {
            const int which = (i + job.rank) % PENDING; /* each waits in an order of its own */

            finish(&pending[which], which);
        }
    }
}

/* A barrier that one rank enters long before the others. */
static void test_barrier(MPI_Comm comm)
{
    job_test("a barrier is under way during other collectives");
    for (int i = 0; i < 2 * OPERATIONS; i++) {
        struct call call = call_of((enum operation)(i % OPERATIONS), MPI_COMM_WORLD,
                                   element_of(INTS), draw_size());
        const bool early = job.rank == i % job.size;
        MPI_Request request;
        int flag = 0;

        job_at("%s", operation_name(call.operation));
        if (early)
            MPI_Ibarrier(comm, &request);
        call.seed = draw_seed();
        call.from = call.to = MEMORY_DEVICE;
        call_check(&call);
        if (early) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            expect(!flag, "the barrier is over before all ranks have come to it");
        }
        job_barrier();
        if (!early)
            MPI_Ibarrier(comm, &request);
        if (!flag)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    job_result();
}

void test_pending(void)
{
    MPI_Comm one, other;

    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    job_test("collectives under way on another communicator");
    beside(one, other);
    job_result();
    job_test("collectives under way on the same communicator");
    beside(one, one);
    job_result();
    test_barrier(one);
    MPI_Comm_free(&one);
    MPI_Comm_free(&other);
}
