#include "aware/rma/window_far.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aware/base/next.h"
#include "aware/memory/gpu_buffer.h"
#include "aware/rma/window_place.h"
#include "mpi/datatype/type_flatten.h"

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

/* Of one MPI_COMM_WORLD: spawned processes may be without this library. */
static bool is_of_world(MPI_Comm comm)
{
    MPI_Group world, group, both;
    int size, nboth;

    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Comm_group(comm, &group);
    PMPI_Group_intersection(world, group, &both);
    PMPI_Group_size(group, &size);
    PMPI_Group_size(both, &nboth);
    PMPI_Group_free(&both);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    return nboth == size;
}

/* No rank learns from MPI whether all have this library, and one without would not answer. Open MPI's mpirun says
 * how many programs it was given: all ranks of one are started alike. */
static bool has_every_rank_this(MPI_Comm comm)
{
    const char *asked = getenv("GPUBIND_WIN_DYNAMIC"), *programs = getenv("OMPI_NUM_APP_CTX");
    const bool cuda = asked && strcmp(asked, "cuda") == 0;
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (asked && *asked && !cuda && strcmp(asked, "host") != 0 && !atomic_flag_test_and_set(&said))
        fprintf(stderr, "gpubind: GPUBIND_WIN_DYNAMIC is host or cuda, not \"%s\"; taken as host\n",
                asked);
    return (cuda || ((!asked || !*asked) && programs && strcmp(programs, "1") == 0)) &&
           is_of_world(comm);
}

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

    if (!has_every_rank_this(comm) || !some_rank_uses_gpu(comm))
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

/* Between these, errors of the application's window return: the caller tells them. */
static void quiet_begin(MPI_Win win, MPI_Errhandler *handler)
{
    PMPI_Win_get_errhandler(win, handler);
    PMPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

static void quiet_end(MPI_Win win, MPI_Errhandler *handler)
{
    PMPI_Win_set_errhandler(win, *handler);
    PMPI_Errhandler_free(handler);
}

static int remove_piece(struct window *window, int i)
{
    struct window_far *far = window->far;
    int result = list(window, i, (struct piece){0, 0, 0}), detached;
    MPI_Errhandler handler;

    quiet_begin(window->win, &handler);
    detached = CALL_MPI(PMPI_Win_detach(window->win, window_mirror_memory(far->mirrors[i])));
    quiet_end(window->win, &handler);
    if (detached != MPI_SUCCESS)
        return detached; /* MPI still has it */
    window_mirror_free(far->mirrors[i]);
    far->mirrors[i] = NULL;
    return result;
}

static int add_piece(struct window *window, int i, void *base, MPI_Aint nbytes)
{
    struct window_far *far = window->far;
    int result = window_mirror_make(&far->mirrors[i], base, (size_t)nbytes);
    MPI_Errhandler handler;
    void *memory;

    if (result != MPI_SUCCESS)
        return result;
    memory = window_mirror_memory(far->mirrors[i]);
    quiet_begin(window->win, &handler);
    result = CALL_MPI(PMPI_Win_attach(window->win, memory, nbytes));
    quiet_end(window->win, &handler);
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

/* As window_mirror_catch_up, of all pieces together: a flag may lie in one, and the data before it in another. */
int window_far_catch_up(struct window_far *far)
{
    int result = MPI_SUCCESS;
    bool any = true;

    pthread_mutex_lock(&far->lock);
    for (int round = 0; round < WINDOW_MIRROR_ROUNDS && any && result == MPI_SUCCESS; round++) {
        any = false;
        for (int i = 0; i < WINDOW_REGIONS && result == MPI_SUCCESS; i++)
            if (far->mirrors[i])
                result = window_mirror_look(far->mirrors[i], &any);
    }
    pthread_mutex_unlock(&far->lock);
    return result;
}

/* ---- the others'. The lock is held. */

/* Bytes of the target, [first, first + nbytes). */
struct span {
    uint64_t first, nbytes;
};

static bool has(const struct piece *piece, struct span span)
{
    const uint64_t at = span.first - piece->start;

    return at < piece->nbytes && span.nbytes <= piece->nbytes - at;
}

static bool has_part(const struct piece *piece, struct span span)
{
    return piece->nbytes > 0 && piece->start < span.first + span.nbytes &&
           span.first < piece->start + piece->nbytes;
}

static const struct piece *find_known(const struct window_far *far, int rank, struct span span)
{
    for (unsigned i = 0; i < KNOWN && i < far->nknown; i++)
        if (far->known[i].rank == rank && has(&far->known[i].piece, span))
            return &far->known[i].piece;
    return NULL;
}

static void know(struct window_far *far, int rank, struct piece piece)
{
    far->known[far->nknown++ % KNOWN] = (struct known){piece, rank};
}

static int read_pieces(const struct window_far *far, int rank, struct piece pieces[WINDOW_REGIONS])
{
    const int nbytes = WINDOW_REGIONS * (int)sizeof *pieces;
    int result = CALL_MPI(PMPI_Win_lock(MPI_LOCK_SHARED, rank, 0, far->directory)), ended;

    if (result != MPI_SUCCESS)
        return result;
    result = CALL_MPI(
        PMPI_Get(pieces, nbytes, MPI_BYTE, rank, 0, nbytes, MPI_BYTE, far->directory));
    ended = CALL_MPI(PMPI_Win_unlock(rank, far->directory));
    return result != MPI_SUCCESS ? result : ended;
}

/* The piece that a span lies in; NULL: in none, or in one in part, which is an error. */
static int find_piece(const struct piece pieces[WINDOW_REGIONS], struct span span,
                      const struct piece **found)
{
    *found = NULL;
    for (int i = 0; i < WINDOW_REGIONS; i++) {
        if (has(&pieces[i], span))
            *found = &pieces[i];
        else if (has_part(&pieces[i], span))
            return MPI_ERR_RMA_RANGE;
    }
    return MPI_SUCCESS;
}

/* All blocks of a type with gaps are in one piece, or in none. */
static int find_piece_of_blocks(const struct piece pieces[WINDOW_REGIONS],
                                const struct window_there *there, const struct piece **found)
{
    struct type_parts parts = {0};
    int result = type_flatten(&parts, there->type) < 0 ? MPI_ERR_TYPE : MPI_SUCCESS;
    MPI_Count lb, extent;
    bool any = false;

    *found = NULL;
    PMPI_Type_get_extent_x(there->type, &lb, &extent);
    for (MPI_Count i = 0; i < there->count && result == MPI_SUCCESS; i++)
        for (int j = 0; j < parts.nblocks && result == MPI_SUCCESS; j++) {
            const struct type_block *block = &parts.blocks[j];
            const struct piece *piece;

            result = find_piece(
                pieces,
                (struct span){(uint64_t)(there->displacement + i * extent) + (uint64_t)block->at,
                              block->nbytes},
                &piece);
            if (result == MPI_SUCCESS && any && piece != *found)
                result = MPI_ERR_RMA_RANGE;
            *found = piece;
            any = true;
        }
    free(parts.blocks);
    return result;
}

static int look_up(struct window_far *far, const struct window_there *there, struct span span,
                   uint64_t *mirror, uint64_t *start)
{
    struct piece pieces[WINDOW_REGIONS];
    const struct piece *piece;
    int result = read_pieces(far, there->rank, pieces);

    if (result != MPI_SUCCESS)
        return result;
    if (find_piece(pieces, span, &piece) == MPI_SUCCESS)
        know(far, there->rank, piece ? *piece : (struct piece){span.first, span.nbytes, 0});
    else
        result = find_piece_of_blocks(pieces, there, &piece);
    if (result == MPI_SUCCESS && piece) {
        *mirror = piece->mirror;
        *start = piece->start;
    }
    return result;
}

static int find(struct window_far *far, const struct window_there *there, struct span span,
                MPI_Aint *at)
{
    const struct piece *known = find_known(far, there->rank, span);
    uint64_t mirror = known ? known->mirror : 0, start = known ? known->start : 0;
    int result = known ? MPI_SUCCESS : look_up(far, there, span, &mirror, &start);

    if (result == MPI_SUCCESS && mirror)
        *at += (MPI_Aint)(mirror - start);
    return result;
}

int window_far_find(struct window *window, const struct window_there *there, MPI_Aint *at)
{
    MPI_Count low, high;
    int result;

    if (there->rank < 0 || there->rank >= window->size || there->count <= 0 ||
        there->type == MPI_DATATYPE_NULL || !place_span(there, &low, &high))
        return MPI_SUCCESS;
    pthread_mutex_lock(&window->far->lock);
    result = find(window->far, there,
                  (struct span){(uint64_t)(there->displacement + low), (uint64_t)(high - low)}, at);
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
