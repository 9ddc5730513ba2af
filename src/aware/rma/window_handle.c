/* What this library has of a window, found by MPI's handle: it is the value of an attribute. */
#include <stdlib.h>

#include "aware/base/next.h"
#include "aware/base/world_ranks.h"
#include "aware/rma/window.h"

static int keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool are_there;

bool windows_are_there(void)
{
    return atomic_load_explicit(&are_there, memory_order_relaxed);
}

/* MPI_Win_free calls the application's callbacks for attributes, in which MPICH 4.0 has given back the memory of some,
 * and crashes where one is looked for. */
static __thread struct window_freeing *freeing __attribute__((tls_model("initial-exec")));

static struct window_freeing *freeing_of(MPI_Win win)
{
    struct window_freeing *one = freeing;

    while (one && one->win != win)
        one = one->before;
    return one;
}

bool window_is_being_freed(MPI_Win win)
{
    return freeing_of(win);
}

struct window *window_find(MPI_Win win)
{
    const struct window_freeing *one = freeing_of(win);
    struct window *window = NULL;
    int found = 0;

    if (one)
        return one->window;
    if (!windows_are_there() || win == MPI_WIN_NULL ||
        CALL_MPI(PMPI_Win_get_attr(win, keyval, &window, &found)) != MPI_SUCCESS)
        return NULL;
    return found ? window : NULL;
}

static void make_keyval(void)
{
    if (PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval, NULL) !=
        MPI_SUCCESS)
        keyval = MPI_KEYVAL_INVALID;
}

int window_remember(struct window *window, MPI_Win win)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int result = MPI_ERR_NO_MEM;

    window->win = win;
    pthread_once(&once, make_keyval);
    if (keyval != MPI_KEYVAL_INVALID)
        result = PMPI_Win_set_attr(win, keyval, window);
    if (result == MPI_SUCCESS)
        atomic_store(&are_there, true);
    return result;
}

static struct window *of_freeing(struct window_freeing *one)
{
    if (!one->window && (one->window = window_new_bare()))
        one->window->win = one->win;
    return one->window;
}

struct window *window_of(MPI_Win win)
{
    struct window_freeing *one = freeing_of(win);
    struct window *window;

    if (one)
        return of_freeing(one);
    pthread_mutex_lock(&lock);
    window = window_find(win);
    if (!window) {
        window = window_new_bare();
        if (window && window_remember(window, win) != MPI_SUCCESS) {
            window_free(window);
            window = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    return window;
}

static void end_free(void *one, int code)
{
    (void)code;
    freeing = ((struct window_freeing *)one)->before;
}

void window_free_begin(struct window_freeing *one, MPI_Win win)
{
    *one = (struct window_freeing){.win = win, .window = window_find(win), .before = freeing};
    freeing = one;
    undo_begin(&one->undo, end_free, one);
}

struct window *window_free_end(struct window_freeing *one)
{
    if (!undo_end(&one->undo))
        end_free(one, MPI_SUCCESS);
    return one->window;
}

int window_world_rank(MPI_Win win, int rank)
{
    struct window *window = window_of(win);
    MPI_Group group;
    int world;

    if (!window)
        return MPI_UNDEFINED;
    pthread_mutex_lock(&window->lock);
    if (!window->ranks && PMPI_Win_get_group(win, &group) == MPI_SUCCESS)
        window->ranks = world_ranks_of_group(group);
    world = world_ranks_at(window->ranks, rank);
    pthread_mutex_unlock(&window->lock);
    return world;
}

bool window_is_mirrored(MPI_Win win)
{
    const struct window *window = window_find(win);

    return window && window->mirror;
}
