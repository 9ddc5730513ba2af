/* Collective calls, each rank with memory of its own kinds. */
#include <stdlib.h>
#include <string.h>

#include "tests/aware/soak.h"

enum { RANKS_MOST = 8 };

struct collective {
    size_t nbytes; /* a rank's block */
    int root;
    uint64_t seed;
    bool in_place, later, sums; /* sums: a reduction adds numbers of 4 bytes, else exclusive or */
    struct buffer one, all,
        out; /* a block, a block of each rank, and what comes out of a reduction */
    MPI_Request request;
};

static uint64_t seed_of(const struct collective *c, int from, int to)
{
    return c->seed + 100 * (uint64_t)from + (uint64_t)to;
}

static void has_block(const struct collective *c, const struct buffer *buffer, int number,
                      uint64_t seed, const char *what)
{
    expect(buffer_holds(buffer, (size_t)number * c->nbytes, c->nbytes, seed, NULL), "%s, block %d",
           what, number);
}

/* CALL(name, arguments): it or its nonblocking form. */
#define CALL(name, ...)                                          \
    (c->later ? MPI_I##name(__VA_ARGS__, job.plain, &c->request) \
              : MPI_##name##_(__VA_ARGS__, job.plain))
#define MPI_bcast_ MPI_Bcast
#define MPI_allgather_ MPI_Allgather
#define MPI_gather_ MPI_Gather
#define MPI_scatter_ MPI_Scatter
#define MPI_alltoall_ MPI_Alltoall
#define MPI_alltoallv_ MPI_Alltoallv
#define MPI_allgatherv_ MPI_Allgatherv
#define MPI_allreduce_ MPI_Allreduce
#define MPI_reduce_ MPI_Reduce
#define MPI_scan_ MPI_Scan

static void finish(struct collective *c)
{
    if (c->later)
        MPI_Wait(&c->request, MPI_STATUS_IGNORE);
}

static void bcast(struct collective *c)
{
    if (job.rank == c->root)
        buffer_fill(&c->one, 0, c->nbytes, c->seed);
    CALL(bcast, c->one.at, (int)c->nbytes, MPI_BYTE, c->root);
    finish(c);
    has_block(c, &c->one, 0, c->seed, "MPI_Bcast");
}

static void allgather(struct collective *c)
{
    const int n = (int)c->nbytes;

    buffer_fill(&c->one, 0, c->nbytes, seed_of(c, job.rank, 0));
    buffer_fill(&c->all, (size_t)job.rank * c->nbytes, c->nbytes, seed_of(c, job.rank, 0));
    if (c->in_place)
        CALL(allgather, MPI_IN_PLACE, 0, MPI_BYTE, c->all.at, n, MPI_BYTE);
    else
        CALL(allgather, c->one.at, n, MPI_BYTE, c->all.at, n, MPI_BYTE);
    finish(c);
    for (int i = 0; i < job.size; i++)
        has_block(c, &c->all, i, seed_of(c, i, 0), "MPI_Allgather");
}

/* Every other rank has nothing, and the blocks lie in reverse order. */
static void allgatherv(struct collective *c)
{
    int counts[RANKS_MOST], displacements[RANKS_MOST];

    for (int i = 0; i < job.size; i++) {
        counts[i] = i % 2 ? 0 : (int)c->nbytes;
        displacements[i] = (job.size - 1 - i) * (int)c->nbytes;
    }
    buffer_fill(&c->one, 0, c->nbytes, seed_of(c, job.rank, 0));
    CALL(allgatherv, c->one.at, counts[job.rank], MPI_BYTE, c->all.at, counts, displacements,
         MPI_BYTE);
    finish(c);
    for (int i = 0; i < job.size; i += 2)
        has_block(c, &c->all, job.size - 1 - i, seed_of(c, i, 0), "MPI_Allgatherv");
}

static void gather(struct collective *c)
{
    buffer_fill(&c->one, 0, c->nbytes, seed_of(c, job.rank, 0));
    CALL(gather, c->one.at, (int)c->nbytes, MPI_BYTE, c->all.at, (int)c->nbytes, MPI_BYTE, c->root);
    finish(c);
    for (int i = 0; i < job.size && job.rank == c->root; i++)
        has_block(c, &c->all, i, seed_of(c, i, 0), "MPI_Gather");
}

static void scatter(struct collective *c)
{
    for (int i = 0; i < job.size && job.rank == c->root; i++)
        buffer_fill(&c->all, (size_t)i * c->nbytes, c->nbytes, seed_of(c, 0, i));
    CALL(scatter, c->all.at, (int)c->nbytes, MPI_BYTE, c->one.at, (int)c->nbytes, MPI_BYTE,
         c->root);
    finish(c);
    has_block(c, &c->one, 0, seed_of(c, 0, job.rank), "MPI_Scatter");
}

static void alltoall(struct collective *c)
{
    const int n = (int)c->nbytes;

    for (int i = 0; i < job.size; i++) {
        buffer_fill(&c->all, (size_t)i * c->nbytes, c->nbytes, seed_of(c, job.rank, i));
        buffer_fill(&c->out, (size_t)i * c->nbytes, c->nbytes, seed_of(c, job.rank, i));
    }
    if (c->in_place)
        CALL(alltoall, MPI_IN_PLACE, 0, MPI_BYTE, c->out.at, n, MPI_BYTE);
    else
        CALL(alltoall, c->all.at, n, MPI_BYTE, c->out.at, n, MPI_BYTE);
    finish(c);
    for (int i = 0; i < job.size; i++)
        has_block(c, &c->out, i, seed_of(c, i, job.rank), "MPI_Alltoall");
}

static void alltoallv(struct collective *c)
{
    int counts[RANKS_MOST], displacements[RANKS_MOST];

    for (int i = 0; i < job.size; i++) {
        counts[i] = (i + job.rank) % 3 ? (int)c->nbytes : 0;
        displacements[i] = i * (int)c->nbytes;
        buffer_fill(&c->all, (size_t)i * c->nbytes, c->nbytes, seed_of(c, job.rank, i));
    }
    CALL(alltoallv, c->all.at, counts, displacements, MPI_BYTE, c->out.at, counts, displacements,
         MPI_BYTE);
    finish(c);
    for (int i = 0; i < job.size; i++)
        if (counts[i])
            has_block(c, &c->out, i, seed_of(c, i, job.rank), "MPI_Alltoallv");
}

/* Of operations on characters, Open MPI 4.1 adds with saturation, and MPICH 4.0 compares signed ones. */
static void add(char *sum, const char *more, size_t nbytes)
{
    for (size_t i = 0; i + sizeof(unsigned) <= nbytes; i += sizeof(unsigned)) {
        unsigned a, b;

        memcpy(&a, sum + i, sizeof a);
        memcpy(&b, more + i, sizeof b);
        a += b;
        memcpy(sum + i, &a, sizeof a);
    }
}

/* The sum, or the exclusive or, of the blocks of the first n ranks. */
static void has_reduced(const struct collective *c, int n, const char *what)
{
    char *bytes = malloc(3 * c->nbytes + 1), *more = bytes + c->nbytes, *got = more + c->nbytes;

    memset(bytes, 0, c->nbytes);
    for (int rank = 0; rank < n; rank++) {
        bytes_of_seed(more, c->nbytes, seed_of(c, rank, 0));
        for (size_t i = 0; i < c->nbytes && !c->sums; i++)
            bytes[i] = (char)(bytes[i] ^ more[i]);
        if (c->sums)
            add(bytes, more, c->nbytes);
    }
    gpu_get(got, c->out.at, c->nbytes);
    expect(memcmp(bytes, got, c->sums ? c->nbytes / 4 * 4 : c->nbytes) == 0, "%s", what);
    free(bytes);
}

/* MPICH 4.0 itself crashes in a large reduction in place at another root. */
#ifdef MPICH_VERSION
#define ROOT_IN_PLACE(root) ((root) == 0)
#else
#define ROOT_IN_PLACE(root) true
#endif

static void reduce(struct collective *c)
{
    const int n = (int)(c->sums ? c->nbytes / 4 : c->nbytes), kind = (int)(c->seed % 3);
    const bool in_place = c->in_place &&
                          (kind != 1 || (job.rank == c->root && ROOT_IN_PLACE(c->root)));
    const MPI_Datatype type = c->sums ? MPI_UNSIGNED : MPI_BYTE;
    const void *from = in_place ? MPI_IN_PLACE : c->one.at;
    const MPI_Op op = c->sums ? MPI_SUM : MPI_BXOR;

    buffer_fill(&c->one, 0, c->nbytes, seed_of(c, job.rank, 0));
    buffer_fill(&c->out, 0, c->nbytes, seed_of(c, job.rank, 0));
    if (kind == 0)
        CALL(allreduce, from, c->out.at, n, type, op);
    else if (kind == 1)
        CALL(reduce, from, c->out.at, n, type, op, c->root);
    else
        CALL(scan, from, c->out.at, n, type, op);
    finish(c);
    if (kind != 1 || job.rank == c->root)
        has_reduced(c, kind == 2 ? job.rank + 1 : job.size, "a reduction");
}

void collective(void)
{
    static void (*const all[])(struct collective *) = {
        bcast, allgather, allgatherv, gather, scatter, alltoall, alltoallv, reduce, reduce};
    const unsigned which = draw(sizeof all / sizeof *all);
    const bool large = draw(2), alike = draw(2); /* GPU memory on all ranks */
    struct collective c = {.nbytes = draw_size() / 4, .root = (int)draw((unsigned)job.size)};

    job_at("collective %ld", ncollectives);
    c.seed = draw_seed();
    c.in_place = draw(2);
    c.later = draw(4) == 0;
    c.sums = draw(2);
    if (large)
        c.nbytes = 8192 + draw(LARGE / 8);
    for (int rank = 0; rank < job.size; rank++) { /* each has memory of its own kinds */
        enum memory kinds[] = {draw_memory(), draw_memory(), draw_memory()};

        if (rank != job.rank)
            continue;
        for (int i = 0; i < 3 && alike; i++)
            kinds[i] = MEMORY_DEVICE;
        need_buffer(&c.one, kinds[0], c.nbytes);
        need_buffer(&c.all, kinds[1], c.nbytes * (size_t)job.size);
        need_buffer(&c.out, kinds[2], c.nbytes * (size_t)job.size);
    }
    all[which](&c);
    buffer_clear(&c.one);
    buffer_clear(&c.all);
    buffer_clear(&c.out);
    ncollectives++;
}
