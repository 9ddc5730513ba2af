/* The soak's windows and halos, and memory that lives as long as a message. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/halo_world.h"
#include "tests/mpi/soak.h"

enum { TURNS = 3, CAME = 0, USED = 1 /* signals, one each for every rank */ };

/* ---- windows: everybody puts to somebody each turn, when that has used what came before */

struct puts {
    gpubind_win win;
    int by;
    size_t nbytes, offset; /* of a put */
    uint64_t seed;
    struct slot staged[TURNS], results[TURNS], got;
};

static int rank_at(const struct work *work, int by)
{
    return ((work->rank + by) % work->size + work->size) % work->size;
}

static uint64_t put_seed(const struct puts *puts, int rank, int turn)
{
    return soak_seed(puts->seed, 100 * rank + turn);
}

static void window_make(struct work *work)
{
    struct puts *puts = work->data = soak_zeros(1, sizeof *puts);
    uint64_t *state = &work->state;

    puts->by = below(state, work->size);
    puts->nbytes = soak_draw_size(state);
    puts->offset = (size_t)below(state, 300);
    puts->seed = soak_seed(*state, 0);
    succeeds(gpubind_win_allocate(work->comm,
                                  puts->offset + puts->nbytes + (size_t)below(&work->own, 5000), 2,
                                  &puts->win),
             "win_allocate");
    for (int turn = 0; turn < TURNS; turn++) {
        slot_make_on_gpu(&puts->staged[turn], layout_dense(puts->nbytes));
        slot_make_on_gpu(&puts->results[turn], layout_dense(puts->nbytes));
        slot_fill(&puts->staged[turn], put_seed(puts, work->rank, turn));
    }
    slot_make(&puts->got, random_next(&work->own), layout_dense(puts->nbytes));
}

/* Stream 0 puts, stream 1 uses what came. */
static void put_and_use(struct work *work, int turn)
{
    struct puts *puts = work->data;
    const int to = rank_at(work, puts->by), from = rank_at(work, -puts->by);
    const unsigned number = (unsigned)turn + 1;
    struct CUstream_st *out = soak_streams[0], *in = soak_streams[1];

    succeeds(gpubind_wait_signal_on_stream(USED, number - 1, puts->win, out),
             "wait_signal of used");
    if (below(&work->own, 2)) {
        succeeds(gpubind_put_signal_on_stream(slot_at(&puts->staged[turn]), puts->nbytes, CAME,
                                              number, to, puts->offset, puts->win, out),
                 "put_signal of %zu bytes", puts->nbytes);
    } else {
        succeeds(gpubind_put_on_stream(slot_at(&puts->staged[turn]), puts->nbytes, to, puts->offset,
                                       puts->win, out),
                 "put of %zu bytes", puts->nbytes);
        succeeds(gpubind_signal_on_stream(CAME, number, to, puts->win, out), "signal");
    }
    succeeds(gpubind_wait_signal_on_stream(CAME, number, puts->win, in), "wait_signal");
    succeeds(gpubind_get_on_stream(slot_at(&puts->results[turn]), puts->nbytes, work->rank,
                                   puts->offset, puts->win, in),
             "get of my own");
    succeeds(gpubind_signal_on_stream(USED, number, from, puts->win, in), "signal of used");
}

static void get_of_others(struct work *work)
{
    struct puts *puts = work->data;

    succeeds(gpubind_get_on_stream(slot_at(&puts->got), puts->nbytes, rank_at(work, 1),
                                   puts->offset, puts->win, soak_streams[0]),
             "get of the next rank's");
    soak_drain(soak_streams[0]);
}

static void window_step(struct work *work, int step)
{
    if (step < TURNS) {
        put_and_use(work, step);
    } else if (step == TURNS) {
        soak_drain(soak_streams[0]);
        soak_drain(soak_streams[1]);
        MPI_Barrier(work->comm);
    } else {
        get_of_others(work);
    }
}

static void window_look(struct work *work)
{
    struct puts *puts = work->data;
    const int from = rank_at(work, -puts->by);

    for (int turn = 0; turn < TURNS; turn++) {
        slot_expect(&puts->results[turn], puts->nbytes, put_seed(puts, from, turn),
                    "turn %d put by %d", turn, from);
        slot_clear(&puts->staged[turn]);
        slot_clear(&puts->results[turn]);
    }
    slot_expect(&puts->got, puts->nbytes, put_seed(puts, rank_at(work, 1 - puts->by), TURNS - 1),
                "got");
    slot_clear(&puts->got);
    succeeds(gpubind_win_free(&puts->win), "win_free");
}

const struct kind soak_windows = {"windows",   2,           SOAK_ON_STREAMS, TURNS + 2,
                                  window_make, window_step, window_look};

/* ---- halos: by start and wait in two steps, or on streams */

struct grid {
    struct world world;
    bool there, queued;
    int stream;
};

static void cut(struct gpubind_halo_grid *grid, uint64_t *state, int left)
{
    for (int d = 0; d < grid->ndims; d++) {
        int ranks = d == grid->ndims - 1 ? left : 1 + below(state, left);

        while (left % ranks)
            ranks--;
        grid->ranks[d] = ranks;
        left /= ranks;
    }
}

static void halo_make(struct work *work)
{
    static const MPI_Datatype elements[] = {MPI_INT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX};
    struct grid *made = work->data = soak_zeros(1, sizeof *made);
    struct world *world = &made->world;
    uint64_t *state = &work->state;

    world->narrays = 1 + below(state, 2);
    world->uneven = below(state, 2);
    world->kind = below(&work->own, 2) ? MEMORY_DEVICE : MEMORY_OURS;
    world->grid.ndims = 1 + below(state, 3);
    cut(&world->grid, state, work->size);
    for (int d = 0; d < 3; d++) {
        world->grid.periodic[d] = below(state, 2);
        world->grid.width[d] = below(state, 3);
        world->base[d] = 2 + below(state, d == 2 ? 60 : 10);
    }
    world->grid.corners = below(state, 2);
    world->grid.pitch = 3 * below(state, 2);
    world->grid.element = elements[below(state, 3)];
    world->grid.flags = world->narrays > 1 && below(state, 2) ? GPUBIND_HALO_IN_TURN : 0;
    made->there = world_make(world, work->comm, work->rank);
}

static void halo_end(struct grid *made, int turn)
{
    struct world *world = &made->world;

    if (made->queued)
        soak_drain(soak_streams[made->stream]);
    else
        succeeds(gpubind_halo_wait(world->halo), "halo_wait");
    soak_count++;
    world_holds(world, world->at[turn % world->narrays], turn,
                made->queued ? "on a stream" : "started");
}

static void halo_step(struct work *work, int step)
{
    struct grid *made = work->data;
    struct world *world = &made->world;
    const int array = step % world->narrays;

    if (!made->there)
        return;
    if (step > 0)
        halo_end(made, step - 1);
    if (step == TURNS)
        return;
    world_fill(world, array, step);
    made->queued = below(&work->state, 2);
    made->stream = below(&work->state, SOAK_STREAMS);
    if (made->queued)
        succeeds(gpubind_halo_exchange_on_stream(world->halo, array, soak_streams[made->stream]),
                 "halo_exchange_on_stream");
    else
        succeeds(gpubind_halo_start(world->halo, array), "halo_start");
}

static void halo_look(struct work *work)
{
    struct grid *made = work->data;

    world_clear(&made->world);
}

const struct kind soak_halos = {"halos",   2,         SOAK_ON_STREAMS, TURNS + 1,
                                halo_make, halo_step, halo_look};

/* ---- memory of the library's, and of pools in the order of streams */

struct lives {
    int by;
    size_t nbytes;
    uint64_t seed;
    struct slot staged, results[TURNS];
    void *out[TURNS], *in[TURNS];
    struct pending pending;
};

static void life_make(struct work *work)
{
    struct lives *lives = work->data = soak_zeros(1, sizeof *lives);
    uint64_t *state = &work->state;

    lives->by = below(state, work->size);
    lives->nbytes = 1 + soak_draw_size(state) / 2;
    lives->seed = soak_seed(*state, 0);
    slot_make_on_gpu(&lives->staged, layout_dense(lives->nbytes));
    slot_fill(&lives->staged, soak_seed(lives->seed, work->rank));
    for (int turn = 0; turn < TURNS; turn++)
        slot_make_on_gpu(&lives->results[turn], layout_dense(lives->nbytes));
}

static cuda_address address(const void *at)
{
    return (cuda_address)(uintptr_t)at;
}

/* What a stream will free the driver copies no more; the library's kernels do. */
static bool may_be_freed_early(void)
{
    return !gpu_is_simulated() || getenv("GPUBIND_SIM_KERNELS");
}

static void free_in_stream(cuda_address memory, struct CUstream_st *stream)
{
    if (!may_be_freed_early())
        cuda.cuStreamSynchronize(stream);
    cuda.cuMemFreeAsync(memory, stream);
}

/* Allocated, sent or filled, and freed, all in a stream. */
static void life_on_stream(struct work *work, int turn)
{
    struct lives *lives = work->data;
    const int n = (int)lives->nbytes, to = rank_at(work, lives->by),
              from = rank_at(work, -lives->by);
    struct CUstream_st *out = soak_streams[0], *in = soak_streams[1];
    cuda_address sent, got;

    if (!cuda.cuMemAllocAsync || cuda.cuMemAllocAsync(&sent, lives->nbytes, out) != CUDA_OK)
        sent = address(lives->staged.view.at);
    else
        cuda.cuMemcpyDtoDAsync_v2(sent, address(lives->staged.view.at), lives->nbytes, out);
    if (!cuda.cuMemAllocAsync || cuda.cuMemAllocAsync(&got, lives->nbytes, in) != CUDA_OK)
        got = address(lives->results[turn].view.at);
    succeeds(gpubind_send_on_stream((void *)(uintptr_t)sent, n, MPI_BYTE, to, work->tag + turn,
                                    work->comm, out),
             "send_on_stream");
    succeeds(gpubind_recv_on_stream((void *)(uintptr_t)got, n, MPI_BYTE, from, work->tag + turn,
                                    work->comm, in),
             "recv_on_stream");
    if (sent != address(lives->staged.view.at))
        free_in_stream(sent, out);
    if (got == address(lives->results[turn].view.at))
        return;
    cuda.cuMemcpyDtoDAsync_v2(address(lives->results[turn].view.at), got, lives->nbytes, in);
    free_in_stream(got, in);
}

static void life_begin(struct work *work, int turn)
{
    struct lives *lives = work->data;
    const int n = (int)lives->nbytes, to = rank_at(work, lives->by),
              from = rank_at(work, -lives->by);
    char *bytes = soak_zeros(1, lives->nbytes);

    lives->pending.n = 0;
    succeeds(gpubind_alloc(&lives->out[turn], lives->nbytes), "alloc of %d bytes", n);
    succeeds(gpubind_alloc(&lives->in[turn], lives->nbytes), "alloc of %d bytes", n);
    bytes_of_seed(bytes, lives->nbytes, soak_seed(lives->seed, work->rank));
    gpu_put(lives->out[turn], bytes, lives->nbytes);
    free(bytes);
    succeeds(gpubind_irecv(lives->in[turn], n, MPI_BYTE, from, work->tag + turn, work->comm,
                           pending_add(&lives->pending)),
             "irecv");
    succeeds(gpubind_isend(lives->out[turn], n, MPI_BYTE, to, work->tag + turn, work->comm,
                           pending_add(&lives->pending)),
             "isend");
}

static void life_end(struct work *work, int turn)
{
    struct lives *lives = work->data;
    char *bytes = soak_zeros(1, lives->nbytes);

    if (!lives->in[turn])
        return;
    pending_end(&lives->pending, &work->own);
    gpu_get(bytes, lives->in[turn], lives->nbytes);
    gpu_put(lives->results[turn].view.at, bytes, lives->nbytes);
    free(bytes);
    succeeds(gpubind_free(lives->out[turn]), "free");
    succeeds(gpubind_free(lives->in[turn]), "free");
}

static void life_step(struct work *work, int step)
{
    if (step > 0)
        life_end(work, step - 1);
    if (step == TURNS) {
        soak_drain(soak_streams[0]);
        soak_drain(soak_streams[1]);
    } else if (below(&work->state, 2)) {
        life_on_stream(work, step);
    } else {
        life_begin(work, step);
    }
}

static void peers_look(struct work *work)
{
    struct lives *lives = work->data;
    const int from = rank_at(work, -lives->by);

    for (int turn = 0; turn < TURNS; turn++) {
        slot_expect(&lives->results[turn], lives->nbytes, soak_seed(lives->seed, from),
                    "turn %d from %d, %s", turn, from,
                    lives->in[turn] ? "gpubind_alloc" : "in streams");
        slot_clear(&lives->results[turn]);
    }
    slot_clear(&lives->staged);
}

const struct kind soak_memory = {"memory",  2,         SOAK_ON_STREAMS, TURNS + 1,
                                 life_make, life_step, peers_look};
