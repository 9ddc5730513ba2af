/* Types of many small blocks, in GPU memory in plain MPI functions in a ring: every byte of a buffer is what MPI
 * makes of it in host memory. Rank 0 prints the results. */
#include "tests/aware/irregular.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

static int to, from;

static int differs(const struct buffers *b, const char *what)
{
    const int i = difference(b);

    if (i >= 0)
        tap_diag("rank %d: %s: byte %d is %d, not %d", rank, what, i - START, b->got[i],
                 b->wanted[i]);
    return i >= 0;
}

/* ---- messages */

enum way { BLOCKING, FREED_SOON, TO_HOST, FROM_HOST, FROM_BOTTOM, WAYS };
static const char *const ways[WAYS] = {"MPI_Sendrecv", "types freed while they are used",
                                       "to host memory", "from host memory", "MPI_BOTTOM"};

static MPI_Datatype at_address(const char *at, MPI_Datatype type, int count)
{
    MPI_Aint address;
    MPI_Datatype absolute;

    MPI_Get_address(at, &address);
    MPI_Type_create_hindexed(1, &count, &address, type, &absolute);
    return committed(absolute);
}

static void pass_bottom(const struct buffers *b, MPI_Datatype type, int count, int tag)
{
    MPI_Datatype sends = at_address(b->out + START, type, count),
                 gets = at_address(b->in + START, type, count);

    MPI_Sendrecv(MPI_BOTTOM, 1, sends, to, tag, MPI_BOTTOM, 1, gets, from, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&sends);
    MPI_Type_free(&gets);
}

/* Frees a copy of the type before its messages are complete. */
static void pass_freed(const struct buffers *b, const struct kind *kind, int tag)
{
    MPI_Datatype type = kind->make();
    MPI_Request requests[2];

    MPI_Irecv(b->in + START, kind->count, type, from, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(b->out + START, kind->count, type, to, tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&type);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void pass(struct buffers *b, const struct kind *kind, MPI_Datatype type, enum way way,
                 int tag)
{
    const char *source = way == FROM_HOST ? b->sent : b->out;
    char *target = way == TO_HOST ? b->got : b->in;

    if (way == FROM_BOTTOM)
        pass_bottom(b, type, kind->count, tag);
    else if (way == FREED_SOON)
        pass_freed(b, kind, tag);
    else
        MPI_Sendrecv(source + START, kind->count, type, to, tag, target + START, kind->count, type,
                     from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (way != TO_HOST)
        device_read(b->got, b->in, ROOM);
}

static void test_kind(struct buffers *b, const struct kind *kind)
{
    for (int way = 0; way < WAYS; way++) {
        MPI_Datatype type = kind->make();

        for (int round = 0; round < 2; round++) {
            begin(b, rank, way + round);
            pass(b, kind, type, (enum way)way, 0);
            expect(b, from, type, kind->count, type, kind->count, way + round);
            wrong += differs(b, ways[way]);
        }
        MPI_Type_free(&type);
    }
    result(kind->name);
}

/* All counts of bytes that end within the first blocks, or the last. */
static void test_shorter(struct buffers *b)
{
    MPI_Datatype type = of_bytes();
    int size_of_one;

    MPI_Type_size(type, &size_of_one);
    for (int i = 0; i < 24; i++) {
        const int n = i < 12 ? 10 * size_of_one - i : 9 * size_of_one + i - 12;

        begin(b, rank, i);
        MPI_Sendrecv(b->out + START, n, MPI_BYTE, to, 0, b->in + START, 12, type, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        device_read(b->got, b->in, ROOM);
        expect(b, from, MPI_BYTE, n, type, 12, i);
        wrong += differs(b, "a message that ends within a block");
    }
    result("messages shorter than their receives");
    MPI_Type_free(&type);
}

/* What is sent may overlap. */
static void test_overlap(struct buffers *b)
{
    enum { BLOCKS = 300 };
    int lengths[BLOCKS], places[BLOCKS], all = 0;
    MPI_Datatype type;

    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = 4 + i % 3;
        places[i] = 7 * (i % 20) + i / 3;
        all += lengths[i];
    }
    MPI_Type_indexed(BLOCKS, lengths, places, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    begin(b, rank, 1);
    MPI_Sendrecv(b->out + START, 1, type, to, 0, b->in + START, all, MPI_DOUBLE, from, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    device_read(b->got, b->in, ROOM);
    expect(b, from, type, 1, MPI_DOUBLE, all, 1);
    wrong += differs(b, "blocks that overlap");
    result("a send of blocks that overlap");
    MPI_Type_free(&type);
}

/* A type made of one that was used, and a copy of it: what is known of that one is not theirs. */
static void test_made_of(struct buffers *b)
{
    MPI_Datatype type = of_doubles(), copy, other;

    for (int i = 0; i < 3; i++) {
        MPI_Datatype now;

        if (i == 1) {
            MPI_Type_dup(type, &copy);
            MPI_Type_create_resized(type, 8, 16, &other);
            MPI_Type_commit(&other);
            MPI_Type_free(&type);
        }
        now = i == 0 ? type : i == 1 ? copy : other;
        begin(b, rank, i);
        MPI_Sendrecv(b->out + START, 1 + i, now, to, 0, b->in + START, 1 + i, now, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        device_read(b->got, b->in, ROOM);
        expect(b, from, now, 1 + i, now, 1 + i, i);
        if (i < 2) /* the elements of the last one overlap */
            wrong += differs(b, "a type made of another");
    }
    result("types that are made of one that was used");
    MPI_Type_free(&copy);
    MPI_Type_free(&other);
}

/* ---- how many calls of the driver it takes */

/* Of the simulated driver; -1: it is another. */
static int calls(const char *function)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*count)(const char *);

    *(void **)&count = driver ? dlsym(driver, "gpubind_sim_calls") : NULL;
    return count ? count(function) : -1;
}

static int copies(void)
{
    return calls("cuMemcpy2DAsync_v2") + calls("cuMemcpyAsync") + calls("cuMemcpyDtoHAsync_v2") +
           calls("cuMemcpyHtoDAsync_v2");
}

/* ---- all to all, by one call and types for each rank */

/* At most so many copies for each rank; -1: any. */
static void test_alltoallw(struct buffers *b, int length, int most)
{
    const int n = 100;
    int *ones = malloc((size_t)size * sizeof *ones),
        *offsets = malloc((size_t)size * sizeof *offsets);
    int lengths[100], copied = 0;
    MPI_Datatype *types = malloc((size_t)size * sizeof *types);

    for (int r = 0; r < size; r++) {
        MPI_Aint places[100];

        for (int i = 0; i < n; i++) {
            lengths[i] = length;
            places[i] = 1600 * i + 400 * r + i / 5;
        }
        ones[r] = 1;
        offsets[r] = START;
        MPI_Type_create_hindexed(n, lengths, places, MPI_BYTE, &types[r]);
        MPI_Type_commit(&types[r]);
    }
    for (int round = 0; round < 3; round++) {
        begin(b, rank, round);
        copied = copies();
        MPI_Alltoallw(b->out, ones, offsets, types, b->in, ones, offsets, types, MPI_COMM_WORLD);
        copied = copies() - copied;
        memcpy(b->wanted, b->got, ROOM);
        device_read(b->got, b->in, ROOM);
        for (int r = 0; r < size; r++) { /* our part of theirs is in their part of ours */
            int at = 0;

            fill(b->sent, r, round);
            MPI_Pack(b->sent + START, 1, types[rank], b->packed, ROOM, &at, MPI_COMM_SELF);
            at = 0;
            MPI_Unpack(b->packed, ROOM, &at, b->wanted + START, 1, types[r], MPI_COMM_SELF);
        }
        wrong += differs(b, "MPI_Alltoallw");
    }
    if (most >= 0 && copied > most * size) {
        tap_diag("rank %d: MPI_Alltoallw took %d copies", rank, copied);
        wrong++;
    }
    result(length > 100 ? "MPI_Alltoallw" : "MPI_Alltoallw of small messages");
    for (int r = 0; r < size; r++)
        MPI_Type_free(&types[r]);
    free(types);
    free(offsets);
    free(ones);
}

static void test_calls(struct buffers *b, int launches, int most)
{
    MPI_Datatype type = of_vectors();
    int before, copied;

    begin(b, rank, 0);
    for (int i = 0; i < 3; i++) {
        before = calls("cuLaunchKernel");
        copied = copies();
        MPI_Sendrecv(b->out + START, 1, type, to, 0, b->in + START, 1, type, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    before = calls("cuLaunchKernel") - before;
    copied = copies() - copied;
    if (before != launches || copied > most) {
        tap_diag("rank %d: %d launches, %d copies", rank, before, copied);
        wrong++;
    }
    MPI_Type_free(&type);
    result("a message of many rows: launches and copies");
}

/* ---- threads */

enum { THREADS = 3, ROUNDS = 12 };

static MPI_Datatype shared;
static int faults[THREADS];

static void *exchange(void *number)
{
    const int thread = *(const int *)number;
    struct buffers b;

    device_start();
    make_buffers(&b);
    for (int i = 0; i < ROUNDS; i++) {
        const struct kind *kind = &kinds[(i + thread) % nkinds];

        begin(&b, rank, i);
        if (i % 3 == 2) {
            pass_freed(&b, kind, thread);
            continue;
        }
        MPI_Sendrecv(b.out + START, 2, shared, to, thread, b.in + START, 2, shared, from, thread,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        device_read(b.got, b.in, ROOM);
        expect(&b, from, shared, 2, shared, 2, i);
        faults[thread] += differs(&b, "threads");
    }
    free_buffers(&b);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];

    shared = of_doubles();
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, exchange, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += faults[i];
    }
    MPI_Type_free(&shared);
    result("one type in several threads");
}

/* ---- a second context, of another GPU if there is one: memory of the first is not its */

static void test_contexts(struct buffers *b)
{
    int (*create)(void **, unsigned, int), (*destroy)(void *), (*device)(int *), (*count)(int *),
        (*pop)(void **);
    MPI_Datatype type = of_doubles();
    struct buffers there;
    void *context;
    int ordinal, ndevices;

    *(void **)&create = device_call("cuCtxCreate_v2");
    *(void **)&destroy = device_call("cuCtxDestroy_v2");
    *(void **)&pop = device_call("cuCtxPopCurrent_v2");
    *(void **)&device = device_call("cuCtxGetDevice");
    *(void **)&count = device_call("cuDeviceGetCount");
    device_check(device(&ordinal), "cuCtxGetDevice");
    device_check(count(&ndevices), "cuDeviceGetCount");
    device_check(create(&context, 0, (ordinal + 1) % ndevices), "cuCtxCreate");
    make_buffers(&there);
    for (int i = 0; i < 4; i++) {
        struct buffers *source = i % 2 ? b : &there, *target = i < 2 ? b : &there;

        begin(source, rank, i);
        begin(target, rank, i);
        MPI_Sendrecv(source->out + START, 2, type, to, 0, target->in + START, 2, type, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        device_read(target->got, target->in, ROOM);
        expect(target, from, type, 2, type, 2, i);
        wrong += differs(target, "two contexts");
        MPI_Sendrecv(source->out + START, 2, type, rank, 0, target->in + START, 2, type, rank, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free_buffers(&there);
    device_check(pop(&context), "cuCtxPopCurrent");
    device_check(destroy(context), "cuCtxDestroy");
    begin(b, rank, 9);
    MPI_Sendrecv(b->out + START, 2, type, to, 0, b->in + START, 2, type, from, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    device_read(b->got, b->in, ROOM);
    expect(b, from, type, 2, type, 2, 9);
    wrong += differs(b, "after it");
    result("one type in two contexts");
    MPI_Type_free(&type);
}

/* [LAUNCHES COPIES]: that a message of many rows takes of the simulated driver, at most. */
int main(int argc, char **argv)
{
    struct buffers b;
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    device_start();
    make_buffers(&b);
    for (int i = 0; i < nkinds; i++)
        test_kind(&b, &kinds[i]);
    test_shorter(&b);
    test_overlap(&b);
    test_made_of(&b);
    test_alltoallw(&b, 40, argc > 2 ? atoi(argv[2]) + 2 : -1); /* it is staged */
    test_alltoallw(&b, 200, argc > 2 ? atoi(argv[2]) : -1);
    if (argc > 2)
        test_calls(&b, atoi(argv[1]), atoi(argv[2]));
    if (level == MPI_THREAD_MULTIPLE)
        test_threads();
    test_contexts(&b);
    free_buffers(&b);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
