/* Each collective function, with types, operations and roots of all kinds; whichever ranks pass GPU memory. */
#include "tests/aware/large.h"

enum { IN_PLACES = 2 };

/* Functions that have no use of MPI_IN_PLACE, or where MPI itself fails with host memory. */
static bool may_be_in_place(const struct call *call)
{
#ifdef MPICH_VERSION
    /* MPICH 4.0 crashes in a large reduction in place at another root. */
    if (call->operation == REDUCE && call->root != 0)
        return false;
#endif
    return call->operation != BCAST;
}

static void check(struct call call)
{
    call.in_place &= may_be_in_place(&call);
    call_check(&call);
}

/* Each rank has its own view of the same ints, on either side. */
static void view(struct call *call, int i)
{
    const unsigned first = (unsigned)i / 4;

    call->out = form_of_ints((first + (unsigned)job.rank) % FORMS);
    call->in = form_of_ints((first + 3 * (unsigned)job.rank + (unsigned)i % 4) % FORMS);
    /* Open MPI 4.1 hangs: its ranks choose how to go by count times size, of other types. */
    if (call->operation == ALLGATHERV)
        call->out = call->in = form_of_ints(first % FORMS);
}

void test_moved(void)
{
    static const enum values kinds[] = {INTS, LONGS, DOUBLES, BYTES, LONG_DOUBLES, PAIRS};

    for (int operation = 0; operation < MOVED; operation++) {
        job_test("%s, each root, in place, of several types", operation_name(operation));
        for (int i = 0; i < 6 * FORMS; i++) {
            const struct element *element = element_of(i % 2 ? kinds[i / 2 % 6] : INTS);
            struct call call = call_of(operation, MPI_COMM_WORLD, element, draw_size());

            job_at("call %d", i);
            call.root = i % job.size;
            call.in_place = i / job.size % IN_PLACES;
            call.shift = draw(4);
            call.seed = draw_seed();
            call.from = call.to = i % 7 ? MEMORY_DEVICE : MEMORY_POOL;
            if (element->values == INTS && i % 4)
                view(&call, i);
            check(call);
        }
        job_result();
    }
}

void test_reduced(void)
{
    for (int operation = MOVED; operation < OPERATIONS; operation++) {
        job_test("%s, each root, in place, of several types and operations",
                 operation_name(operation));
        for (int i = 0; i < (int)nreductions * IN_PLACES; i++) {
            const struct reduction *reduction = &reductions[i / IN_PLACES];
            struct call call = call_of(operation, MPI_COMM_WORLD, element_of(reduction->values),
                                       draw_size());

            job_at("call %d", i);
            call.reduction = reduction;
            call.root = (i + i / IN_PLACES) % job.size;
            call.in_place = i % IN_PLACES;
            call.shift = draw(4);
            call.seed = draw_seed();
            call.from = call.to = i % 7 ? MEMORY_DEVICE : MEMORY_POOL;
            check(call);
        }
        job_result();
    }
}

/* ---- whichever ranks pass GPU memory */

enum { ALL_GPU, ALL_HOST, ONE_HOST, ONE_GPU, OUT_GPU, IN_GPU, ANY, WAYS };

static void choose(struct call *call, int way, int one)
{
    static const enum memory kinds[] = {MEMORY_HOST, MEMORY_DEVICE, MEMORY_MANAGED, MEMORY_PINNED,
                                        MEMORY_POOL};
    uint64_t mine = call->seed + 77 * (uint64_t)job.rank;
    const bool gpu = way == ALL_GPU || (way == ONE_HOST && job.rank != one) ||
                     (way == ONE_GPU && job.rank == one);

    call->from = gpu || way == OUT_GPU ? MEMORY_DEVICE : MEMORY_HOST;
    call->to = gpu || way == IN_GPU ? MEMORY_DEVICE : MEMORY_HOST;
    if (way == ANY) {
        call->from = kinds[random_next(&mine) % 5];
        call->to = kinds[random_next(&mine) % 5];
    }
}

void test_pass(void)
{
    static const char *const names[WAYS] = {
        "all pass GPU memory",           "all pass host memory",      "one passes host memory",
        "one passes GPU memory",         "they send from GPU memory", "they receive in GPU memory",
        "each passes memory of any kind"};

    for (int way = 0; way < WAYS; way++) {
        job_test("%s, then all another", names[way]);
        for (int operation = 0; operation < OPERATIONS; operation++)
            for (int i = 0; i < (way == ANY ? 6 : job.size); i++) {
                const struct reduction *reduction = &reductions[draw(nreductions)];
                const enum values values = operation < MOVED ? INTS : reduction->values;
                struct call call = call_of(operation, MPI_COMM_WORLD, element_of(values),
                                           draw_size());

                job_at("%s %d", operation_name(operation), i);
                call.reduction = reduction;
                call.root = (int)draw((unsigned)job.size);
                call.shift = draw(4);
                call.in_place = draw(3) == 0;
                call.seed = draw_seed();
                choose(&call, way, i);
                check(call);
                /* The other way round on the same communicator. */
                call.seed = draw_seed();
                call.from = call.from == MEMORY_HOST ? MEMORY_DEVICE : MEMORY_HOST;
                call.to = call.to == MEMORY_HOST ? MEMORY_DEVICE : MEMORY_HOST;
                check(call);
            }
        job_result();
    }
}
