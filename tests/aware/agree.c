/* Large collectives whose ranks have to agree how they go: whatever each of them passes, whenever each
 * of them comes, on whatever communicator, the results are those of the standard, and what else is under
 * way is none of it. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/job.h"

enum {
    SMALL = 5000,
    MIDDLE = 20000,
    BIG = 140000,
    TAG = 3,
    ALIVE = 100,
    IN_TURN = 150,
    THREADS = 3
};

static void nap(int milliseconds)
{
    nanosleep(&(struct timespec){0, milliseconds * 1000000L}, NULL);
}

/* ---- one call, each rank with memory of its own kind */

enum operation { BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL, ALLTOALLV, ALLREDUCE, OPERATIONS };
static const char *const names[OPERATIONS] = {"bcast",    "gather",    "scatter",  "allgather",
                                              "alltoall", "alltoallv", "allreduce"};

struct call {
    enum operation operation;
    MPI_Comm comm;
    int rank, size, root;
    size_t nbytes; /* of a block */
    bool out_on_gpu, in_on_gpu;
    uint64_t seed;
};

static uint64_t seed_of(const struct call *call, int from, int to)
{
    return call->seed + 1000 * (uint64_t)from + (uint64_t)to;
}

static bool has_one(enum operation operation)
{
    return operation == BCAST || operation == ALLREDUCE;
}

static void fill(const struct call *call, const struct buffer *out, const struct buffer *in)
{
    const int n = has_one(call->operation) ? 1 : call->size;

    for (int i = 0; i < n; i++) {
        const bool alike = call->operation == ALLGATHER || call->operation == GATHER;

        buffer_fill(out, (size_t)i * call->nbytes, call->nbytes,
                    seed_of(call, call->rank, alike ? 0 : i));
    }
    if (call->operation == BCAST && call->rank == call->root)
        buffer_fill(in, 0, call->nbytes, seed_of(call, call->root, 0));
}

static void run(const struct call *call, const struct buffer *out, const struct buffer *in)
{
    int counts[64], places[64];
    const int n = (int)call->nbytes, root = call->root;

    for (int i = 0; i < call->size; i++) {
        counts[i] = n;
        places[i] = i * n;
    }
    switch (call->operation) {
    case BCAST:
        MPI_Bcast(in->at, n, MPI_BYTE, root, call->comm);
        break;
    case GATHER:
        MPI_Gather(out->at, n, MPI_BYTE, in->at, n, MPI_BYTE, root, call->comm);
        break;
    case SCATTER:
        MPI_Scatter(out->at, n, MPI_BYTE, in->at, n, MPI_BYTE, root, call->comm);
        break;
    case ALLGATHER:
        MPI_Allgather(out->at, n, MPI_BYTE, in->at, n, MPI_BYTE, call->comm);
        break;
    case ALLTOALL:
        MPI_Alltoall(out->at, n, MPI_BYTE, in->at, n, MPI_BYTE, call->comm);
        break;
    case ALLTOALLV:
        MPI_Alltoallv(out->at, counts, places, MPI_BYTE, in->at, counts, places, MPI_BYTE,
                      call->comm);
        break;
    default:
        MPI_Allreduce(out->at, in->at, n, MPI_BYTE, MPI_BXOR, call->comm);
    }
}

/* The exclusive or of what the ranks have. */
static void has_reduced(const struct call *call, const struct buffer *in)
{
    char *wanted = calloc(3, call->nbytes), *more = wanted + call->nbytes,
         *got = more + call->nbytes;

    for (int rank = 0; rank < call->size; rank++) {
        bytes_of_seed(more, call->nbytes, seed_of(call, rank, 0));
        for (size_t i = 0; i < call->nbytes; i++)
            wanted[i] = (char)(wanted[i] ^ more[i]);
    }
    gpu_get(got, in->at, call->nbytes);
    expect(memcmp(wanted, got, call->nbytes) == 0, "allreduce: another result");
    free(wanted);
}

static void check(const struct call *call, const struct buffer *in)
{
    const bool one = has_one(call->operation) || call->operation == SCATTER;
    const int n = one ? 1 : call->operation == GATHER && call->rank != call->root ? 0 : call->size;

    if (call->operation == ALLREDUCE) {
        has_reduced(call, in);
    } else {
        for (int i = 0; i < n; i++) {
            const int from = one ? call->root : i;
            const bool alike = call->operation == ALLGATHER || call->operation == GATHER ||
                               call->operation == BCAST;

            expect(buffer_holds(in, (size_t)i * call->nbytes, call->nbytes,
                                seed_of(call, from, alike ? 0 : call->rank), NULL),
                   "%s of %zu bytes: block %d", names[call->operation], call->nbytes, i);
        }
    }
    expect(buffer_untouched(in, (size_t)n * call->nbytes), "%s of %zu bytes: what lies behind",
           names[call->operation], call->nbytes);
}

static void one_call(struct call *call)
{
    struct buffer out, in;

    MPI_Comm_rank(call->comm, &call->rank);
    MPI_Comm_size(call->comm, &call->size);
    need_buffer(&out, call->out_on_gpu ? MEMORY_DEVICE : MEMORY_HOST,
                call->nbytes * (size_t)call->size);
    need_buffer(&in, call->in_on_gpu ? MEMORY_DEVICE : MEMORY_HOST,
                call->nbytes * (size_t)call->size);
    fill(call, &out, &in);
    run(call, &out, &in);
    check(call, &in);
    buffer_clear(&out);
    buffer_clear(&in);
}

/* ---- the tests */

static void every_answer(void)
{
    static const size_t sizes[] = {SMALL, MIDDLE, BIG};

    for (unsigned which = 0; which < 2U << job.size; which++)
        for (int operation = 0; operation < OPERATIONS; operation++) {
            struct call call = {.operation = operation,
                                .comm = MPI_COMM_WORLD,
                                .root = (int)which % job.size,
                                .nbytes = sizes[which % 3],
                                .seed = which * 100 + (unsigned)operation};

            /* The last bit: in the other buffer it is the other way round. */
            call.out_on_gpu = which >> job.rank & 1;
            call.in_on_gpu = call.out_on_gpu ^ (which >> job.size & 1);
            one_call(&call);
        }
}

/* The root of a broadcast need not wait for the others; nor need it look for what they pass. */
static void ahead(void)
{
    for (int i = 0; i < 60; i++) {
        struct call call = {.operation = BCAST,
                            .comm = MPI_COMM_WORLD,
                            .root = i / 20 % job.size,
                            .nbytes = i % 3 ? BIG : SMALL,
                            .seed = (uint64_t)i,
                            .in_on_gpu = (i >> job.rank) % 3 != 0};

        if (job.rank != call.root && i % 7 == 0)
            nap(3);
        one_call(&call);
    }
}

/* In a while this process is stopped, for a longer while. */
static void stop_soon(void)
{
    const pid_t process = getpid();

    if (fork() != 0)
        return;
    nap(150);
    kill(process, SIGSTOP);
    nap(800);
    kill(process, SIGCONT);
    _exit(0);
}

/* Only ranks 0 and 1 have data. Rank 2 has said that its (empty) buffers are on the GPU, and is stopped
 * before it has read what the others say, which come later and do not need it. */
static void stopped(void)
{
    const bool takes_part = job.rank < 2;
    int counts[64] = {0}, places[64] = {0};
    struct buffer out, in, host;

    need_filled(&out, MEMORY_DEVICE, BIG, (uint64_t)job.rank);
    need_filled(&host, MEMORY_HOST, BIG, 9);
    need_buffer(&in, MEMORY_DEVICE, 2 * BIG);
    for (int i = 0; i < 2; i++) {
        counts[i] = takes_part ? BIG : 0;
        places[i] = i * BIG;
    }
    for (int i = 0; i < 2; i++) {
        int to_one[64] = {0, BIG}, at[64] = {0};
        int same[64] = {0};

        job_barrier();
        if (job.rank == 2)
            stop_soon();
        else
            nap(300);
        MPI_Alltoallv(out.at, counts, same, MPI_BYTE, in.at, counts, places, MPI_BYTE,
                      MPI_COMM_WORLD);
        for (int from = 0; takes_part && from < 2; from++)
            expect(buffer_holds(&in, (size_t)from * BIG, BIG, (uint64_t)from, NULL), "block %d",
                   from);
        for (int more = 0; more < 3; more++)
            MPI_Scatterv(host.at, to_one, at, MPI_BYTE, in.at, job.rank == 1 ? BIG : 0, MPI_BYTE, 0,
                         MPI_COMM_WORLD);
        if (job.rank == 1)
            expect(buffer_holds(&in, 0, BIG, 9, NULL), "what rank 0 has scattered");
    }
    job_barrier();
    buffer_clear(&out);
    buffer_clear(&in);
    buffer_clear(&host);
}

static int ncopied, ndeleted;

static int copied(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    ncopied++;
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    ndeleted++;
    return MPI_SUCCESS;
}

static void many_comms(void)
{
    MPI_Comm alive[ALIVE], parent;
    int key;

    MPI_Comm_create_keyval(copied, deleted, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_set_attr(parent, key, &key);
    for (int i = 0; i < ALIVE + IN_TURN; i++) {
        struct call call = {.operation = i % OPERATIONS,
                            .nbytes = MIDDLE,
                            .seed = (uint64_t)i,
                            .out_on_gpu = i % 5,
                            .in_on_gpu = i % 5};
        MPI_Comm comm;

        MPI_Comm_dup(parent, &comm);
        call.comm = comm;
        /* A root that need not wait frees it at once. */
        if (i % 3 == 0 && job.rank != 0)
            nap(1);
        one_call(&call);
        if (i < ALIVE)
            alive[i] = comm;
        else
            MPI_Comm_free(&comm);
    }
    for (int i = ALIVE - 1; i >= 0; i--) {
        struct call call = {.operation = ALLGATHER,
                            .comm = alive[i],
                            .nbytes = MIDDLE,
                            .out_on_gpu = true,
                            .in_on_gpu = true};

        one_call(&call);
        MPI_Comm_free(&alive[i]);
    }
    is_int(ncopied, ALIVE + IN_TURN, "attributes copied");
    is_int(ndeleted, ALIVE + IN_TURN, "attributes deleted");
    MPI_Comm_free(&parent);
    MPI_Comm_free_keyval(&key);
}

/* Each half calls on its own communicator, one of them more often; then all together, in another order of
 * ranks. */
static void halves(void)
{
    MPI_Comm half, turned;

    MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, 0, &half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -job.rank, &turned);
    for (int i = 0; i < 40; i++) {
        struct call call = {.operation = i % OPERATIONS,
                            .comm = half,
                            .nbytes = MIDDLE,
                            .seed = (uint64_t)i,
                            .out_on_gpu = true,
                            .in_on_gpu = i % 4 != 3};

        for (int times = 0; times < 1 + job.rank % 2; times++)
            one_call(&call);
        call.comm = i % 2 ? turned : MPI_COMM_SELF;
        one_call(&call);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&turned);
}

/* What is posted for any source and tag gets the program's message; and a host message that is on its way
 * arrives, although its receiver waits in the collective. */
static void traffic(void)
{
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;

    for (int i = 0; i < 2 * OPERATIONS; i++) {
        struct call call = {.operation = i % OPERATIONS,
                            .comm = MPI_COMM_WORLD,
                            .nbytes = BIG,
                            .seed = (uint64_t)i,
                            .out_on_gpu = true,
                            .in_on_gpu = true};
        struct buffer out, in;
        MPI_Request request;
        MPI_Status status;
        int flag;

        need_filled(&out, i % 2 ? MEMORY_DEVICE : MEMORY_HOST, BIG, (uint64_t)(100 + job.rank));
        need_buffer(&in, i % 2 ? MEMORY_DEVICE : MEMORY_HOST, BIG);
        MPI_Irecv(in.at, BIG, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        if (job.rank % 2) {
            MPI_Ssend(out.at, BIG, MPI_BYTE, next, TAG, MPI_COMM_WORLD);
            one_call(&call);
        } else {
            one_call(&call);
            MPI_Ssend(out.at, BIG, MPI_BYTE, next, TAG, MPI_COMM_WORLD);
        }
        MPI_Wait(&request, &status);
        status_is(&status, last, TAG, BIG, "the message beside it");
        received(&in, BIG, (uint64_t)(100 + last), "the message beside it");
        job_barrier();
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        expect(!flag, "a probe finds a message that nobody has sent");
        job_barrier();
        buffer_clear(&out);
        buffer_clear(&in);
    }
}

/* Rank 0 waits in the collective for rank 1, which comes when rank 0's MPI has answered its MPI_Ssend; a message that rank
 * 0 receives later lies there meanwhile. */
static void early(void)
{
    struct buffer buffer;
    MPI_Request request = MPI_REQUEST_NULL;
    int in = 0, later = 0, one = 1;

    need_filled(&buffer, MEMORY_DEVICE, BIG, 5);
    for (int i = 0; i < 3; i++) {
        if (job.rank == 0) {
            MPI_Irecv(&in, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
        } else if (job.rank == 1) {
            MPI_Isend(&one, 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, &request);
            nap(100);
            MPI_Ssend(&one, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        }
        MPI_Bcast(buffer.at, BIG, MPI_BYTE, 0, MPI_COMM_WORLD);
        received(&buffer, BIG, 5, "the broadcast");
        if (job.rank == 0)
            MPI_Recv(&later, 1, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    buffer_clear(&buffer);
}

/* ---- threads */

struct worker {
    pthread_t thread;
    int number;
    MPI_Comm comms[2];
};

/* The ranks' threads come to their communicators in any order. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    const char *wanted = getenv("TEST_DEVICE");

    if (gpu_count > 0)
        gpu_use((wanted ? atoi(wanted) : job.local) % gpu_count);
    nap((job.rank + worker->number) % THREADS);
    for (int i = 0; i < 20; i++) {
        struct call call = {.operation = (i + worker->number) % OPERATIONS,
                            .comm = worker->comms[i / 3 % 2],
                            .nbytes = i % 2 ? MIDDLE : BIG,
                            .root = i % job.size,
                            .seed = (uint64_t)(100 * worker->number + i)};

        call.out_on_gpu = call.in_on_gpu = worker->number != 1 || job.rank != i % job.size;
        one_call(&call);
    }
    return NULL;
}

static void threads(void)
{
    struct worker workers[THREADS];

    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comms[0]);
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comms[1]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < 2 * THREADS; i++)
        MPI_Comm_free(&workers[i / 2].comms[i % 2]);
}

static void gather_in(MPI_Comm comm, const struct buffer *out, const struct buffer *in)
{
    buffer_reset(in);
    succeeds(MPI_Allgather(out->at, BIG, MPI_BYTE, in->at, BIG, MPI_BYTE, comm), "Allgather");
    expect(buffer_holds(in, 0, BIG, 3, NULL), "what was gathered has other bytes");
}

/* Communicators of one rank, which there may be many of, take nothing that those of several need: all calls go
 * directly, as the library counts. */
static void comms_of_one(void)
{
    enum { MANY = 70, MORE = 10 };
    MPI_Comm comms[MANY + MORE];
    struct buffer out, in;

    need_filled(&out, MEMORY_DEVICE, BIG, 3);
    need_buffer(&in, MEMORY_DEVICE, (size_t)BIG * (size_t)job.size);
    for (int i = 0; i < MANY + MORE; i++) {
        MPI_Comm_dup(i < MANY ? MPI_COMM_SELF : MPI_COMM_WORLD, &comms[i]);
        gather_in(comms[i], &out, &in);
    }
    for (int i = 0; i < MANY + MORE; i++)
        MPI_Comm_free(&comms[i]);
    buffer_clear(&out);
    buffer_clear(&in);
}

static void test(const char *name, void (*part)(void))
{
    job_test("%s", name);
    part();
    job_result();
}

/* `agree NAME [ones]` */
int main(int argc, char **argv)
{
    job_start(MPI_THREAD_MULTIPLE);
    if (argc > 2 && strcmp(argv[2], "ones") == 0) {
        test("communicators of one rank, and of all", comms_of_one);
        return job_end();
    }
    test("who passes GPU memory", every_answer);
    test("a root runs ahead", ahead);
    if (job.size > 2) {
        test("a rank is stopped while it reads", stopped);
    } else {
        job_test("a rank is stopped while it reads");
        job_skip("fewer than three ranks");
    }
    test("many communicators", many_comms);
    test("halves, reversed ranks, one rank", halves);
    test("messages beside it", traffic);
    test("a message that is received behind it", early);
    if (job.threads == MPI_THREAD_MULTIPLE) {
        test("threads", threads);
    } else {
        job_test("threads");
        job_skip("MPI has no MPI_THREAD_MULTIPLE");
    }
    return job_end();
}
