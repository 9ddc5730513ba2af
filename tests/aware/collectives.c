/* Collectives with GPU memory, in plain MPI functions: each call leaves in its buffers what the same
 * call leaves in host memory, gaps included; with GPU memory on all ranks, or on every other one.
 * Rank 0 prints the results. */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h> /* Open MPI 4's persistent collectives */
#endif
#include <stdlib.h>

#include "examples/device.h"
#include "tests/tap.h"

#define N 4096 /* ints of a buffer */
#define MID (N / 2)
#define GARBAGE ((void *)0x1234)

static int rank, size, root;
static MPI_Comm comm = MPI_COMM_WORLD;
static MPI_Op matrix; /* not commutative */
static MPI_Datatype gaps;
static int counts[8], places[8]; /* with gaps between blocks, the last one first */
static int *device[2], before[N];

typedef void collective(int *s, int *r, MPI_Request *request);

/* 2x2 matrices modulo 10007. */
static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int *a = in, *b = inout;

    (void)type;
    for (int i = 0; i < *n; i++, a += 4, b += 4) {
        const int c[4] = {(a[0] * b[0] + a[1] * b[2]) % 10007, (a[0] * b[1] + a[1] * b[3]) % 10007,
                          (a[2] * b[0] + a[3] * b[2]) % 10007, (a[2] * b[1] + a[3] * b[3]) % 10007};

        memcpy(b, c, sizeof c);
    }
}

/* Of a root alone; else what must not be looked at. */
#define ROOTS(value) (rank == root ? (value) : GARBAGE)
#define CALL(name) static void name(int *s, int *r, MPI_Request *q)
/* The blocking function, or (q) the nonblocking one. */
#define EITHER(name, iname, ...) (void)(q ? MPI_##iname(__VA_ARGS__, q) : MPI_##name(__VA_ARGS__))

CALL(bcast)
{
    (void)s;
    EITHER(Bcast, Ibcast, r, 3, gaps, root, comm);
}
CALL(reduce)
{
    EITHER(Reduce, Ireduce, s, ROOTS(r), 99, MPI_INT, MPI_SUM, root, comm);
}
CALL(reduce_in)
{
    (void)s;
    EITHER(Reduce, Ireduce, rank == root ? MPI_IN_PLACE : r, ROOTS(r), 99, MPI_INT, MPI_SUM, root,
           comm);
}
CALL(minloc)
{
    EITHER(Allreduce, Iallreduce, s, r, 50, MPI_2INT, MPI_MINLOC, comm);
}
CALL(allreduce_in)
{
    (void)s;
    EITHER(Allreduce, Iallreduce, MPI_IN_PLACE, r, 77, MPI_INT, MPI_MAX, comm);
}
CALL(nothing)
{
    EITHER(Allreduce, Iallreduce, s, r, 0, MPI_INT, MPI_MAX, comm);
}

static MPI_Datatype square;
CALL(products)
{
    EITHER(Allreduce, Iallreduce, s, r, 9, square, matrix, comm);
}
CALL(scan)
{
    EITHER(Scan, Iscan, s, r, 9, square, matrix, comm);
}
CALL(scan_in)
{
    (void)s;
    EITHER(Scan, Iscan, MPI_IN_PLACE, r, 9, square, matrix, comm);
}
CALL(exscan)
{
    EITHER(Exscan, Iexscan, s, r, 9, square, matrix, comm);
}
CALL(scatter_sums)
{
    EITHER(Reduce_scatter, Ireduce_scatter, s, r, counts, MPI_INT, MPI_SUM, comm);
}
CALL(scatter_blocks)
{
    EITHER(Reduce_scatter_block, Ireduce_scatter_block, s, r, 5, MPI_INT, MPI_SUM, comm);
}
CALL(gather)
{
    EITHER(Gather, Igather, s, 1, gaps, ROOTS(r), rank == root ? 6 : -1, MPI_INT, root, comm);
}
CALL(gather_in)
{
    (void)s;
    EITHER(Gather, Igather, rank == root ? MPI_IN_PLACE : r, 6, MPI_INT, ROOTS(r), 6, MPI_INT, root,
           comm);
}
CALL(gatherv)
{
    EITHER(Gatherv, Igatherv, s, counts[rank], MPI_INT, rank == root ? r + MID : GARBAGE,
           ROOTS(counts), ROOTS(places), MPI_INT, root, comm);
}
CALL(scatter)
{
    EITHER(Scatter, Iscatter, ROOTS(s), 6, MPI_INT, r, 1, gaps, root, comm);
}
CALL(scatter_in)
{
    EITHER(Scatter, Iscatter, ROOTS(s), 6, MPI_INT, rank == root ? MPI_IN_PLACE : r, 6, MPI_INT,
           root, comm);
}
CALL(scatterv)
{
    EITHER(Scatterv, Iscatterv, rank == root ? s + MID : GARBAGE, ROOTS(counts), ROOTS(places),
           MPI_INT, r, counts[rank], MPI_INT, root, comm);
}
CALL(allgather)
{
    EITHER(Allgather, Iallgather, s, 12, MPI_INT, r, 2, gaps, comm);
}
CALL(allgather_in)
{
    (void)s;
    EITHER(Allgather, Iallgather, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, r, 2, gaps, comm);
}
CALL(allgatherv)
{
    EITHER(Allgatherv, Iallgatherv, s, counts[rank], MPI_INT, r + MID, counts, places, MPI_INT,
           comm);
}
CALL(alltoall)
{
    EITHER(Alltoall, Ialltoall, s, 1, gaps, r, 6, MPI_INT, comm);
}

static int alike[] = {7, 7, 7, 7};
static int bytes[4];
static MPI_Datatype ints[4];
CALL(alltoallv)
{
    EITHER(Alltoallv, Ialltoallv, s + MID, alike, places, MPI_INT, r + MID, alike, places, MPI_INT,
           comm);
}
CALL(alltoallw)
{
    EITHER(Alltoallw, Ialltoallw, s + MID, alike, bytes, ints, r + MID, alike, bytes, ints, comm);
}

static const struct {
    const char *name;
    collective *call;
} calls[] = {
    {"Bcast of a type with gaps", bcast},
    {"Reduce", reduce},
    {"Reduce in place", reduce_in},
    {"Allreduce, MINLOC", minloc},
    {"Allreduce in place", allreduce_in},
    {"Allreduce of nothing", nothing},
    {"Allreduce, an operation of the user's", products},
    {"Scan", scan},
    {"Scan in place", scan_in},
    {"Exscan", exscan},
    {"Reduce_scatter", scatter_sums},
    {"Reduce_scatter_block", scatter_blocks},
    {"Gather", gather},
    {"Gather in place", gather_in},
    {"Gatherv", gatherv},
    {"Scatter", scatter},
    {"Scatter in place", scatter_in},
    {"Scatterv", scatterv},
    {"Allgather", allgather},
    {"Allgather in place", allgather_in},
    {"Allgatherv", allgatherv},
    {"Alltoall", alltoall},
    {"Alltoallv", alltoallv},
    {"Alltoallw", alltoallw},
};

static void once(collective *call, int *s, int *r, bool later)
{
    MPI_Request request;

    call(s, r, later ? &request : NULL);
    if (later)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int differ(const char *what, const int *got, const int *wanted)
{
    for (int i = 0; i < N; i++)
        if (got[i] != wanted[i]) {
            fprintf(stderr, "rank %d, %s: int %d is %d, not %d\n", rank, what, i, got[i],
                    wanted[i]);
            return 1;
        }
    return 0;
}

/* other: every other rank has host memory. */
static int wrong_with(int i, bool later, bool other)
{
    static int s[N], r[N], got[N];
    const bool on_host = other && rank % 2 == 0;
    int wrong;

    memcpy(s, before, sizeof s);
    memcpy(r, before, sizeof r);
    once(calls[i].call, s, r, later);
    if (on_host) {
        memcpy(got, before, sizeof got);
        once(calls[i].call, before, got, later);
        return differ(calls[i].name, got, r);
    }
    device_write(device[0], before, sizeof before);
    device_write(device[1], before, sizeof before);
    once(calls[i].call, device[0], device[1], later);
    device_read(got, device[0], sizeof got);
    wrong = differ(calls[i].name, got, s);
    device_read(got, device[1], sizeof got);
    return wrong | differ(calls[i].name, got, r);
}

/* ---- types */

#ifndef OPEN_MPI /* which wants a type for nothing, too */
static int wrong_without_types(void)
{
    int n[8] = {0}, at[8] = {0};
    MPI_Datatype types[8] = {0};
    static int got[N];

    for (int i = 0; i < size; i++)
        types[i] = MPI_DATATYPE_NULL;
    n[rank] = 9;
    types[rank] = MPI_INT;
    device_write(device[0], before, sizeof before);
    MPI_Alltoallw(device[0], n, at, types, device[1], n, at, types, comm);
    device_read(got, device[1], sizeof got);
    return memcmp(got, before, 9 * sizeof *got) != 0;
}
#endif

/* ---- asked for its status */

/* What is in the application's status before the call says nothing. */
static int wrong_when_asked(void)
{
    static int wanted[N], got[N];
    MPI_Request request;
    MPI_Status status;
    int complete = 0;

    MPI_Allreduce(before, wanted, N, MPI_INT, MPI_SUM, comm);
    device_write(device[0], before, sizeof before);
    device_write(device[1], before, sizeof before);
    MPI_Iallreduce(device[0], device[1], N, MPI_INT, MPI_SUM, comm, &request);
    memset(&status, 0xff, sizeof status);
    while (!complete)
        MPI_Request_get_status(request, &complete, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    device_read(got, device[1], sizeof got);
    return differ("MPI_Request_get_status", got, wanted);
}

/* ---- persistent */

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define ALLREDUCE_INIT MPIX_Allreduce_init
#elif MPI_VERSION >= 4
#define ALLREDUCE_INIT MPI_Allreduce_init
#endif

#ifdef ALLREDUCE_INIT
/* Started twice, with other values; the kind of each buffer is its own. */
static int persistent_with(bool from_gpu, bool to_gpu)
{
    static int s[N], r[N], wanted[N];
    int *const from = from_gpu ? device[0] : s, *const to = to_gpu ? device[1] : r;
    MPI_Request request;
    int wrong = 0;

    memcpy(r, before, sizeof r);
    memcpy(wanted, before, sizeof wanted);
    if (to_gpu)
        device_write(to, r, sizeof r);
    ALLREDUCE_INIT(from, to, 99, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++)
            s[i] = before[i] + round;
        if (from_gpu)
            device_write(from, s, sizeof s);
        MPI_Allreduce(s, wanted, 99, MPI_INT, MPI_SUM, comm);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (to_gpu)
            device_read(r, to, sizeof r);
        wrong |= differ("a persistent Allreduce", r, wanted);
    }
    MPI_Request_free(&request);
    return wrong;
}

static int wrong_persistent(void)
{
    int wrong = 0;

    for (int kinds = 0; kinds < 4; kinds++)
        wrong |= persistent_with(kinds & 1, (kinds & 2) == (rank % 2 ? 2 : 0));
    return wrong;
}
#endif

static void tell(const char *what, int wrong)
{
    int all;

    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_MAX, comm);
    if (rank == 0)
        tap_ok(!all, "%s", what);
}

static void make_types(void)
{
    const int lengths[] = {2, 1}, starts[] = {1, 4};
    MPI_Datatype type;

    MPI_Type_indexed(2, lengths, starts, MPI_INT, &type); /* 3 ints of 8, gaps on either side */
    MPI_Type_create_resized(type, 0, 16, &gaps);
    MPI_Type_free(&type);
    type = gaps;
    MPI_Type_contiguous(2, type, &gaps); /* 6 ints */
    MPI_Type_free(&type);
    MPI_Type_commit(&gaps);
    MPI_Type_contiguous(4, MPI_INT, &square);
    MPI_Type_commit(&square);
    MPI_Op_create(multiply, 0, &matrix);
}

int main(int argc, char **argv)
{
    int wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    device_start();
    device[0] = device_alloc(sizeof before);
    device[1] = device_alloc(sizeof before);
    root = size - 1;
    for (int i = 0; i < N; i++)
        before[i] = (rank * 131 + i * 7) % 97;
    for (int i = 0; i < size; i++) {
        counts[i] = 3 + i;
        places[i] = 10 - 20 * i; /* also below the buffer's address */
        bytes[i] = places[i] * (int)sizeof(int);
        ints[i] = MPI_INT;
    }
    make_types();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        wrong = 0;
        for (int way = 0; way < 4; way++)
            wrong |= wrong_with((int)i, way & 1, way & 2);
        tell(calls[i].name, wrong);
    }
#ifndef OPEN_MPI
    tell("no types for nothing", wrong_without_types());
#endif
    tell("MPI_Request_get_status of a nonblocking one", wrong_when_asked());
#ifdef ALLREDUCE_INIT
    tell("a persistent Allreduce, each buffer of either kind", wrong_persistent());
#endif
    device_free(device[0]);
    device_free(device[1]);
    MPI_Type_free(&gaps);
    MPI_Type_free(&square);
    MPI_Op_free(&matrix);
    MPI_Finalize();
    return rank == 0 ? tap_done() : 0;
}
