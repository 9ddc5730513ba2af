/* Large collectives on communicators of every kind, as they come and go. */
#include "tests/aware/large.h"

#include <stdlib.h>

enum { IN_TURN = 200, ALIVE = 100, SMALLEST = 16 * KIB, MADE = 8 };

static void some_calls(MPI_Comm comm, int n, size_t nbytes)
{
    for (int i = 0; i < n; i++) {
        struct call call = draw_call(comm, nbytes);

#ifdef MPICH_VERSION
        call.in_place &= call.operation != REDUCE;
#endif
        call.in_place &= call.operation != BCAST;
        call_check(&call);
    }
}

static MPI_Comm make(int how)
{
    MPI_Request request;
    MPI_Group all, turned;
    MPI_Comm comm = MPI_COMM_NULL;
    int range[1][3] = {{job.size - 1, 0, -1}};

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_range_incl(all, 1, range, &turned);
    switch (how) {
    case 0:
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        break;
    case 1:
        MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 2:
        MPI_Comm_split(MPI_COMM_WORLD, 0, -job.rank, &comm);
        break;
    case 3:
        MPI_Comm_create(MPI_COMM_WORLD, turned, &comm);
        break;
    case 4:
        MPI_Comm_create_group(MPI_COMM_WORLD, turned, TAG, &comm);
        break;
    case 5:
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm);
        break;
    case 6:
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -job.rank, MPI_INFO_NULL, &comm);
        break;
    default:
        MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){job.size}, (int[]){1}, 0, &comm);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&turned);
    return comm;
}

static void test_made(void)
{
    static const char *const names[MADE] = {
        "MPI_Comm_dup",        "MPI_Comm_idup",         "MPI_Comm_split, reversed",
        "MPI_Comm_create",     "MPI_Comm_create_group", "MPI_Comm_dup_with_info",
        "MPI_Comm_split_type", "MPI_Cart_create"};

    for (int how = 0; how < MADE; how++) {
        MPI_Comm comm = make(how);

        job_test("a communicator of %s", names[how]);
        some_calls(comm, 12, draw_size());
        job_result();
        MPI_Comm_free(&comm);
    }
    job_test("MPI_COMM_SELF");
    some_calls(MPI_COMM_SELF, 20, 40000);
    job_result();
}

/* Those of one half are other calls, and more, than those of the other. */
static void test_halves(void)
{
    const bool high = job.rank >= job.size / 2;
    MPI_Comm half;

    job_test("two halves at the same time");
    MPI_Comm_split(MPI_COMM_WORLD, high, -job.rank, &half);
    for (int i = 0; i < 20; i++) {
        const size_t nbytes = draw_size();
        struct call calls[3];

        for (int j = 0; j < 3; j++) {
            /* All draw the calls of the larger half: its roots need not be those of the smaller. */
            calls[j] = call_of((enum operation)draw(OPERATIONS), half, element_of(INTS), nbytes);
            calls[j].shift = draw(4);
            calls[j].seed = draw_seed();
            calls[j].root = (int)draw(100) % calls[j].size;
            calls[j].from = calls[j].to = MEMORY_DEVICE;
        }
        for (int j = high ? 0 : 2; j < 3; j++)
            call_check(&calls[j]);
        if (i % 5 == 4)
            some_calls(MPI_COMM_WORLD, 1, nbytes);
    }
    MPI_Comm_free(&half);
    job_result();
}

/* The root of a broadcast, and all but the root of a gather, need not wait for the others. */
static void test_in_turn(void)
{
    job_test("%d communicators in turn, freed by ranks that need not wait", IN_TURN);
    for (int i = 0; i < IN_TURN; i++) {
        struct call call;
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        call = call_of(i % 4 < 2    ? BCAST
                       : i % 4 == 2 ? GATHER
                                    : SCATTER,
                       comm, element_of(INTS), SMALLEST);
        call.root = i / 4 % job.size;
        call.seed = (uint64_t)(2 * i +
                               1); /* the call in host memory comes last: it must not wait */
        call.from = call.to = MEMORY_DEVICE;
        if (i % 10 == 9 && (job.rank == call.root) == (call.operation == GATHER))
            nap(2);
        call_check(&call);
        MPI_Comm_free(&comm);
    }
    job_result();
}

static void test_alive(void)
{
    MPI_Comm comms[ALIVE];

    job_test("%d communicators at once", ALIVE);
    for (int i = 0; i < ALIVE; i++) {
        MPI_Comm_dup(i % 3 && i > 0 ? comms[i - 1] : MPI_COMM_WORLD, &comms[i]);
        if (i % 2)
            some_calls(comms[i], 1, SMALLEST);
    }
    for (int i = 0; i < ALIVE; i++)
        some_calls(comms[(i * 37) % ALIVE], 1, SMALLEST);
    for (int i = 0; i < ALIVE; i++)
        MPI_Comm_free(&comms[(i * 53) % ALIVE]);
    some_calls(MPI_COMM_WORLD, 3, SMALLEST);
    job_result();
}

void test_comms(void)
{
    test_made();
    test_halves();
    test_in_turn();
    test_alive();
}

/* ---- attributes: their functions are called by the program's own calls alone */

static int ncopied, ndeleted, nrefused;

static int copied(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    ncopied++;
    return MPI_SUCCESS;
}

static int refused(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    nrefused++;
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    int size;

    (void)key, (void)extra;
    MPI_Comm_size(comm, &size);
    is_int(size, job.size, "the size of a communicator that is freed");
    expect(value == &ndeleted, "an attribute has another value");
    ndeleted++;
    return MPI_SUCCESS;
}

void test_attributes(void)
{
    MPI_Comm parent, child, half;
    int key, other, flag;
    void *value;

    job_test("attributes are copied and deleted as often as the program says");
    MPI_Comm_create_keyval(copied, deleted, &key, NULL);
    MPI_Comm_create_keyval(refused, deleted, &other, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_set_attr(parent, key, &ndeleted);
    MPI_Comm_set_attr(parent, other, &ndeleted);
    some_calls(parent, 10, 40000);
    is_int(ncopied + nrefused + ndeleted, 0, "functions called before anything was copied");
    for (int i = 0; i < 10; i++) {
        MPI_Comm_dup(parent, &child);
        is_int(ncopied, i + 1, "attributes copied");
        is_int(nrefused, i + 1, "attributes not copied");
        some_calls(child, 3, 40000);
        MPI_Comm_get_attr(child, key, &value, &flag);
        expect(flag && value == &ndeleted, "the attribute has not been copied");
        MPI_Comm_get_attr(child, other, &value, &flag);
        expect(!flag, "an attribute has been copied that refuses it");
        MPI_Comm_split(parent, job.rank % 2, 0, &half);
        some_calls(half, 2, 40000);
        MPI_Comm_free(&half);
        is_int(ndeleted, i, "attributes deleted before the communicator was freed");
        MPI_Comm_free(&child);
        is_int(ndeleted, i + 1, "attributes deleted");
    }
    MPI_Comm_delete_attr(parent, other);
    MPI_Comm_free(&parent);
    is_int(ncopied, 10, "attributes copied at last");
    is_int(nrefused, 10, "attributes not copied at last");
    is_int(ndeleted, 12, "attributes deleted at last");
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free_keyval(&other);
    job_result();
}
