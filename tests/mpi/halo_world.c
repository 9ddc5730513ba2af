#include "tests/mpi/halo_world.h"

#include <stdlib.h>
#include <string.h>

#define NOTHING (-7)

static int cells_at(const struct world *world, int d, int place)
{
    return world->base[d] + (world->uneven ? (5 * place + d) % 4 : 0);
}

static int value_of(const struct world *world, const int global[3], int step)
{
    int number = 0;

    for (int d = 0; d < 3; d++)
        number = number * world->total[d] + (global[d] + world->total[d]) % world->total[d];
    return number * 31 + step * 1000003;
}

/* What an element is to be; NOTHING: it is not written, by anybody. */
static int wanted(const struct world *world, const int at[3], int step)
{
    const struct gpubind_halo_grid *grid = &world->grid;
    int global[3], sides = 0;

    for (int d = 0; d < 3; d++) {
        const int inside = at[d] - grid->width[d];

        if (inside >= grid->cells[d] + grid->width[d])
            return NOTHING; /* padding */
        global[d] = world->from[d] + inside;
        sides += inside < 0 || inside >= grid->cells[d];
        if (!grid->periodic[d] && (global[d] < 0 || global[d] >= world->total[d]))
            return NOTHING;
    }
    return sides > 1 && !grid->corners ? NOTHING : value_of(world, global, step);
}

static bool is_own(const struct world *world, const int at[3])
{
    for (int d = 0; d < 3; d++)
        if (at[d] < world->grid.width[d] || at[d] >= world->grid.width[d] + world->grid.cells[d])
            return false;
    return true;
}

/* All words of an element differ. */
static void write_element(const struct world *world, char *to, int value)
{
    for (int word = 0; word < world->element_nbytes / (int)sizeof value; word++, value += 17)
        memcpy(to + (size_t)word * sizeof value, &value, sizeof value);
}

static bool next(const struct world *world, int at[3])
{
    for (int d = 2; d >= 0; d--) {
        if (++at[d] < world->length[d])
            return true;
        at[d] = 0;
    }
    return false;
}

static void draw(const struct world *world, char *array, int step, bool ghosts)
{
    int at[3] = {0};

    do {
        const bool there = ghosts || is_own(world, at);

        write_element(world, array, there ? wanted(world, at, step) : NOTHING);
        array += world->element_nbytes;
    } while (next(world, at));
}

void world_image(const struct world *world, char *image, int step)
{
    draw(world, image, step, false);
}

static void blank(struct world *world, int array)
{
    draw(world, world->before, 0, false);
    gpu_put(world->at[array], world->before, world->nbytes);
}

/* Row by row: in turn, ghost cells are the neighbours' to write. */
void world_fill(struct world *world, int array, int step)
{
    const struct gpubind_halo_grid *grid = &world->grid;
    const int last = grid->ndims - 1, row = world->length[last];
    const size_t element = (size_t)world->element_nbytes;
    int at[3] = {0};

    draw(world, world->before, step, false);
    for (size_t first = 0; first < world->nbytes; first += element * (size_t)row) {
        const size_t begin = first + element * (size_t)grid->width[last];

        at[last] = grid->width[last];
        if (is_own(world, at))
            gpu_put((char *)world->at[array] + begin, world->before + begin,
                    element * (size_t)grid->cells[last]);
        at[last] = row - 1;
        next(world, at);
    }
}

bool world_holds(const struct world *world, const void *array, int step, const char *what)
{
    size_t element = 0, nbytes = (size_t)world->element_nbytes;
    int at[3] = {0};

    draw(world, world->before, step, true);
    gpu_get(world->after, array, world->nbytes);
    do {
        const char *got = world->after + element * nbytes, *want = world->before + element * nbytes;
        int values[2];

        element++;
        if (memcmp(got, want, nbytes) == 0)
            continue;
        memcpy(&values[0], got, sizeof(int));
        memcpy(&values[1], want, sizeof(int));
        return expect(false, "%s: element %d %d %d of %d x %d x %d is %d, not %d", what, at[0],
                      at[1], at[2], world->length[0], world->length[1], world->length[2], values[0],
                      values[1]);
    } while (next(world, at));
    return true;
}

/* Where the rank's cells lie in the global array. */
static void take_place(struct world *world, int me)
{
    struct gpubind_halo_grid *grid = &world->grid;

    for (int d = 2; d >= 0; d--) {
        if (d >= grid->ndims) {
            grid->ranks[d] = grid->cells[d] = world->base[d] = 1;
            grid->width[d] = grid->periodic[d] = 0;
        }
        world->place[d] = me % grid->ranks[d];
        me /= grid->ranks[d];
        grid->cells[d] = d < grid->ndims ? cells_at(world, d, world->place[d]) : 1;
        world->length[d] = grid->cells[d] + 2 * grid->width[d];
        world->total[d] = world->from[d] = 0;
        for (int i = 0; i < grid->ranks[d]; i++) {
            const int cells = d < grid->ndims ? cells_at(world, d, i) : 1;

            world->from[d] += i < world->place[d] ? cells : 0;
            world->total[d] += cells;
        }
    }
    if (grid->pitch) /* so many more than are needed */
        world->length[grid->ndims - 1] = grid->pitch += world->length[grid->ndims - 1];
}

bool world_make(struct world *world, MPI_Comm comm, int me)
{
    take_place(world, me);
    MPI_Type_size(world->grid.element, &world->element_nbytes);
    world->nbytes = (size_t)world->length[0] * (size_t)world->length[1] * (size_t)world->length[2] *
                    (size_t)world->element_nbytes;
    for (int i = 0; i < world->narrays; i++) {
        need_buffer(&world->arrays[i], world->kind, world->nbytes);
        world->at[i] = world->arrays[i].at;
    }
    world->before = malloc(world->nbytes);
    world->after = malloc(world->nbytes);
    for (int i = 0; i < world->narrays; i++)
        blank(world, i);
    if (gpu_count)
        cuda.cuStreamCreate(&world->stream, CUDA_STREAM_NON_BLOCKING);
    return succeeds(
               gpubind_halo_create(comm, &world->grid, world->narrays, world->at, &world->halo),
               "halo_create") &&
           expect(world->halo != GPUBIND_HALO_NULL, "no halo");
}

void world_clear(struct world *world)
{
    succeeds(gpubind_halo_free(&world->halo), "halo_free");
    expect(world->halo == GPUBIND_HALO_NULL, "halo_free leaves the handle");
    for (int i = 0; i < world->narrays; i++) {
        expect(buffer_untouched(&world->arrays[i], world->nbytes), "written behind array %d", i);
        buffer_clear(&world->arrays[i]);
    }
    free(world->before);
    free(world->after);
    if (gpu_count)
        cuda.cuStreamDestroy_v2(world->stream);
}

/* What goes by MPI needs threads there. */
bool world_queue(struct world *world, int array)
{
    const int status = gpubind_halo_exchange_on_stream(world->halo, array, world->stream);

    if (status != MPI_SUCCESS && job.threads < MPI_THREAD_MULTIPLE &&
        strstr(gpubind_error_text(), "MPI_THREAD_MULTIPLE"))
        return false;
    return succeeds(status, "exchange_on_stream");
}

void world_exchange(struct world *world, int array, bool on_stream)
{
    if (on_stream && world_queue(world, array)) {
        cuda.cuStreamSynchronize(world->stream);
    } else {
        succeeds(gpubind_halo_start(world->halo, array), "halo_start");
        succeeds(gpubind_halo_wait(world->halo), "halo_wait");
    }
}

/* Refusals are those that gpubind_startall_on_stream has for captures. */
static bool capture(struct world *world, int array)
{
    const int status = gpubind_halo_exchange_on_stream(world->halo, array, world->stream);

    if (status != MPI_SUCCESS && !strstr(gpubind_error_text(), "not started yet") &&
        !strstr(gpubind_error_text(), "cannot be captured"))
        return succeeds(status, "exchange_on_stream in a capture");
    return status == MPI_SUCCESS;
}

bool world_make_graph(struct world *world)
{
    struct CUgraph_st *graph = NULL;
    bool good = true;

    world->graph = NULL;
    if (!gpu_count || !cuda.cuGraphLaunch ||
        cuda.cuStreamBeginCapture_v2(world->stream, CUDA_CAPTURE_RELAXED))
        return false;
    for (int array = 0; array < world->narrays && good; array++)
        good = capture(world, array);
    expect(cuda.cuStreamEndCapture(world->stream, &graph) == CUDA_OK, "the capture is spoilt");
    if (graph && good)
        cuda.cuGraphInstantiateWithFlags(&world->graph, graph, 0);
    if (graph)
        cuda.cuGraphDestroy(graph);
    return world->graph;
}

void world_run_graph(struct world *world)
{
    is_int(cuda.cuGraphLaunch(world->graph, world->stream), CUDA_OK, "cuGraphLaunch");
    is_int(cuda.cuStreamSynchronize(world->stream), CUDA_OK, "cuStreamSynchronize");
}

void world_end_graph(struct world *world)
{
    if (world->graph)
        cuda.cuGraphExecDestroy(world->graph);
    world->graph = NULL;
}
