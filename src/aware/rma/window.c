#include "aware/rma/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aware/base/next.h"
#include "aware/base/world_ranks.h"
#include "aware/coll/coll_comm.h"
#include "aware/memory/gpu_buffer.h"
#include "aware/memory/gpu_memory.h"
#include "aware/message/outgoing.h"
#include "aware/reduce/gpu_reduction.h"
#include "aware/rma/window_far.h"

int window_refused(MPI_Win win, int result)
{
    PMPI_Win_call_errhandler(win, result);
    return result;
}

/* ---- memory that the ranks share */

static size_t share_bytes(int size)
{
    return sizeof(struct window_share) + (size_t)size * sizeof(uint32_t);
}

static bool make_share(struct window *window)
{
    window->share = direct_make_file("gpubind-aware-window", share_bytes(window->size),
                                     &window->fd);
    return window->share != NULL;
}

static void close_share(struct window *window)
{
    if (window->fd >= 0)
        close(window->fd);
    window->fd = -1;
}

void window_free(struct window *window)
{
    if (!window)
        return;
    for (int i = 0; window->targets && i < window->size; i++)
        if (window->targets[i].share && i != window->rank)
            munmap(window->targets[i].share, share_bytes(window->size));
    if (window->share)
        munmap(window->share, share_bytes(window->size));
    close_share(window);
    window_mirror_free(window->mirror);
    window_far_free(window->far);
    gpu_memory_free(window->allocated);
    world_ranks_release(window->ranks);
    pthread_mutex_destroy(&window->lock);
    pthread_mutex_destroy(&window->ending);
    free(window->targets);
    free(window);
}

/* ---- making one */

static void prepare(struct window *window)
{
    window->fd = -1;
    pthread_mutex_init(&window->lock, NULL);
    pthread_mutex_init(&window->ending, NULL);
}

struct window *window_new_bare(void)
{
    struct window *window = calloc(1, sizeof *window);

    if (window)
        prepare(window);
    return window;
}

/* The others wait for this rank. */
static void *allocate(MPI_Comm comm, size_t n, size_t size)
{
    void *memory = calloc(n, size);

    if (!memory) {
        fprintf(stderr, "gpubind: out of memory for a window\n");
        PMPI_Abort(comm, MPI_ERR_NO_MEM);
    }
    return memory;
}

/* What a rank tells the others. */
struct card {
    uint64_t base;
    int64_t unit;
    int32_t fd; /* -1: it has no memory for this */
    int32_t gpu;
    int32_t failed, unused;
};

static bool map_target(struct window *window, int rank, const struct card *card, int world)
{
    struct window_target *target = &window->targets[rank];

    target->peer = direct_peer_now(world);
    target->ours = card->gpu;
    target->base = card->base;
    target->unit = card->unit;
    target->share = rank == window->rank ? window->share
                    : target->peer
                        ? direct_peer_map(target->peer, card->fd, share_bytes(window->size), true)
                        : NULL;
    return target->share != NULL;
}

/* All ranks have told. */
static int use(struct window *window, const struct card *cards, MPI_Comm comm)
{
    int good = 1, all = 0;

    window->empty = !window->dynamic;
    for (int i = 0; i < window->size; i++) {
        if (cards[i].failed)
            return cards[i].failed;
        window->gpu |= cards[i].gpu != 0;
        window->empty &= cards[i].gpu != 0;
        good &= cards[i].fd >= 0;
    }
    window->gpu |= window->dynamic;
    if (!window->gpu)
        return MPI_SUCCESS;
    for (int i = 0; good && i < window->size; i++)
        good = map_target(window, i, &cards[i], direct_world_rank(comm, i));
    if (CALL_MPI(PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, comm)) != MPI_SUCCESS)
        all = 0;
    return all ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int window_exchange(struct window *window, MPI_Comm comm, MPI_Aint unit, bool gpu, int failed)
{
    struct card *cards = allocate(comm, (size_t)window->size, sizeof *cards);
    const bool good = make_share(window) &&
                      (window->dynamic || window_add_region(window, window->base, window->nbytes));
    const struct card mine = {
        (uintptr_t)window->base, unit, good ? window->fd : -1, gpu, failed, 0};
    int result;

    window->targets = allocate(comm, (size_t)window->size, sizeof *window->targets);
    result = CALL_MPI(
        PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, cards, sizeof mine, MPI_BYTE, comm));
    if (result == MPI_SUCCESS)
        result = use(window, cards, comm);
    close_share(window); /* all have mapped it, or will not */
    free(cards);
    return result;
}

struct window *window_new(MPI_Comm comm, int flavor)
{
    struct window *window = allocate(comm, 1, sizeof *window);

    prepare(window);
    window->dynamic = flavor == MPI_WIN_FLAVOR_DYNAMIC;
    window->flavor = flavor;
    PMPI_Comm_rank(comm, &window->rank);
    PMPI_Comm_size(comm, &window->size);
    return window;
}

struct window *window_new_mirrored(MPI_Comm comm, void *base, MPI_Aint nbytes)
{
    struct window *window = window_new_bare();

    if (!window)
        return NULL;
    window->base = base;
    window->nbytes = nbytes;
    window->model = MPI_WIN_SEPARATE;
    PMPI_Comm_rank(comm, &window->rank);
    return window;
}

/* Others may be out of reach, and do not learn of it. They wait for this rank in MPI's call, so that a window
 * is made in any case: without this rank's memory, where there can be no mirror. */
static void plan_mirror(struct window_plan *plan, MPI_Comm comm)
{
    struct window *window = window_new_mirrored(comm, plan->base, plan->nbytes);

    plan->failed = MPI_ERR_NO_MEM;
    if (window)
        plan->failed = window_mirror_make(&window->mirror, plan->base, (size_t)plan->nbytes);
    if (plan->failed == MPI_SUCCESS) {
        plan->mirrored = window;
        plan->base = window_mirror_memory(window->mirror);
        return;
    }
    window_free(window);
    plan->base = NULL;
    plan->nbytes = 0;
}

static void plan_far(struct window_plan *plan, MPI_Comm comm)
{
    struct window_far *far = window_far_make(comm);

    if (!far)
        return;
    plan->mirrored = window_new(comm, MPI_WIN_FLAVOR_DYNAMIC);
    plan->mirrored->far = far;
    plan->mirrored->model = MPI_WIN_SEPARATE;
}

int window_plan(struct window_plan *plan, MPI_Comm comm, void *base, MPI_Aint nbytes, MPI_Aint unit,
                bool dynamic)
{
    const enum buffer_place place = !dynamic && nbytes > 0 ? buffer_place(base) : BUFFER_HOST;
    int result;

    *plan = (struct window_plan){.base = base, .nbytes = nbytes};
    if (is_behind || comm == MPI_COMM_NULL || (!dynamic && (nbytes < 0 || unit <= 0)))
        return MPI_SUCCESS;
    if (!coll_comm_is_near(comm)) {
        if (dynamic)
            plan_far(plan, comm);
        else if (place == BUFFER_GPU)
            plan_mirror(plan, comm);
        return MPI_SUCCESS;
    }
    plan->window = window_new(comm, dynamic ? MPI_WIN_FLAVOR_DYNAMIC : MPI_WIN_FLAVOR_CREATE);
    plan->window->base = base;
    plan->window->nbytes = nbytes;
    if (place == BUFFER_GPU) {
        plan->base = NULL;
        plan->nbytes = 0;
    }
    result = window_exchange(plan->window, comm, dynamic ? 1 : unit, place == BUFFER_GPU,
                             MPI_SUCCESS);
    if (result != MPI_SUCCESS || !plan->window->gpu) {
        window_free(plan->window);
        plan->window = NULL;
        return result;
    }
    outgoing_serve();
    gpu_reduction_prepare(place == BUFFER_GPU ? base : NULL);
    return MPI_SUCCESS;
}

int window_make_empty(struct window_plan *plan, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                      MPI_Win *win)
{
    struct window *window = plan->window;
    void *none;

    window->empty = true;
    for (int i = 0; i < window->size; i++)
        window->targets[i].ours = true;
    return CALL_MPI(PMPI_Win_allocate(0, (int)unit, info, comm, &none, win));
}

/* All ranks' sizes may be the same, and MPI has none of some ranks' memory. */
MPI_Info window_info_begin(const struct window_plan *plan, MPI_Info info)
{
    static const char *const key = "same_size";
    MPI_Info changed = info;
    int length, there = 0;

    if (!plan->window || info == MPI_INFO_NULL ||
        PMPI_Info_get_valuelen(info, key, &length, &there) != MPI_SUCCESS || !there ||
        PMPI_Info_dup(info, &changed) != MPI_SUCCESS)
        return info;
    PMPI_Info_delete(changed, key);
    return changed;
}

void window_info_end(MPI_Info given, MPI_Info info)
{
    if (given != info)
        PMPI_Info_free(&given);
}

void window_try_begin(const struct window_plan *plan, MPI_Comm comm, MPI_Errhandler *handler)
{
    if (!plan->window)
        return;
    PMPI_Comm_get_errhandler(comm, handler);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

void window_try_end(const struct window_plan *plan, MPI_Comm comm, MPI_Errhandler *handler)
{
    if (!plan->window)
        return;
    PMPI_Comm_set_errhandler(comm, *handler);
    PMPI_Errhandler_free(handler);
}

/* The window is there, and so the application can free it, whatever is returned. */
static int made_mirrored(const struct window_plan *plan, int result, MPI_Comm comm, MPI_Win win)
{
    if (result != MPI_SUCCESS) {
        window_free(plan->mirrored);
        return result;
    }
    if (plan->failed != MPI_SUCCESS) {
        PMPI_Comm_call_errhandler(comm, plan->failed);
        return plan->failed;
    }
    /* If it fails, MPI still uses the mirror, which is never freed. */
    result = window_remember(plan->mirrored, win);
    return result == MPI_SUCCESS ? result : window_refused(win, result);
}

int window_made(struct window_plan *plan, int result, MPI_Comm comm, MPI_Win win)
{
    if (plan->mirrored || plan->failed != MPI_SUCCESS)
        return made_mirrored(plan, result, comm, win);
    if (!plan->window)
        return result;
    if (result == MPI_SUCCESS) {
        result = window_remember(plan->window, win);
        return result == MPI_SUCCESS ? result : window_refused(win, result);
    }
    window_free(plan->window);
    PMPI_Comm_call_errhandler(comm, result);
    return result;
}
