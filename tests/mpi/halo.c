/* Halo exchanges: every ghost cell is compared with a serial program's. Grids are drawn at
 * random, the same on all ranks. `ranks halo [SEED]`. Ranks whose GPUBIND_ROLE is idle or
 * master have no GPU, and so no part in the grid. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/halo_world.h"
#include "tests/mpi/tests.h"

#define GRIDS 12
#define STEPS 5
#define ROUNDS 3

static int ngpus, me; /* ranks that have a GPU, and this one among them */
static int *names;    /* theirs */

static void find_gpus(void)
{
    int *all = calloc((size_t)job.size, sizeof *all);

    ngpus = 0;
    free(names);
    names = calloc((size_t)job.size, sizeof *names);
    MPI_Allgather(&gpu_count, 1, MPI_INT, all, 1, MPI_INT, job.plain);
    for (int rank = 0; rank < job.size; rank++) {
        if (rank == job.rank)
            me = ngpus;
        if (all[rank])
            names[ngpus++] = rank;
    }
    free(all);
}

static int below(uint64_t *state, int n)
{
    return (int)(random_next(state) % (unsigned)n);
}

/* Any product of ngpus. */
static void cut(struct gpubind_halo_grid *grid, uint64_t *state)
{
    int left = ngpus;

    for (int d = 0; d < grid->ndims; d++) {
        int ranks = d == grid->ndims - 1 ? left : 1 + below(state, left);

        while (left % ranks)
            ranks--;
        grid->ranks[d] = ranks;
        left /= ranks;
    }
}

static struct world any_world(uint64_t *state)
{
    static const MPI_Datatype elements[] = {MPI_INT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX};
    static const enum memory kinds[] = {MEMORY_DEVICE, MEMORY_OURS, MEMORY_OURS, MEMORY_HOST};
    struct world world = {.narrays = 1 + below(state, 3), .uneven = below(state, 2)};
    struct gpubind_halo_grid *grid = &world.grid;

    grid->ndims = 1 + below(state, 3);
    cut(grid, state);
    for (int d = 0; d < 3; d++) {
        grid->periodic[d] = below(state, 2);
        grid->width[d] = below(state, 3);
        world.base[d] = 2 + below(state, d == 2 ? 30 : 8);
    }
    grid->corners = below(state, 2);
    grid->pitch = below(state, 2) * 3;
    grid->element = elements[below(state, 3)];
    grid->flags = world.narrays > 1 && below(state, 2) ? GPUBIND_HALO_IN_TURN : 0;
    world.kind = kinds[below(state, 4)];
    return world;
}

static void run_world(struct world *world, uint64_t seed)
{
    bool good = true;

    for (int step = 0; step < STEPS; step++) {
        const int array = step % world->narrays;
        const bool on_stream = below(&seed, 2);

        world_fill(world, array, step);
        world_exchange(world, array, on_stream);
        good = good &&
               world_holds(world, world->at[array], step, on_stream ? "on the stream" : "started");
    }
}

/* Rounds, each array once, by a graph where one can be made; the neighbours' ways are their own. In turn, the ghost
 * cells of the arrays before the last may be the next round's already. */
static void run_rounds(struct world *world, int step, uint64_t seed)
{
    bool good = true, graph;

    for (int array = (int)(step % world->narrays); array && array < world->narrays; array++, step++)
        world_exchange(world, array, true); /* the round is whole */
    /* A graph's launches are no events of a trace, in which all that is sent is received. */
    graph = below(&seed, 4) > 0 && !getenv("GPUBIND_TRACE") && world_make_graph(world);
    for (int round = 0; round < ROUNDS; round++, step++) {
        for (int array = 0; array < world->narrays; array++)
            world_fill(world, array, step);
        if (graph)
            world_run_graph(world);
        for (int array = 0; array < world->narrays && !graph; array++)
            world_exchange(world, array, below(&seed, 2));
        for (int array = world->grid.flags ? world->narrays - 1 : 0; array < world->narrays && good;
             array++)
            good = world_holds(world, world->at[array], step, graph ? "by a graph" : "in a round");
    }
    world_end_graph(world);
}

static void any_grids(uint64_t seed)
{
    uint64_t state = seed;

    for (int i = 0; i < GRIDS; i++) {
        struct world world = any_world(&state);
        const struct gpubind_halo_grid *grid = &world.grid;

        job_test("%d x %d x %d ranks, %s%s%s, width %d %d %d%s%s%s%s", grid->ranks[0],
                 grid->ndims > 1 ? grid->ranks[1] : 1, grid->ndims > 2 ? grid->ranks[2] : 1,
                 grid->periodic[0] ? "p" : "-", grid->periodic[1] ? "p" : "-",
                 grid->periodic[2] ? "p" : "-", grid->width[0], grid->width[1], grid->width[2],
                 grid->corners ? ", corners" : "", grid->flags ? ", in turn" : "",
                 world.uneven ? ", uneven" : "", world.kind == MEMORY_HOST ? ", host memory" : "");
        if (gpu_count && world_make(&world, MPI_COMM_WORLD, me))
            run_world(&world, state), run_rounds(&world, STEPS, state + (uint64_t)me);
        else if (!gpu_count)
            succeeds(gpubind_halo_create(MPI_COMM_WORLD, grid, 0, NULL, &world.halo),
                     "without a GPU");
        if (gpu_count)
            world_clear(&world);
        else
            expect(!world.halo, "a rank without a GPU has a halo");
        job_result();
    }
}

/* Every place is somebody's, the neighbours of a neighbour are mutual, and an offset of 0
 * is the rank itself. */
static void neighbours(const struct world *world)
{
    int place[3] = {-1, -1, -1}, ranks[3] = {0}, rank, number = 0;
    const int itself[3] = {0};

    succeeds(gpubind_halo_place(world->halo, place, ranks), "place");
    succeeds(gpubind_halo_place(world->halo, NULL, NULL), "place of NULL");
    for (int d = 0; d < world->grid.ndims; d++) {
        is_int(ranks[d], world->grid.ranks[d], "ranks");
        number = number * ranks[d] + place[d];
    }
    is_int(number, me, "the place's number");
    succeeds(gpubind_halo_neighbor(world->halo, itself, &rank), "neighbor");
    is_int(rank, job.rank, "the neighbour at 0");
    for (int d = 0; d < world->grid.ndims; d++)
        for (int side = -1; side <= 1; side += 2) {
            int offset[3] = {0}, other = me, at = place[d] + side;

            offset[d] = side;
            for (int i = world->grid.ndims - 1, step = 1; i >= 0; step *= ranks[i--])
                if (i == d)
                    other += ((at + ranks[d]) % ranks[d] - place[d]) * step;
            if (!world->grid.periodic[d] && (at < 0 || at >= ranks[d]))
                other = -1;
            succeeds(gpubind_halo_neighbor(world->halo, offset, &rank), "neighbor");
            is_int(rank, other < 0 ? MPI_PROC_NULL : names[other], "the neighbour");
        }
}

static void places(void)
{
    uint64_t state = 77;

    for (int i = 0; i < 4; i++) {
        struct world world = any_world(&state);

        job_test("places and neighbours, %d", i);
        if (gpu_count && world_make(&world, MPI_COMM_WORLD, me))
            neighbours(&world);
        else if (!gpu_count)
            succeeds(gpubind_halo_create(MPI_COMM_WORLD, NULL, 0, NULL, &world.halo), "no GPU");
        if (gpu_count)
            world_clear(&world);
        job_result();
    }
}

/* Ranks that nobody chose: their product is right, and rows are cut first. */
static void chosen(void)
{
    struct gpubind_halo_grid grid = {
        .ndims = 2, .cells = {4, 4}, .width = {1, 1}, .element = MPI_DOUBLE};
    int ranks[2] = {0};
    struct buffer array;
    gpubind_halo halo;

    job_test("ranks of 0 are chosen");
    need_buffer(&array, MEMORY_DEVICE, 6 * 6 * sizeof(double));
    succeeds(gpubind_halo_create(MPI_COMM_WORLD, &grid, 1, (void *[]){array.at}, &halo), "create");
    if (gpu_count) {
        succeeds(gpubind_halo_place(halo, NULL, ranks), "place");
        expect(ranks[0] * ranks[1] == ngpus && ranks[0] >= ranks[1], "%d x %d", ranks[0], ranks[1]);
    }
    succeeds(gpubind_halo_free(&halo), "free");
    succeeds(gpubind_halo_free(&halo), "free of GPUBIND_HALO_NULL");
    buffer_clear(&array);
    job_result();
}

void test_halo(void)
{
    find_gpus();
    if (ngpus == 0)
        ngpus = 1; /* for the grids; nobody is in them */
    any_grids(nargs ? (uint64_t)atoi(arguments[0]) : 1);
    places();
    chosen();
}

/* Bytes that the process has of malloc. */
static size_t allocated(void)
{
    const struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* Of a real GPU other processes take memory too: 0. */
static size_t used_on_gpu(void)
{
    size_t left = 0, all = 0;

    if (gpu_is_simulated())
        cuda.cuMemGetInfo_v2(&left, &all);
    return all - left;
}

/* Buffers that are kept, and MPI's, may grow when a rank is late for the first time; what
 * is lost in every exchange is more in every part of them. */
#define PARTS 4
static bool grows(const size_t used[PARTS], size_t least)
{
    for (int i = 1; i < PARTS; i++)
        if (used[i] < used[i - 1] + least)
            return false;
    return true;
}

/* Many exchanges, some on the stream, take no memory that they do not give back.
 * `ranks halo_long STEPS [turn]` */
void test_halo_long(void)
{
    struct world world = {.narrays = 2, .base = {6, 40}, .kind = MEMORY_DEVICE};
    const int steps = nargs ? atoi(arguments[0]) : 1000,
              flags = nargs > 1 ? GPUBIND_HALO_IN_TURN : 0;
    const size_t part = (size_t)steps / PARTS;
    size_t heap[PARTS], gpu[PARTS];

    find_gpus();
    world.grid = (struct gpubind_halo_grid){.ndims = 2,
                                            .ranks = {ngpus, 1},
                                            .periodic = {1, 1},
                                            .width = {1, 1},
                                            .element = MPI_DOUBLE,
                                            .flags = flags};
    job_test("%d exchanges%s: memory stays flat", steps, flags ? ", in turn" : "");
    if (gpu_count && world_make(&world, MPI_COMM_WORLD, me)) {
        world_fill(&world, 0, 1);
        world_fill(&world, 1, 2);
        for (size_t step = 0; step < PARTS * part; step++) {
            world_exchange(&world, step % 2, step % 5 == 0);
            if ((step + 1) % part == 0) {
                heap[step / part] = allocated();
                gpu[step / part] = used_on_gpu();
            }
        }
        expect(!grows(gpu, part), "GPU memory: %zu bytes became %zu", gpu[0], gpu[PARTS - 1]);
        expect(!grows(heap, 8 * part), "%zu bytes became %zu", heap[0], heap[PARTS - 1]);
        world_holds(&world, world.at[0], 1, "at the end");
        world_holds(&world, world.at[1], 2, "at the end");
    }
    world_clear(&world);
    job_result();
}
