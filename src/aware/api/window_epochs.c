/* One-sided communication: synchronisation. */
#include "aware/base/start.h"
#include "aware/message/progress.h"
#include "aware/request/requests.h"
#include "aware/rma/window_far.h"
#include "aware/rma/window_later.h"
#include "aware/rma/window_sync.h"

static int done(MPI_Win win, int result)
{
    return result == MPI_SUCCESS ? result : window_refused(win, result);
}

/* A call that MPI does not see, or makes no progress in (Open MPI's windows in shared memory): a program may repeat
 * it until it finds what another rank writes, which may wait for progress here first. */
static int look_after(int result)
{
    static __thread unsigned calls __attribute__((tls_model("initial-exec")));

    progress_idle(++calls);
    return result;
}

/* ---- synchronisation of all */

/* The window, if some rank's memory is on a GPU. */
static struct window *find_gpu(MPI_Win win)
{
    struct window *window = is_behind ? NULL : window_find(win);

    return window && window->gpu ? window : NULL;
}

/* The same, if some buffer of its calls was staged. */
static struct window *find_staged(MPI_Win win, uint64_t *number)
{
    struct window *window = is_behind ? NULL : window_find(win);

    *number = window ? window_later_number(window) : 0;
    return window;
}

/* MPI has synchronised, with result. */
static int end_staged(MPI_Win win, struct window *staged, int rank, uint64_t number, int result)
{
    int error = MPI_SUCCESS;

    if (result != MPI_SUCCESS || is_behind)
        return result;
    error = requests_synchronised();
    if (staged && staged->far)
        window_far_forget(staged->far);
    if (staged)
        result = window_later_end(staged, rank, number, result);
    return error == MPI_SUCCESS ? result : window_refused(win, error);
}

/* MPI's synchronisation, and the end of the staged buffers of the calls that it completes. */
#define END_STAGED(win, rank, call)                              \
    __extension__({                                              \
        uint64_t number;                                         \
        struct window *const staged = find_staged(win, &number); \
                                                                 \
        end_staged(win, staged, rank, number, (call));           \
    })

/* The window, if that rank is this one, and its GPU memory may have mirrors. */
static struct window *find_mirrored(MPI_Win win, int rank)
{
    struct window *window = is_behind ? NULL : window_find(win);

    return window && (window->mirror || window->far) && (rank == WINDOW_ALL || rank == window->rank)
               ? window
               : NULL;
}

static int each_mirror(struct window *window, int (*call)(struct window_mirror *))
{
    if (!window->far)
        return call(window->mirror);
    return call == window_mirror_catch_up ? window_far_catch_up(window->far)
                                          : window_far_each(window->far, call);
}

/* MPI has synchronised, with result, after window_mirror_publish, with error. */
static int synchronised(MPI_Win win, struct window *mirrored, int error, int result,
                        int (*arrive)(struct window_mirror *))
{
    if (!mirrored || result != MPI_SUCCESS)
        return result;
    if (error == MPI_SUCCESS && arrive)
        error = each_mirror(mirrored, arrive);
    return done(win, error);
}

/* MPI's synchronisation of this rank's memory (MPI 4.1, 12.7: by any lock or unlock that it calls, of whatever
 * rank), or a flush of a target that may be this rank. stores: the application's go to the mirror before it;
 * arrive: what others wrote goes to GPU memory behind it. MPI is called whatever comes of that, since other
 * ranks may wait. */
#define MIRRORED(win, rank, stores, arrive, call)                                                 \
    __extension__({                                                                               \
        struct window *const mirrored = find_mirrored(win, rank);                                 \
        const int published = mirrored && (stores) ? each_mirror(mirrored, window_mirror_publish) \
                                                   : MPI_SUCCESS;                                 \
                                                                                                  \
        synchronised(win, mirrored, published, (call), arrive);                                   \
    })

/* Assertions that would save MPI a barrier are not passed on: calls to GPU memory need it. */
NEXT(MPI_Win_fence)
AWARE_PUBLIC int MPI_Win_fence(int assert, MPI_Win win)
{
    struct window *window = find_gpu(win);
    int settled, result;

    if (!window)
        return MIRRORED(win, WINDOW_ALL, !(assert &MPI_MODE_NOSTORE), window_mirror_receive,
                        END_STAGED(win, WINDOW_ALL, BEHIND(MPI_Win_fence, assert, win)));
    settled = window_settle(window);
    result = END_STAGED(win, WINDOW_ALL,
                        BEHIND(MPI_Win_fence, 0, win)); /* the others wait there in any case */
    window->fenced = result == MPI_SUCCESS && !(assert &MPI_MODE_NOSUCCEED);
    return settled != MPI_SUCCESS ? window_refused(win, settled) : result;
}

NEXT(MPI_Win_post)
AWARE_PUBLIC int MPI_Win_post(MPI_Group group, int assert, MPI_Win win)
{
    struct window *window = find_gpu(win);
    const int result = MIRRORED(win, WINDOW_ALL, !(assert &MPI_MODE_NOSTORE), NULL,
                                BEHIND(MPI_Win_post, group, assert, win));

    return window && result == MPI_SUCCESS ? done(win, window_posts(window, group)) : result;
}

NEXT(MPI_Win_start)
AWARE_PUBLIC int MPI_Win_start(MPI_Group group, int assert, MPI_Win win)
{
    struct window *window = find_gpu(win);
    const int result = BEHIND(MPI_Win_start, group, assert, win);

    return window && result == MPI_SUCCESS ? done(win, window_starts(window, group, assert))
                                           : result;
}

NEXT(MPI_Win_complete)
AWARE_PUBLIC int MPI_Win_complete(MPI_Win win)
{
    struct window *window = find_gpu(win);
    const int result = END_STAGED(win, WINDOW_ALL, BEHIND(MPI_Win_complete, win));

    if (window && result == MPI_SUCCESS)
        window_completes(window);
    return result;
}

NEXT(MPI_Win_wait)
AWARE_PUBLIC int MPI_Win_wait(MPI_Win win)
{
    return MIRRORED(win, WINDOW_ALL, false, window_mirror_receive, BEHIND(MPI_Win_wait, win));
}

NEXT(MPI_Win_test)
AWARE_PUBLIC int MPI_Win_test(MPI_Win win, int *flag)
{
    const int result = BEHIND(MPI_Win_test, win, flag);

    return result == MPI_SUCCESS && *flag
               ? MIRRORED(win, WINDOW_ALL, false, window_mirror_receive, result)
               : result;
}

NEXT(MPI_Win_sync)
AWARE_PUBLIC int MPI_Win_sync(MPI_Win win)
{
    struct window *window = find_gpu(win);
    int result;

    if (!window)
        return MIRRORED(win, WINDOW_ALL, true, window_mirror_catch_up, BEHIND(MPI_Win_sync, win));
    result = window_settle(window);
    if (result != MPI_SUCCESS)
        return window_refused(win, result);
    if (window->locks > 0 || !window_holds_any(window))
        result = BEHIND(MPI_Win_sync, win);
    return look_after(result);
}

/* ---- locks */

/* A rank's lock is MPI's, ours, or, of a dynamic window, both. */
static bool is_only_ours(const struct window *window, int rank)
{
    return window && (window->empty || !window->dynamic) && rank >= 0 && rank < window->size &&
           window->targets[rank].ours;
}

static bool has_ours(const struct window *window, int rank)
{
    return is_only_ours(window, rank) ||
           (window && window->dynamic && rank >= 0 && rank < window->size);
}

NEXT(MPI_Win_lock)
AWARE_PUBLIC int MPI_Win_lock(int type, int rank, int assert, MPI_Win win)
{
    struct window *window = find_gpu(win);
    int result = MPI_SUCCESS;

    if (!is_only_ours(window, rank))
        result = MIRRORED(win, WINDOW_ALL, false, window_mirror_catch_up,
                          BEHIND(MPI_Win_lock, type, rank, assert, win));
    if (window && result == MPI_SUCCESS && !is_only_ours(window, rank))
        window->locks++;
    return has_ours(window, rank) && result == MPI_SUCCESS
               ? done(win, window_lock(window, rank, type, assert))
               : result;
}

NEXT(MPI_Win_unlock)
AWARE_PUBLIC int MPI_Win_unlock(int rank, MPI_Win win)
{
    struct window *window = find_gpu(win);
    int result = MPI_SUCCESS;

    if (has_ours(window, rank))
        result = done(win, window_unlock(window, rank));
    if (is_only_ours(window, rank) || result != MPI_SUCCESS)
        return look_after(result);
    result = MIRRORED(win, WINDOW_ALL, true, window_mirror_catch_up,
                      END_STAGED(win, rank, BEHIND(MPI_Win_unlock, rank, win)));
    if (window && result == MPI_SUCCESS)
        window->locks--;
    return window ? look_after(result) : result;
}

NEXT(MPI_Win_lock_all)
AWARE_PUBLIC int MPI_Win_lock_all(int assert, MPI_Win win)
{
    struct window *window = find_gpu(win);
    const int result = MIRRORED(win, WINDOW_ALL, false, window_mirror_catch_up,
                                BEHIND(MPI_Win_lock_all, assert, win));

    if (!window || result != MPI_SUCCESS)
        return result;
    window->locks++;
    return done(win, window_lock_all(window, assert));
}

NEXT(MPI_Win_unlock_all)
AWARE_PUBLIC int MPI_Win_unlock_all(MPI_Win win)
{
    struct window *window = find_gpu(win);
    int result = window ? done(win, window_unlock_all(window)) : MPI_SUCCESS;

    if (result != MPI_SUCCESS)
        return result;
    result = MIRRORED(win, WINDOW_ALL, true, window_mirror_catch_up,
                      END_STAGED(win, WINDOW_ALL, BEHIND(MPI_Win_unlock_all, win)));
    if (window && result == MPI_SUCCESS)
        window->locks--;
    return window ? look_after(result) : result;
}

/* Calls to GPU memory within reach are complete; so the flush is of MPI's memory, if there is any to flush. */
#define FLUSHES(name, arrive)                                                        \
    NEXT(name)                                                                       \
    AWARE_PUBLIC int name(int rank, MPI_Win win)                                     \
    {                                                                                \
        struct window *window = find_gpu(win);                                       \
        int result;                                                                  \
                                                                                     \
        if (is_only_ours(window, rank) && window->targets[rank].held != WINDOW_FREE) \
            return look_after(MPI_SUCCESS);                                          \
        result = MIRRORED(win, rank, false, arrive,                                  \
                          END_STAGED(win, rank, BEHIND(name, rank, win)));           \
        return window ? look_after(result) : result;                                 \
    }
#define FLUSHES_ALL(name, arrive)                                          \
    NEXT(name)                                                             \
    AWARE_PUBLIC int name(MPI_Win win)                                     \
    {                                                                      \
        struct window *window = find_gpu(win);                             \
        int result;                                                        \
                                                                           \
        if (window && window->locks == 0 && window_holds_any(window))      \
            return look_after(MPI_SUCCESS);                                \
        result = MIRRORED(win, WINDOW_ALL, false, arrive,                  \
                          END_STAGED(win, WINDOW_ALL, BEHIND(name, win))); \
        return window ? look_after(result) : result;                       \
    }
FLUSHES(MPI_Win_flush, window_mirror_catch_up)
FLUSHES(MPI_Win_flush_local, NULL)
FLUSHES_ALL(MPI_Win_flush_all, window_mirror_catch_up)
FLUSHES_ALL(MPI_Win_flush_local_all, NULL)
