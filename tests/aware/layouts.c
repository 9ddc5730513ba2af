/* Datatypes with gaps, in other orders, and over memory of both kinds, passed to plain MPI functions
 * in a ring: the bytes of a message come where its type says, and no others change. Rank 0 prints
 * the results. */
#include <mpi.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#define N 10000

static int to, from;
static double *out, *in; /* of the GPU: N each */
static double host[N];

/* out has what tells rank and place; in has -1 everywhere. */
static void fill(void)
{
    for (int i = 0; i < N; i++)
        host[i] = rank * 1e6 + i;
    device_write(out, host, sizeof host);
    for (int i = 0; i < N; i++)
        host[i] = -1;
    device_write(in, host, sizeof host);
}

/* Element i of what the rank before sends. */
static double theirs(int i)
{
    return from * 1e6 + i;
}

static void want(int i, double value)
{
    if (host[i] != value && wrong++ == 0)
        tap_diag("rank %d: element %d is %g, not %g", rank, i, host[i], value);
}

static MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

/* Three of each ten elements, a hundred times. */
static MPI_Datatype columns(void)
{
    MPI_Datatype type;

    MPI_Type_vector(100, 3, 10, MPI_DOUBLE, &type);
    return committed(type);
}

/* Of what came, the first n elements of the type map of columns(). */
static void want_columns(int n)
{
    device_read(host, in, sizeof host);
    for (int i = 0, came = 0; i < N; i++)
        want(i, i % 10 < 3 && i < 1000 && came < n ? (came++, theirs(i)) : -1);
}

static void with_gaps(void)
{
    MPI_Datatype type = columns();
    MPI_Status status;
    int n;

    fill();
    MPI_Sendrecv(out, 1, type, to, 0, in, 3, type, from, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, type, &n);
    wrong += n != 1;
    want_columns(300);
    result("a message shorter than its receive");
    MPI_Type_free(&type);
}

static void half_an_element(void)
{
    MPI_Datatype type = columns(), part;
    MPI_Request request;
    MPI_Status status;
    int n;

    MPI_Type_vector(17, 3, 10, MPI_DOUBLE, &part);
    MPI_Type_commit(&part);
    fill();
    MPI_Irecv(in, 1, type, from, 0, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    MPI_Send(out, 1, part, to, 0, MPI_COMM_WORLD);
    MPI_Type_free(&part);
    MPI_Wait(&request, &status);
    MPI_Get_elements(&status, MPI_DOUBLE, &n);
    wrong += n != 51;
    want_columns(51);
    result("part of an element, of a type that is freed meanwhile");
}

static void in_place(void)
{
    MPI_Datatype type = columns();

    fill();
    MPI_Sendrecv_replace(out, 1, type, to, 0, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    device_read(host, out, sizeof host);
    for (int i = 0; i < N; i++)
        want(i, i % 10 < 3 && i < 1000 ? theirs(i) : rank * 1e6 + i);
    result("a buffer that is replaced");
    MPI_Type_free(&type);
}

/* The later block first; only three of its four elements come. */
static void decreasing(void)
{
    const int lengths[] = {2, 2}, places[] = {2, 0};
    MPI_Datatype type;

    MPI_Type_indexed(2, lengths, places, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    fill();
    MPI_Sendrecv(out, 3, MPI_DOUBLE, to, 0, in, 1, type, from, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    device_read(host, in, sizeof host);
    want(2, theirs(0));
    want(3, theirs(1));
    want(0, theirs(2));
    want(1, -1);
    want(4, -1);
    result("blocks in decreasing order, and a message that ends in one");
    MPI_Type_free(&type);
}

/* Absolute addresses: n doubles of the GPU, and n of the host. */
static MPI_Datatype both_kinds(double *gpu, double *cpu, int n)
{
    const int lengths[] = {n, n};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_DOUBLE};
    MPI_Aint places[2];
    MPI_Datatype type;

    MPI_Get_address(gpu, &places[0]);
    MPI_Get_address(cpu, &places[1]);
    MPI_Type_create_struct(2, lengths, places, types, &type);
    return committed(type);
}

static void mixed(bool nonblocking)
{
    double *here = malloc(200 * sizeof *here), *there = here + 100;
    MPI_Datatype sends = both_kinds(out + 10, here, 100),
                 receives = both_kinds(in + 20, there, 100);
    MPI_Request requests[2];
    MPI_Status statuses[2];

    fill();
    for (int i = 0; i < 100; i++) {
        here[i] = rank + 0.5;
        there[i] = -1;
    }
    if (nonblocking) {
        MPI_Irecv(MPI_BOTTOM, 1, receives, from, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(MPI_BOTTOM, 1, sends, to, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, statuses);
    } else {
        MPI_Sendrecv(MPI_BOTTOM, 1, sends, to, 0, MPI_BOTTOM, 1, receives, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    device_read(host, in, sizeof host);
    for (int i = 0; i < N; i++)
        want(i, i >= 20 && i < 120 ? theirs(i - 10) : -1);
    for (int i = 0; i < 100; i++)
        wrong += there[i] != from + 0.5;
    result(nonblocking ? "GPU and host memory in a message, nonblocking"
                       : "GPU and host memory in a message");
    MPI_Type_free(&sends);
    MPI_Type_free(&receives);
    free(here);
}

/* One block of two allocations, where they are adjacent. */
static void neighbouring(void)
{
    enum { ALLOCATIONS = 8, WHOLE = (2 << 20) / sizeof(double) };
    double *gpu[ALLOCATIONS], *first, *second = NULL, *ends = malloc(2 * sizeof *ends);
    MPI_Datatype type, word;

    for (int i = 0; i < ALLOCATIONS; i++)
        gpu[i] = device_alloc(WHOLE * sizeof(double));
    first = gpu[0];
    for (int i = 0; i < ALLOCATIONS; i++)
        for (int k = 0; k < ALLOCATIONS && !second; k++)
            if (gpu[k] == gpu[i] + WHOLE) {
                first = gpu[i];
                second = gpu[k];
            }
    if (second) {
        ends[0] = rank + 1;
        device_write(first + WHOLE - 1, ends, sizeof *ends);
        device_write(second, ends, sizeof *ends);
        MPI_Type_create_hindexed(2, (int[]){1, 1},
                                 (MPI_Aint[]){(MPI_Aint)(first + WHOLE - 1), (MPI_Aint)second},
                                 MPI_DOUBLE, &type);
        type = committed(type);
        MPI_Type_contiguous(2, MPI_DOUBLE, &word);
        word = committed(word);
        MPI_Sendrecv(MPI_BOTTOM, 1, type, to, 0, ends, 1, word, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        wrong += ends[0] != from + 1 || ends[1] != from + 1;
        ends[0] = ends[1] = rank + 2;
        MPI_Sendrecv(ends, 1, word, to, 0, MPI_BOTTOM, 1, type, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        device_read(&ends[0], first + WHOLE - 1, sizeof *ends);
        device_read(&ends[1], second, sizeof *ends);
        wrong += ends[0] != from + 2 || ends[1] != from + 2;
        MPI_Type_free(&word);
        MPI_Type_free(&type);
    }
    for (int i = 0; i < ALLOCATIONS; i++)
        device_free(gpu[i]);
    free(ends);
    result("a block of two allocations");
}

static void broadcast(void)
{
    MPI_Datatype type = columns();

    fill();
    MPI_Bcast(rank ? in : out, 2, type, 0, MPI_COMM_WORLD);
    device_read(host, in, sizeof host);
    for (int i = 0; i < N && rank; i++) { /* an element's extent is 993 */
        const int place = i < 993 ? i : i - 993;

        want(i, place % 10 < 3 && i < 1986 ? i : -1);
    }
    result("a broadcast");
    MPI_Type_free(&type);
}

/* What the ranks give lies in two allocations, and in host memory; what is between is not MPI's. */
static void gather_mixed(void)
{
    double *here = malloc(100 * sizeof *here),
           *all = device_alloc((size_t)size * 200 * sizeof *all);
    double *const got = malloc((size_t)size * 200 * sizeof *got);
    const int lengths[] = {50, 50, 100};
    MPI_Aint places[3];
    MPI_Datatype sends;

    fill();
    for (int i = 0; i < 100; i++)
        here[i] = rank + 0.5;
    MPI_Get_address(out + 10, &places[0]);
    MPI_Get_address(in, &places[1]);
    MPI_Get_address(here, &places[2]);
    MPI_Type_create_hindexed(3, lengths, places, MPI_DOUBLE, &sends);
    MPI_Type_commit(&sends);
    MPI_Allgather(MPI_BOTTOM, 1, sends, all, 200, MPI_DOUBLE, MPI_COMM_WORLD);
    device_read(got, all, (size_t)size * 200 * sizeof *got);
    for (int i = 0; i < size * 200; i++) {
        const int of = i / 200, at = i % 200;

        wrong += got[i] != (at < 50 ? of * 1e6 + 10 + at : at < 100 ? -1 : of + 0.5);
    }
    for (int i = 0; i < 200; i++)
        got[i] = i;
    device_write(all, got, 200 * sizeof *got);
    MPI_Gather(all, 200, MPI_DOUBLE, MPI_BOTTOM, 1, sends, 0, MPI_COMM_SELF);
    device_read(host, out, sizeof host);
    for (int i = 0; i < N; i++)
        want(i, i >= 10 && i < 60 ? i - 10 : rank * 1e6 + i);
    device_read(host, in, sizeof host);
    for (int i = 0; i < N; i++)
        want(i, i < 50 ? i + 50 : -1);
    for (int i = 0; i < 100; i++)
        wrong += here[i] != i + 100;
    result("a collective call from and to two allocations and host memory");
    MPI_Type_free(&sends);
    device_free(all);
    free(here);
    free(got);
}

/* The buffer begins behind its first byte. */
static void from_the_end(void)
{
    MPI_Datatype type;

    MPI_Type_create_hvector(100, 1, -8, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    fill();
    MPI_Sendrecv(out + 99, 1, type, to, 0, in + 99, 1, type, from, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    device_read(host, in, sizeof host);
    for (int i = 0; i < N; i++)
        want(i, i < 100 ? theirs(i) : -1);
    result("a type that goes down in memory");
    MPI_Type_free(&type);
}

/* MPI_DOUBLE_INT is a basic type, and has a gap at its end. */
static void pairs(void)
{
    struct {
        double value;
        int index, gap;
    } *all = (void *)host;

    fill();
    for (int i = 0; i < N / 2; i++) {
        all[i].value = rank * 1e6 + i;
        all[i].index = i;
        all[i].gap = 1;
    }
    device_write(out, host, sizeof host);
    MPI_Sendrecv(out, N / 2, MPI_DOUBLE_INT, to, 0, in, N / 2, MPI_DOUBLE_INT, from, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    device_read(host, in, sizeof host);
    for (int i = 0; i < N / 2; i++)
        if ((all[i].value != theirs(i) || all[i].index != i || all[i].gap == 1) && wrong++ == 0)
            tap_diag("rank %d: pair %d is %g, %d, and %d in its gap", rank, i, all[i].value,
                     all[i].index, all[i].gap);
    result("pairs of a double and an int");
}

/* A member without data lies anywhere, outside of the buffer's memory too, and so does a block of such a type. */
static void empty_members(void)
{
    static const MPI_Aint far[] = {-4096, 8 * N, (MPI_Aint)1 << 50};
    MPI_Datatype nothing, type;

    MPI_Type_contiguous(0, MPI_DOUBLE, &nothing);
    nothing = committed(nothing);
    for (int i = 0; i < 3; i++) {
        MPI_Datatype types[] = {nothing, MPI_DOUBLE, nothing}, of_two[] = {MPI_DOUBLE, nothing};
        int lengths[] = {1, 3, 2}, counts[] = {3, 1}, one[] = {1, 1};
        MPI_Aint places[] = {far[i], 0, -far[i]}, blocks[] = {0, far[i]};
        MPI_Comm pair;

        MPI_Type_create_struct(3, lengths, places, types, &type);
        type = committed(type);
        fill();
        MPI_Sendrecv(out, 1, type, to, 0, in, 1, type, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        device_read(host, in, sizeof host);
        for (int k = 0; k < 4; k++)
            want(k, k < 3 ? theirs(k) : -1);
        MPI_Bcast(out, 1, type, 0, MPI_COMM_WORLD);
        MPI_Type_free(&type);

        /* To and from two neighbours, of which one has data. */
        fill();
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, (int[]){from, from}, one, 2,
                                       (int[]){to, to}, one, MPI_INFO_NULL, 0, &pair);
        MPI_Neighbor_alltoallw(out, counts, blocks, of_two, in, counts, blocks, of_two, pair);
        device_read(host, in, sizeof host);
        for (int k = 0; k < 4; k++)
            want(k, k < 3 ? theirs(k) : -1);
        MPI_Comm_free(&pair);
    }
    MPI_Type_free(&nothing);
    result("members and blocks without data, which lie anywhere");
}

#if MPI_VERSION >= 4
/* The same elements, three of each ten, a hundred times. */
static void large_counts(void)
{
    MPI_Count lengths[100], places[100], bytes[100];
    const MPI_Count sizes[] = {100, 10}, parts[] = {100, 3}, starts[] = {0, 0};
    MPI_Datatype types[8], doubles[100];

    for (int i = 0; i < 100; i++) {
        lengths[i] = 3;
        places[i] = 10 * i;
        bytes[i] = 80 * i;
        doubles[i] = MPI_DOUBLE;
    }
    MPI_Type_vector_c(100, 3, 10, MPI_DOUBLE, &types[0]);
    MPI_Type_create_hvector_c(100, 3, 80, MPI_DOUBLE, &types[1]);
    MPI_Type_indexed_c(100, lengths, places, MPI_DOUBLE, &types[2]);
    MPI_Type_create_hindexed_c(100, lengths, bytes, MPI_DOUBLE, &types[3]);
    MPI_Type_create_indexed_block_c(100, 3, places, MPI_DOUBLE, &types[4]);
    MPI_Type_create_hindexed_block_c(100, 3, bytes, MPI_DOUBLE, &types[5]);
    MPI_Type_create_struct_c(100, lengths, bytes, doubles, &types[6]);
    MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &types[7]);
    for (int i = 0; i < 8; i++) {
        MPI_Type_commit(&types[i]);
        fill();
        MPI_Sendrecv(out, 1, types[i], to, 0, in, 1, types[i], from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        want_columns(300);
        MPI_Type_free(&types[i]);
    }
    result("types that were made with large counts");
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    device_start();
    out = device_alloc(sizeof host);
    in = device_alloc(sizeof host);

    with_gaps();
    half_an_element();
    in_place();
    decreasing();
    mixed(false);
    mixed(true);
    neighbouring();
    broadcast();
    gather_mixed();
    from_the_end();
    pairs();
    empty_members();
#if MPI_VERSION >= 4
    large_counts();
#endif
    device_free(in);
    device_free(out);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
