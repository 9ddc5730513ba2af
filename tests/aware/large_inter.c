/* Large collectives between two groups. */
#include "tests/aware/large.h"

#include <stdlib.h>
#include <string.h>

enum { TIMES = 3 };

enum {
    I_BCAST,
    I_GATHER,
    I_SCATTER,
    I_ALLGATHER,
    I_ALLTOALL,
    I_ALLTOALLV,
    I_REDUCE,
    I_ALLREDUCE,
    N
};
static const char *const names[N] = {"MPI_Bcast",     "MPI_Gather",   "MPI_Scatter",
                                     "MPI_Allgather", "MPI_Alltoall", "MPI_Alltoallv",
                                     "MPI_Reduce",    "MPI_Allreduce"};

static MPI_Comm between;
static int remote, number; /* ranks of the other group; this rank's number in its own */
static bool high;

/* One rank of the group of roots is the root. */
static int root_of(bool high_roots)
{
    if (high != high_roots)
        return 0;
    return number == 0 ? MPI_ROOT : MPI_PROC_NULL;
}

/* Arguments that MPI ignores on this rank may be anything. */
static MPI_Datatype if_used(bool used)
{
    MPI_Datatype none;

    memset(&none, 0, sizeof none);
    return used ? MPI_INT : none;
}

static void gather(const int *out, int *in, int n, int root)
{
    MPI_Gather(root >= 0 ? out : NULL, n, if_used(root >= 0), root == MPI_ROOT ? in : NULL, n,
               if_used(root == MPI_ROOT), root, between);
}

static void scatter(const int *out, int *in, int n, int root)
{
    MPI_Scatter(root == MPI_ROOT ? out : NULL, n, if_used(root == MPI_ROOT), root >= 0 ? in : NULL,
                n, if_used(root >= 0), root, between);
}

static void make_call(int which, int n, bool high_roots, int *out, int *in)
{
    const int root = root_of(high_roots);
    int counts[RANKS_MOST], places[RANKS_MOST];

    for (int i = 0; i < remote; i++) {
        counts[i] = (number + i) % 2 ? n / 2 : n;
        places[i] = (remote - 1 - i) * n;
    }
    switch (which) {
    case I_BCAST:
        MPI_Bcast(root == MPI_ROOT ? out : in, n, MPI_INT, root, between);
        break;
    case I_GATHER:
        gather(out, in, n, root);
        break;
    case I_SCATTER:
        scatter(out, in, n, root);
        break;
    case I_ALLGATHER:
        MPI_Allgather(out, n, MPI_INT, in, n, MPI_INT, between);
        break;
    case I_ALLTOALL:
        MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, between);
        break;
    case I_ALLTOALLV:
        MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, between);
        break;
    case I_REDUCE:
        MPI_Reduce(out, in, n, MPI_INT, MPI_SUM, root, between);
        break;
    default:
        MPI_Allreduce(out, in, n, MPI_INT, MPI_BXOR, between);
    }
}

static void check(int which, int n, bool high_roots, enum memory kind)
{
    const size_t nbytes = (size_t)n * RANKS_MOST * sizeof(int);
    char *out = malloc(2 * nbytes), *in = malloc(3 * nbytes), *got = in + nbytes;
    struct buffer from, to;

    if (!out || !in)
        abort();
    fill_values(out, nbytes, INTS, (uint64_t)(n + job.rank));
    fill_values(in, nbytes, INTS, (uint64_t)(n + job.rank + 50));
    need_buffer(&from, kind, nbytes);
    need_buffer(&to, kind, nbytes);
    gpu_put(from.at, out, nbytes);
    gpu_put(to.at, in, nbytes);
    make_call(which, n, high_roots, (int *)(void *)from.at, (int *)(void *)to.at);
    memcpy(out + nbytes, out, nbytes);
    make_call(which, n, high_roots, (int *)(void *)out, (int *)(void *)in);
    gpu_get(got, from.at, nbytes);
    gpu_get(got + nbytes, to.at, nbytes);
    expect(memcmp(got, out + nbytes, nbytes) == 0, "%s of %d ints: what is sent changes",
           names[which], n);
    expect(memcmp(got + nbytes, in, nbytes) == 0, "%s of %d ints: what is received", names[which],
           n);
    buffer_clear(&from);
    buffer_clear(&to);
    free(out);
    free(in);
}

void test_inter(void)
{
    MPI_Comm half, merged;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD,
                            MPI_ERRORS_ARE_FATAL); /* for what has no communicator */
    high = job.rank >= job.size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, high, 0, &half);
    MPI_Intercomm_create(half, 0, job.plain, high ? 0 : job.size / 2, TAG, &between);
    MPI_Comm_rank(between, &number);
    MPI_Comm_remote_size(between, &remote);
    for (int which = 0; which < N; which++) {
        job_test("%s between two groups", names[which]);
        for (int i = 0; i < TIMES; i++) {
            const int n = (int)(draw_size() / sizeof(int) / 2 * 2);
            const bool high_roots = i % 2;

            job_at("%d", i);
            check(which, n, high_roots, MEMORY_DEVICE);
            check(which, n, high_roots, high ? MEMORY_DEVICE : MEMORY_HOST);
        }
        job_result();
    }
    job_test("two groups that have been merged");
    MPI_Intercomm_merge(between, high, &merged);
    for (int i = 0; i < 2 * TIMES; i++) {
        struct call call = call_of(i % 2 ? ALLTOALL : ALLREDUCE, merged, element_of(INTS), 70000);

        call.seed = draw_seed();
        call.from = call.to = MEMORY_DEVICE;
        call_check(&call);
    }
    job_result();
    MPI_Comm_free(&merged);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}
