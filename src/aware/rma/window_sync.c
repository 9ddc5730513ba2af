#include "aware/rma/window_sync.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "aware/message/direct_memory.h"
#include "aware/request/calls.h"

#define LOOKS 4096 /* between two questions whether all ranks live */

/* Nobody would end the wait. */
static bool is_hopeless(const struct window *window, unsigned spins)
{
    for (int i = 0; spins % LOOKS == 0 && i < window->size; i++)
        if (!direct_peer_lives(window->targets[i].peer)) {
            fprintf(stderr,
                    "gpubind: a call of one-sided communication ends: the process of rank %d of "
                    "MPI_COMM_WORLD, which has a part in the window, has ended\n",
                    window->targets[i].peer->segment->rank);
            return true;
        }
    return false;
}

int window_settle(struct window *window)
{
    int status = 0;

    for (int i = 0; i < WINDOW_REGIONS; i++) {
        const struct window_region *region = &window->share->regions[i];

        if (window_region_is_used(region))
            status |= direct_settle((const void *)(uintptr_t)region->start);
        if (!window->dynamic)
            break;
    }
    return status == 0 ? MPI_SUCCESS : MPI_ERR_BUFFER;
}

/* ---- the application's epochs of both sides */

/* Ranks of the window, malloc'ed; NULL: out of memory, or of a group that is none. */
static int *ranks_of(const struct window *window, MPI_Group group, int *n)
{
    MPI_Group all = MPI_GROUP_NULL;
    int *from, *to;

    if (group == MPI_GROUP_NULL || PMPI_Group_size(group, n) != MPI_SUCCESS)
        return NULL;
    from = malloc(((size_t)*n + 1) * sizeof *from);
    to = malloc(((size_t)*n + 1) * sizeof *to);
    for (int i = 0; from && i < *n; i++)
        from[i] = i;
    if (!from || !to || PMPI_Win_get_group(window->win, &all) != MPI_SUCCESS ||
        PMPI_Group_translate_ranks(group, *n, from, all, to) != MPI_SUCCESS) {
        free(to);
        to = NULL;
    }
    if (all != MPI_GROUP_NULL)
        PMPI_Group_free(&all);
    free(from);
    return to;
}

int window_posts(struct window *window, MPI_Group origins)
{
    int n, *ranks = ranks_of(window, origins, &n), result;

    if (!ranks)
        return MPI_ERR_GROUP;
    result = window_settle(window);
    for (int i = 0; i < n; i++)
        if (ranks[i] != MPI_UNDEFINED)
            atomic_fetch_add(&window->share->posts[ranks[i]], 1);
    free(ranks);
    return result;
}

int window_starts(struct window *window, MPI_Group targets, int assert)
{
    int n, *ranks = ranks_of(window, targets, &n);

    if (!ranks)
        return MPI_ERR_GROUP;
    for (int i = 0; i < n; i++)
        if (ranks[i] != MPI_UNDEFINED) {
            struct window_target *target = &window->targets[ranks[i]];

            target->started = true;
            target->expected = (assert &MPI_MODE_NOCHECK) != 0;
            target->starts++;
        }
    free(ranks);
    return MPI_SUCCESS;
}

void window_completes(struct window *window)
{
    for (int i = 0; i < window->size; i++)
        window->targets[i].started = false;
}

static int await_post(struct window *window, struct window_target *target)
{
    const _Atomic uint32_t *posts = &target->share->posts[window->rank];

    for (unsigned spins = 1; (int32_t)(atomic_load(posts) - target->starts) < 0; spins++) {
        progress_idle(spins);
        if (is_hopeless(window, spins))
            return MPI_ERR_RMA_SYNC;
    }
    target->expected = true;
    return MPI_SUCCESS;
}

int window_enter(struct window *window, int rank)
{
    struct window_target *target = &window->targets[rank];

    if (target->held != WINDOW_FREE || window->all_locked)
        return MPI_SUCCESS;
    if (target->started)
        return target->expected ? MPI_SUCCESS : await_post(window, target);
    return window->fenced ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
}

/* ---- locks */

static bool try_exclusive(struct window_share *share)
{
    return atomic_compare_exchange_strong(&share->lock, &(uint32_t){0}, WINDOW_WRITER);
}

/* So often a shared lock gives way to those who wait for an exclusive one; not for ever, as these may wait for
 * one who has a shared lock, and waits for this rank. */
#define GIVES_WAY 1000

static bool try_shared(struct window_share *share, unsigned spins)
{
    uint32_t now = atomic_load(&share->lock);

    return now != WINDOW_WRITER && (spins > GIVES_WAY || atomic_load(&share->writers) == 0) &&
           atomic_compare_exchange_strong(&share->lock, &now, now + 1);
}

static int take_shared(struct window *window, struct window_share *share)
{
    for (unsigned spins = 1; !try_shared(share, spins); spins++) {
        progress_idle(spins);
        if (is_hopeless(window, spins))
            return MPI_ERR_RMA_SYNC;
    }
    return MPI_SUCCESS;
}

static int take_exclusive(struct window *window, struct window_share *share)
{
    int result = MPI_SUCCESS;

    atomic_fetch_add(&share->writers, 1);
    for (unsigned spins = 1; !try_exclusive(share) && result == MPI_SUCCESS; spins++) {
        progress_idle(spins);
        if (is_hopeless(window, spins))
            result = MPI_ERR_RMA_SYNC;
    }
    atomic_fetch_sub(&share->writers, 1);
    return result;
}

int window_lock(struct window *window, int rank, int type, int assert)
{
    struct window_target *target = &window->targets[rank];
    const bool exclusive = type == MPI_LOCK_EXCLUSIVE;
    int result = MPI_SUCCESS;

    if (target->held != WINDOW_FREE || window->all_locked)
        return MPI_ERR_RMA_SYNC;
    if (!exclusive && type != MPI_LOCK_SHARED)
        return MPI_ERR_LOCKTYPE;
    if (!(assert &MPI_MODE_NOCHECK))
        result = exclusive ? take_exclusive(window, target->share)
                           : take_shared(window, target->share);
    if (result != MPI_SUCCESS)
        return result;
    target->held = assert &MPI_MODE_NOCHECK ? WINDOW_UNCHECKED
                   : exclusive              ? WINDOW_EXCLUSIVE
                                            : WINDOW_SHARED;
    return rank == window->rank ? window_settle(window) : MPI_SUCCESS;
}

static void give_lock(struct window_target *target)
{
    if (target->held == WINDOW_EXCLUSIVE)
        atomic_store(&target->share->lock, 0);
    if (target->held == WINDOW_SHARED)
        atomic_fetch_sub(&target->share->lock, 1);
    target->held = WINDOW_FREE;
}

int window_unlock(struct window *window, int rank)
{
    int result = MPI_SUCCESS;

    if (window->targets[rank].held == WINDOW_FREE || window->all_locked)
        return MPI_ERR_RMA_SYNC;
    if (rank == window->rank)
        result = window_settle(window);
    give_lock(&window->targets[rank]);
    return result;
}

static bool is_locked_by_all(const struct window *window, int rank)
{
    return window->dynamic || window->targets[rank].ours;
}

/* All or none: who has the others' exclusively may wait for one that this rank would have. */
static bool try_all(struct window *window, unsigned spins)
{
    int n = 0;

    while (n < window->size &&
           (!is_locked_by_all(window, n) || try_shared(window->targets[n].share, spins)))
        n++;
    if (n == window->size)
        return true;
    while (n-- > 0)
        if (is_locked_by_all(window, n))
            atomic_fetch_sub(&window->targets[n].share->lock, 1);
    return false;
}

int window_lock_all(struct window *window, int assert)
{
    const bool checked = !(assert &MPI_MODE_NOCHECK);
    bool settles = false;

    for (int i = 0; i < window->size; i++)
        if (window->targets[i].held != WINDOW_FREE || window->all_locked)
            return MPI_ERR_RMA_SYNC;
    for (unsigned spins = 1; checked && !try_all(window, spins); spins++) {
        progress_idle(spins);
        if (is_hopeless(window, spins))
            return MPI_ERR_RMA_SYNC;
    }
    for (int i = 0; i < window->size; i++)
        if (is_locked_by_all(window, i)) {
            window->targets[i].held = checked ? WINDOW_SHARED : WINDOW_UNCHECKED;
            settles |= i == window->rank;
        }
    window->all_locked = true;
    return settles ? window_settle(window) : MPI_SUCCESS;
}

int window_unlock_all(struct window *window)
{
    const int result = window_settle(window);

    if (!window->all_locked)
        return MPI_ERR_RMA_SYNC;
    window->all_locked = false;
    for (int i = 0; i < window->size; i++)
        give_lock(&window->targets[i]);
    return result;
}

bool window_holds_any(const struct window *window)
{
    for (int i = 0; i < window->size; i++)
        if (window->targets[i].held != WINDOW_FREE)
            return true;
    return false;
}

/* ---- accumulates */

int window_update_begin(struct window *window, int rank)
{
    _Atomic uint32_t *updates = &window->targets[rank].share->updates;
    const uint32_t mine = (uint32_t)window->rank + 1;
    uint32_t nobody = 0;

    for (unsigned spins = 1; !atomic_compare_exchange_strong(updates, &nobody, mine); spins++) {
        nobody = 0;
        progress_idle(spins);
        if (is_hopeless(window, spins))
            return MPI_ERR_RMA_SYNC;
    }
    return MPI_SUCCESS;
}

void window_update_end(struct window *window, int rank)
{
    atomic_store(&window->targets[rank].share->updates, 0);
}
