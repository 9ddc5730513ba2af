#include "aware/rma/window_later.h"

#include <stdlib.h>

static bool is_any_staged(const struct staged *buffers, int n)
{
    for (int i = 0; i < n; i++)
        if (buffers[i].staged)
            return true;
    return false;
}

static bool add(struct window *window, int target, const struct staged *staged)
{
    struct window_later *later = malloc(sizeof *later);

    if (!later)
        return false;
    later->staged = *staged;
    if (staged->parts == &staged->part)
        later->staged.parts = &later->staged.part;
    later->target = target;
    pthread_mutex_lock(&window->lock);
    later->number = ++window->nlater;
    later->next = window->later;
    window->later = later;
    pthread_mutex_unlock(&window->lock);
    return true;
}

int window_later(MPI_Win win, int target, struct staged *buffers, int n, int result)
{
    struct window *window;

    if (!is_any_staged(buffers, n))
        return result;
    if (result != MPI_SUCCESS) {
        for (int i = 0; i < n; i++)
            staged_end(&buffers[i]);
        return result;
    }
    window = window_of(win);
    for (int i = 0; i < n; i++)
        if (buffers[i].staged && (!window || !add(window, target, &buffers[i])))
            result = MPI_ERR_NO_MEM; /* MPI still uses the buffer, which is never given back */
    return result == MPI_SUCCESS ? result : window_refused(win, result);
}

uint64_t window_later_number(struct window *window)
{
    uint64_t number;

    pthread_mutex_lock(&window->lock);
    number = window->nlater;
    pthread_mutex_unlock(&window->lock);
    return number;
}

/* Takes those of a target, up to a number, out of the list. */
static struct window_later *take(struct window *window, int target, uint64_t number)
{
    struct window_later *taken = NULL, **link = &window->later;

    pthread_mutex_lock(&window->lock);
    while (*link) {
        struct window_later *later = *link;

        if ((target != WINDOW_ALL && later->target != target) || later->number > number) {
            link = &later->next;
            continue;
        }
        *link = later->next;
        later->next = taken;
        taken = later;
    }
    pthread_mutex_unlock(&window->lock);
    return taken;
}

int window_later_end(struct window *window, int target, uint64_t number, int result)
{
    struct window_later *next;
    int error = MPI_SUCCESS;

    if (result != MPI_SUCCESS)
        return result;
    pthread_mutex_lock(&window->ending);
    for (struct window_later *later = take(window, target, number); later; later = next) {
        const int written = staged_write(&later->staged, -1);

        next = later->next;
        error = error == MPI_SUCCESS ? written : error;
        staged_end(&later->staged);
        free(later);
    }
    pthread_mutex_unlock(&window->ending);
    return error == MPI_SUCCESS ? error : window_refused(window->win, error);
}
