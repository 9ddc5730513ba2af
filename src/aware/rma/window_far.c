#include "aware/rma/window_far.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aware/base/next.h"
#include "aware/memory/gpu_buffer.h"
#include "aware/rma/window_place.h"

#define KNOWN 64

/* Memory of a rank, in its process. */
struct piece {
    uint64_t start, nbytes; /* of GPU memory; nbytes 0: there is none */
    uint64_t mirror;
};

/* What was found; mirror 0: it is no GPU memory. */
struct known {
    struct piece piece;
    int rank;
};

struct window_far {
    MPI_Win directory;
    struct piece *pieces; /* this rank's, WINDOW_REGIONS of them: in the directory */
    struct window_mirror *mirrors[WINDOW_REGIONS];
    struct known known[KNOWN]; /* a ring */
    unsigned nknown;           /* how many there were */
    pthread_mutex_t lock; /* also of the directory, in which a process has one epoch at a time */
};

/* ---- the directory */

static bool some_rank_uses_gpu(MPI_Comm comm)
{
    int mine = gpu_is_in_use(), any = 0;

    return CALL_MPI(PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm)) == MPI_SUCCESS && any;
}

/* Errors of the communicator return. */
static bool make_directory(struct window_far *far, MPI_Comm comm)
{
    const MPI_Aint nbytes = WINDOW_REGIONS * sizeof *far->pieces;
    int result = CALL_MPI(
        PMPI_Win_allocate(nbytes, 1, MPI_INFO_NULL, comm, &far->pieces, &far->directory));

    if (result != MPI_SUCCESS)
        return false;
    PMPI_Win_set_errhandler(far->directory, MPI_ERRORS_RETURN);
    memset(far->pieces, 0, (size_t)nbytes);
    return CALL_MPI(PMPI_Barrier(comm)) == MPI_SUCCESS;
}

/* All have one, or none: it cannot be freed by some alone. */
struct window_far *window_far_make(MPI_Comm comm)
{
    struct window_far *far;
    MPI_Errhandler handler;
    int made, all = 0;

    if (!some_rank_uses_gpu(comm))
        return NULL;
    far = calloc(1, sizeof *far);
    made = far != NULL;
    PMPI_Comm_get_errhandler(comm, &handler);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (CALL_MPI(PMPI_Allreduce(&made, &all, 1, MPI_INT, MPI_MIN, comm)) != MPI_SUCCESS || !all ||
        !make_directory(far, comm)) {
        free(far);
        far = NULL;
    }
    PMPI_Comm_set_errhandler(comm, handler);
    PMPI_Errhandler_free(&handler);
    if (far)
        pthread_mutex_init(&far->lock, NULL);
    return far;
}

void window_far_free(struct window_far *far)
{
    if (!far)
        return;
    CALL_MPI(PMPI_Win_free(&far->directory));
    for (int i = 0; i < WINDOW_REGIONS; i++)
        window_mirror_free(far->mirrors[i]);
    pthread_mutex_destroy(&far->lock);
    free(far);
}

/* ---- this rank's memory. The lock is held. */

/* What other ranks find from now on. */
static int list(const struct window *window, int i, struct piece piece)
{
    struct window_far *far = window->far;
    int result = CALL_MPI(PMPI_Win_lock(MPI_LOCK_EXCLUSIVE, window->rank, 0, far->directory));

    if (result != MPI_SUCCESS)
        return result;
    far->pieces[i] = piece;
    return CALL_MPI(PMPI_Win_unlock(window->rank, far->directory));
}

static int remove_piece(struct window *window, int i)
{
    struct window_far *far = window->far;
    int result = list(window, i, (struct piece){0, 0, 0}), detached;

    detached = CALL_MPI(PMPI_Win_detach(window->win, window_mirror_memory(far->mirrors[i])));
    window_mirror_free(far->mirrors[i]);
    far->mirrors[i] = NULL;
    return result == MPI_SUCCESS ? detached : result;
}

static int add_piece(struct window *window, int i, void *base, MPI_Aint nbytes)
{
    struct window_far *far = window->far;
    int result = window_mirror_make(&far->mirrors[i], base, (size_t)nbytes);
    void *memory;

    if (result != MPI_SUCCESS)
        return result;
    memory = window_mirror_memory(far->mirrors[i]);
    result = CALL_MPI(PMPI_Win_attach(window->win, memory, nbytes));
    if (result != MPI_SUCCESS) {
        window_mirror_free(far->mirrors[i]);
        far->mirrors[i] = NULL;
        return result;
    }
    result = list(window, i, (struct piece){(uintptr_t)base, (uint64_t)nbytes, (uintptr_t)memory});
    if (result != MPI_SUCCESS)
        remove_piece(window, i);
    return result;
}

int window_far_attach(struct window *window, void *base, MPI_Aint nbytes)
{
    struct window_far *far = window->far;
    int i = 0, result = MPI_ERR_RMA_ATTACH;

    pthread_mutex_lock(&far->lock);
    while (i < WINDOW_REGIONS && far->mirrors[i])
        i++;
    if (i < WINDOW_REGIONS)
        result = add_piece(window, i, base, nbytes);
    else
        window_say_full();
    pthread_mutex_unlock(&far->lock);
    return result;
}

bool window_far_detach(struct window *window, const void *base, int *result)
{
    struct window_far *far = window->far;
    bool found = false;

    pthread_mutex_lock(&far->lock);
    for (int i = 0; i < WINDOW_REGIONS && !found; i++) {
        int removed;

        found = far->mirrors[i] && far->pieces[i].start == (uintptr_t)base;
        if (!found)
            continue;
        *result = window_mirror_receive(far->mirrors[i]);
        removed = remove_piece(window, i);
        *result = *result == MPI_SUCCESS ? removed : *result;
    }
    pthread_mutex_unlock(&far->lock);
    return found;
}

bool window_is_separate(const struct window *window)
{
    struct window_far *far = window->far;
    bool any = window->mirror;

    if (!far)
        return any;
    pthread_mutex_lock(&far->lock);
    for (int i = 0; i < WINDOW_REGIONS; i++)
        any |= far->mirrors[i] != NULL;
    pthread_mutex_unlock(&far->lock);
    return any;
}

int window_far_each(struct window_far *far, int (*call)(struct window_mirror *))
{
    int result = MPI_SUCCESS;

    pthread_mutex_lock(&far->lock);
    for (int i = 0; i < WINDOW_REGIONS; i++) {
        const int status = far->mirrors[i] ? call(far->mirrors[i]) : MPI_SUCCESS;

        result = result == MPI_SUCCESS ? status : result;
    }
    pthread_mutex_unlock(&far->lock);
    return result;
}

/* ---- the others'. The lock is held. */

static const struct piece *find_known(const struct window_far *far, int rank, uint64_t first)
{
    for (unsigned i = 0; i < KNOWN && i < far->nknown; i++)
        if (far->known[i].rank == rank &&
            first - far->known[i].piece.start < far->known[i].piece.nbytes)
            return &far->known[i].piece;
    return NULL;
}

/* Of nbytes that a call accesses. */
static int look_up(struct window_far *far, int rank, uint64_t first, uint64_t nbytes,
                   const struct piece **found)
{
    struct known *known = &far->known[far->nknown % KNOWN];
    struct piece pieces[WINDOW_REGIONS];
    int result = CALL_MPI(PMPI_Win_lock(MPI_LOCK_SHARED, rank, 0, far->directory)), ended;

    if (result != MPI_SUCCESS)
        return result;
    result = CALL_MPI(PMPI_Get(pieces, sizeof pieces, MPI_BYTE, rank, 0, sizeof pieces, MPI_BYTE,
                               far->directory));
    ended = CALL_MPI(PMPI_Win_unlock(rank, far->directory));
    if (result != MPI_SUCCESS || ended != MPI_SUCCESS)
        return result != MPI_SUCCESS ? result : ended;
    *known = (struct known){{first, nbytes, 0}, rank};
    for (int i = 0; i < WINDOW_REGIONS; i++)
        if (first - pieces[i].start < pieces[i].nbytes)
            known->piece = pieces[i];
    far->nknown++;
    *found = &known->piece;
    return MPI_SUCCESS;
}

static int find(struct window_far *far, int rank, uint64_t first, uint64_t nbytes, MPI_Aint *at)
{
    const struct piece *piece = find_known(far, rank, first);
    int result = piece ? MPI_SUCCESS : look_up(far, rank, first, nbytes, &piece);

    if (result != MPI_SUCCESS || !piece->mirror)
        return result;
    if (nbytes > piece->nbytes - (first - piece->start))
        return MPI_ERR_RMA_RANGE;
    *at += (MPI_Aint)(piece->mirror - piece->start);
    return MPI_SUCCESS;
}

int window_far_find(struct window *window, const struct window_there *there, MPI_Aint *at)
{
    MPI_Count low, high;
    int result;

    if (there->rank < 0 || there->rank >= window->size || there->count <= 0 ||
        there->type == MPI_DATATYPE_NULL || !place_span(there, &low, &high))
        return MPI_SUCCESS;
    pthread_mutex_lock(&window->far->lock);
    result = find(window->far, there->rank, (uint64_t)(there->displacement + low),
                  (uint64_t)(high - low), at);
    pthread_mutex_unlock(&window->far->lock);
    if (*at != there->displacement)
        there->call->event.path = TRACE_STAGED;
    return result;
}

void window_far_forget(struct window_far *far)
{
    pthread_mutex_lock(&far->lock);
    far->nknown = 0;
    pthread_mutex_unlock(&far->lock);
}
