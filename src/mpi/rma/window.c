/* Windows from their set-up to their end, and the calls that need no stream. */
#include "mpi/rma/window.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/progress.h"
#include "mpi/p2p/device_memory.h"
#include "mpi/rma/window_am.h"

static QUEUE_OF(struct gpubind_window) windows;

void windows_add(struct gpubind_window *win)
{
    QUEUE_PUSH_FRONT(&windows, win, next);
}

int window_check(const struct gpubind_window *win, struct gpubind_error *err)
{
    if (win == GPUBIND_WIN_NULL) {
        error_set(err, "the window is GPUBIND_WIN_NULL");
        return MPI_ERR_WIN;
    }
    for (const struct gpubind_window *w = windows.first; w; w = w->next)
        if (w == win)
            return MPI_SUCCESS;
    error_set(err, "%p is no window, or was freed", (const void *)win);
    return MPI_ERR_WIN;
}

int window_check_rank(const struct gpubind_window *win, int rank, struct gpubind_error *err)
{
    if (rank >= 0 && rank < win->n)
        return MPI_SUCCESS;
    error_set(err, "rank %d is not from 0 to %d", rank, win->n - 1);
    return MPI_ERR_RANK;
}

void window_detach(struct gpubind_window *win)
{
    for (int rank = 0; rank < win->n; rank++) {
        struct window_part *part = &win->parts[rank];

        if (part->mapping)
            mapping_drop(part->mapping);
        part->mapping = NULL;
    }
}

static void free_now(const struct gpubind_window *win, gpu_address memory)
{
    if (memory)
        gpu_free_now(win->gpu, memory);
}

/* Ranks that detached while a stream was held map this rank's part still: notes them, so that
 * they are asked to unmap it before the memory is freed. */
static void note_shares(const struct gpubind_window *win)
{
    const struct comm *comm = win->comm;
    struct memory memory;

    if (memory_of((const void *)(uintptr_t)win->memory, &memory, NULL) < 0)
        return;
    for (int rank = 0; rank < win->n; rank++) {
        const struct peer *peer = &comm->domain->peers[comm->domain_ranks[rank]];

        if (rank != win->rank && peer->local >= 0)
            ipc_refs_note(comm->domain, memory.id, memory.start, memory.size, peer->local);
    }
}

void window_clear(struct gpubind_window *win, bool at_end)
{
    window_remote_end(win);
    if (!at_end && win->table)
        gpu_free_deferred(win->gpu, win->table);
    if (at_end) {
        free_now(win, win->table);
        free_now(win, win->memory);
    }
    if (!at_end && win->memory) { /* receivers of messages may map it, too */
        if (win->held)
            note_shares(win);
        memory_free_later((void *)(uintptr_t)win->memory, NULL);
    }
    comm_leave(win->comm);
    free(win);
}

void windows_detach(void)
{
    for (struct gpubind_window *win = windows.first; win; win = win->next)
        window_detach(win);
}

static bool is_idle(const void *win)
{
    return window_is_idle(win);
}

void windows_clear(void)
{
    struct gpubind_window *win;

    while ((win = QUEUE_POP(&windows, next))) {
        /* Only replies that have come may be under way. If more is, it refers to the window,
         * which then stays. */
        if (progress_wait_for(is_idle, win, 1))
            window_clear(win, true);
    }
}

/* Ends a call about a window with the error handler of its communicator. */
static int leave(const struct gpubind_window *win, int result, const char *call,
                 const struct gpubind_error *err)
{
    const bool known = window_check(win, NULL) == MPI_SUCCESS;

    return library_leave(known ? win->comm->user : MPI_COMM_WORLD, result, call, err);
}

int gpubind_win_allocate(MPI_Comm user, size_t nbytes, int nsignals, gpubind_win *win)
{
    struct gpubind_error err;
    struct comm *comm;
    int result;

    library_enter("gpubind_win_allocate");
    *win = GPUBIND_WIN_NULL;
    comm = library_comm(user, &result, &err);
    if (comm)
        *win = window_make(comm, nbytes, nsignals, &result, &err);
    return library_leave(user, result, "gpubind_win_allocate", &err);
}

int gpubind_win_pointer(gpubind_win win, int rank, void **pointer, size_t *nbytes)
{
    struct gpubind_error err;
    int result;

    library_enter("gpubind_win_pointer");
    result = window_check(win, &err);
    if (result == MPI_SUCCESS)
        result = window_check_rank(win, rank, &err);
    if (result == MPI_SUCCESS && pointer)
        *pointer = (void *)(uintptr_t)win->parts[rank].data;
    if (result == MPI_SUCCESS && nbytes)
        *nbytes = win->parts[rank].nbytes;
    return leave(win, result, "gpubind_win_pointer", &err);
}

int gpubind_win_device(gpubind_win win, const struct gpubind_device_win **device)
{
    struct gpubind_error err;
    int result;

    library_enter("gpubind_win_device");
    *device = NULL;
    result = window_check(win, &err);
    if (result == MPI_SUCCESS && !win->gpu) {
        error_set(&err, "this rank has no GPU");
        result = MPI_ERR_OTHER;
    }
    if (result == MPI_SUCCESS)
        *device = (const struct gpubind_device_win *)(uintptr_t)win->table;
    return leave(win, result, "gpubind_win_device", &err);
}

/* ---- gpubind_win_free */

struct barrier {
    struct gpubind_window *win;
    MPI_Request request;
    bool begun, failed;
    int gone; /* a rank that will not come; -1: none */
    double looked;
};

/* A rank joins the barrier when its own commands are complete. When all ranks have, no command
 * is under way at any target. */
static bool is_over(struct barrier *barrier)
{
    struct gpubind_window *win = barrier->win;
    int over = 0;

    if (!window_is_idle(win))
        return false;
    if (!barrier->begun)
        barrier->failed = PMPI_Iallreduce(MPI_IN_PLACE, &win->held, 1, MPI_INT, MPI_MAX,
                                          win->own_comm, &barrier->request) != MPI_SUCCESS;
    barrier->begun = true;
    if (!barrier->failed)
        PMPI_Test(&barrier->request, &over, MPI_STATUS_IGNORE);
    return over || barrier->failed;
}

static bool all_are_there(const void *argument)
{
    struct barrier *barrier = (struct barrier *)(uintptr_t)argument; /* the caller's own */
    const struct comm *comm = barrier->win->comm;
    const bool over = is_over(barrier);

    if (over || clock_seconds() - barrier->looked < 0.1)
        return over;
    barrier->looked = clock_seconds();
    for (int rank = 0; rank < comm->size; rank++) {
        const struct peer *peer = &comm->domain->peers[comm->domain_ranks[rank]];

        if (peer->local >= 0 && peer_is_gone(comm->domain, peer))
            barrier->gone = rank;
    }
    return barrier->gone >= 0;
}

static int wait_for_all(struct gpubind_window *win, struct gpubind_error *err)
{
    struct barrier barrier = {
        .win = win, .request = MPI_REQUEST_NULL, .gone = -1, .looked = clock_seconds()};

    if (progress_wait_for(all_are_there, &barrier, 3600) && barrier.gone < 0 && !barrier.failed)
        return MPI_SUCCESS;
    if (barrier.failed)
        error_set(err, "MPI_Iallreduce failed");
    else if (barrier.gone >= 0)
        error_set(err, "rank %d is gone", barrier.gone);
    else
        error_set(err, "the other ranks did not call gpubind_win_free for an hour");
    return MPI_ERR_OTHER;
}

int gpubind_win_free(gpubind_win *handle)
{
    struct gpubind_window *win = *handle;
    struct gpubind_error err;
    MPI_Comm user = MPI_COMM_WORLD;
    int result = MPI_SUCCESS;

    library_enter("gpubind_win_free");
    if (win != GPUBIND_WIN_NULL)
        result = window_check(win, &err);
    if (win != GPUBIND_WIN_NULL && result == MPI_SUCCESS) {
        user = win->comm->user;
        QUEUE_REMOVE(&windows, win, next);
        win->held = !gpu_may_wait(); /* then unmapping is deferred */
        window_detach(win);
        result = wait_for_all(win, &err);
        if (result == MPI_SUCCESS) { /* else others may map the memory, which stays */
            window_remote_end(win);
            library_unlock();
            PMPI_Comm_free(&win->own_comm);
            library_lock();
            window_clear(win, false);
        } else {
            window_remote_give_up(win);
        }
        *handle = GPUBIND_WIN_NULL;
    }
    return library_leave(user, result, "gpubind_win_free", &err);
}
