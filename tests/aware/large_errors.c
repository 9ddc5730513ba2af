/* Wrong arguments of large collectives are errors for each rank that passes them, told to the communicator's
 * handler once, and later calls are right. */
#include "tests/aware/large.h"

#include <stdlib.h>

enum { N = 30000, CALLS = 7 };
#define NBYTES(nranks) ((size_t)(N * (nranks)) * sizeof(double))

static int nhandled;
static struct buffer out, in;

static void handle(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    nhandled++;
}

struct arguments {
    const char *name;
    int n, root, class;
    MPI_Datatype type;
    MPI_Op op;
};

static int make_call(int which, const struct arguments *a, char *from, char *to, MPI_Comm comm)
{
    switch (which) {
    case 0:
        return MPI_Bcast(to, a->n, a->type, a->root, comm);
    case 1:
        return MPI_Gather(from, a->n, a->type, to, a->n, a->type, a->root, comm);
    case 2:
        return MPI_Allgather(from, a->n, a->type, to, a->n, a->type, comm);
    case 3:
        return MPI_Alltoall(from, a->n, a->type, to, a->n, a->type, comm);
    case 4:
        return MPI_Scatter(from, a->n, a->type, to, a->n, a->type, a->root, comm);
    case 5:
        return MPI_Allreduce(from, to, a->n, a->type, a->op, comm);
    default:
        return MPI_Reduce(from, to, a->n, a->type, a->op, a->root, comm);
    }
}

static bool is_used(int which, const struct arguments *a)
{
    const bool rooted = which == 0 || which == 1 || which == 4 || which == 6;

    return (a->class != MPI_ERR_ROOT || rooted) && (a->class != MPI_ERR_OP || which >= 5);
}

static void test_wrong(const struct arguments *a, MPI_Comm comm, bool counts)
{
    static const char *const names[CALLS] = {"MPI_Bcast",    "MPI_Gather",  "MPI_Allgather",
                                             "MPI_Alltoall", "MPI_Scatter", "MPI_Allreduce",
                                             "MPI_Reduce"};
    char *host = calloc(2, NBYTES(job.size));

    if (!host)
        abort();
    job_test("%s%s", a->name, counts ? ", with a handler" : "");
    for (int which = 0; which < CALLS; which++) {
        struct call call = call_of((enum operation)(which % OPERATIONS), comm, element_of(INTS),
                                   100000);
        int class, wanted;

        if (!is_used(which, a))
            continue;
        job_at("%s", names[which]);
        MPI_Error_class(make_call(which, a, host, host + NBYTES(job.size), comm), &wanted);
        nhandled = 0;
        buffer_reset(&in);
        MPI_Error_class(make_call(which, a, out.at, in.at, comm), &class);
        expect(class != MPI_SUCCESS, "no error");
        is_int(class, wanted, "the error's class");
        is_int(nhandled, counts, "calls of the handler");
        expect(buffer_untouched(&in, 0), "a call with wrong arguments writes");
        call.seed = draw_seed();
        call.from = call.to = MEMORY_DEVICE;
        call_check(&call);
        is_int(nhandled, counts, "calls of the handler after a right call");
    }
    free(host);
    job_result();
}

void test_errors(void)
{
    const struct arguments wrong[] = {
        {"a negative count", -1, 0, MPI_ERR_COUNT, MPI_INT, MPI_SUM},
        {"a negative root", N, -5, MPI_ERR_ROOT, MPI_INT, MPI_SUM},
        {"a root of no rank", N, job.size, MPI_ERR_ROOT, MPI_INT, MPI_SUM},
        {"no type", N, 0, MPI_ERR_TYPE, MPI_DATATYPE_NULL, MPI_SUM},
        {"no operation", N, 0, MPI_ERR_OP, MPI_INT, MPI_OP_NULL},
        {"an operation that the type does not have", N, 0, MPI_ERR_OP, MPI_DOUBLE, MPI_BXOR},
    };
    const size_t nbytes = NBYTES(job.size);
    MPI_Errhandler handler;
    MPI_Comm comm;

    need_filled(&out, MEMORY_DEVICE, nbytes, 1);
    need_buffer(&in, MEMORY_DEVICE, nbytes);
    MPI_Comm_create_errhandler(handle, &handler);
    for (int counts = 0; counts < 2; counts++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, counts ? handler : MPI_ERRORS_RETURN);
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
            test_wrong(&wrong[i], comm, counts);
        MPI_Comm_free(&comm);
    }
    MPI_Errhandler_free(&handler);
    buffer_clear(&out);
    buffer_clear(&in);
}
