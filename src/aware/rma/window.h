/* Windows of one-sided communication (MPI 4.1, chapter 12) that need more than MPI.
 *
 * A rank's memory may be on the GPU where all ranks of the window are on one node, each within the others'
 * reach (coll_comm.h). MPI's own window then has none of that rank's: the origin copies from and to the GPU
 * memory itself, where it maps it or by way of the target's process (direct_ask.h), and each call is complete
 * when it returns. MPI's window has the memory of the other ranks; where there is none, or this MPI makes no
 * window of an application's memory (Open MPI 4.1 on a machine without a network), it has no memory at all, and
 * the other ranks' is reached in the same way. MPI's synchronisation carries that of all but locks: those of GPU memory are words in memory that the ranks share, as are the starts of exposure
 * epochs, which MPI may tell an origin later than its first call needs them.
 *
 * Where some rank is out of reach, MPI's window has host memory in place of a rank's GPU memory
 * (window_mirror.h), in a dynamic window of each piece of it (window_far.h).
 *
 * Where the target's memory is MPI's, a GPU buffer of the origin's is staged, until the synchronisation that
 * ends the call (window_later). */
#ifndef GPUBIND_AWARE_WINDOW_H
#define GPUBIND_AWARE_WINDOW_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "aware/base/undo.h"
#include "aware/message/direct_segment.h"
#include "aware/message/staged.h"
#include "aware/rma/window_mirror.h"

#define WINDOW_REGIONS 128 /* of GPU memory that a rank attaches to a dynamic window */
#define WINDOW_WRITER UINT32_MAX

/* GPU memory of a rank. */
struct window_region {
    _Atomic uint32_t used;       /* odd: it is; counts the changes */
    uint64_t start, nbytes;      /* in its process */
    struct direct_export memory; /* id 0: it cannot be mapped */
};

static inline bool window_region_is_used(const struct window_region *region)
{
    return atomic_load(&region->used) % 2;
}

/* What a rank shows the others of a window. */
struct window_share {
    _Atomic uint32_t lock;    /* 0: nobody has it; WINDOW_WRITER; else how many share it */
    _Atomic uint32_t writers; /* that wait for it: who would share it waits for them */
    _Atomic uint32_t updates; /* the rank of the origin that accumulates, and 1; 0: none does */
    struct window_region regions[WINDOW_REGIONS]; /* one, unless the window is dynamic */
    _Atomic uint32_t posts[];                     /* by rank: exposure epochs that it was let in */
};

enum window_held { WINDOW_FREE, WINDOW_SHARED, WINDOW_EXCLUSIVE, WINDOW_UNCHECKED };

/* A rank, as its origins see it. */
struct window_target {
    struct direct_peer *peer;
    struct window_share *share;
    bool ours;       /* its memory is not MPI's; in a dynamic window some may be so */
    uint64_t base;   /* in its process; 0 of a dynamic window */
    MPI_Aint unit;   /* of displacements, in bytes */
    bool started;    /* an access epoch that MPI_Win_start has begun */
    bool expected;   /* and it is known that the target has posted */
    uint32_t starts; /* how many there were */
    enum window_held held;
};

/* A staged buffer of a call that is not complete. */
struct window_later {
    struct window_later *next;
    struct staged staged;
    int target;
    uint64_t number; /* of all of the window */
};

struct window {
    MPI_Win win;
    /* Some rank's memory is, and within reach; else only what is staged, and what comes with a mirror, is
     * used below. */
    bool gpu;
    struct window_mirror *mirror; /* of this rank's GPU memory; with rank, base, model */
    bool dynamic;
    struct window_far
        *far; /* of a dynamic window with a mirror for each piece of GPU memory; with rank, size */
    bool empty; /* MPI's window has no memory */
    int rank, size;
    struct window_target *targets;
    struct window_share *share; /* this rank's */
    int fd;                     /* of it, until all have mapped it; then -1 */
    void *base; /* this rank's memory, as the application gave it, or was given it */
    MPI_Aint nbytes;
    void *allocated;    /* this rank's memory, where MPI_Win_allocate took it from the GPU */
    bool asked_for_gpu; /* in MPI_Win_allocate, and was given it, if only 0 bytes */
    int flavor, model;
    bool fenced; /* an access epoch of MPI_Win_fence */
    bool all_locked;
    atomic_int locks; /* of targets whose memory is MPI's, which MPI holds */
    pthread_mutex_t lock;
    struct window_later *later; /* lock is held */
    uint64_t nlater;            /* how many there were */
    pthread_mutex_t ending;     /* some of them are being ended */
    struct world_ranks *ranks;  /* of its group; NULL: nobody has asked yet; lock is held */
};

/* NULL: it needs nothing but MPI. */
struct window *window_find(MPI_Win win);
/* The same, made where it is not there: for buffers that are staged. NULL: out of memory. */
struct window *window_of(MPI_Win win);
/* The rank of MPI_COMM_WORLD that a rank of a window is; MPI_UNDEFINED: it is none. */
int window_world_rank(MPI_Win win, int rank);
/* Host memory stands for this rank's GPU memory, and so it may for the others'. */
bool window_is_mirrored(MPI_Win win);
/* There may be such windows in this process. */
bool windows_are_there(void);

/* Around MPI's function that frees it: a window that this thread is freeing. */
struct window_freeing {
    MPI_Win win;
    struct window *window;         /* NULL: it needs nothing but MPI */
    struct window_freeing *before; /* in whose callback this one is freed */
    struct undo undo;
};
bool window_is_being_freed(MPI_Win win);
void window_free_begin(struct window_freeing *one, MPI_Win win);
/* one->window, which may have been made meanwhile. */
struct window *window_free_end(struct window_freeing *one);

/* What a window will be made of. */
struct window_plan {
    struct window *window;   /* NULL: it needs nothing but MPI, on all ranks alike */
    struct window *mirrored; /* NULL: this rank's memory has no mirror */
    int failed;              /* to make one: an MPI error class. MPI makes the window without it */
    bool given_gpu;          /* by MPI_Win_allocate, to this rank: GPU memory, if only of 0 bytes */
    void *base;              /* for MPI */
    MPI_Aint nbytes;
};

/* For all ranks of the communicator to call, before they make the window; dynamic: base and size have no
 * meaning. An MPI error class, the same on all ranks. */
int window_plan(struct window_plan *plan, MPI_Comm comm, void *base, MPI_Aint nbytes, MPI_Aint unit,
                bool dynamic);
/* Where the window is to have nothing of MPI's: MPI makes an empty one. An MPI error class. */
int window_make_empty(struct window_plan *plan, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                      MPI_Win *win);
/* For all ranks of the communicator to tell the others of their memory, which the window's base and nbytes
 * are: gpu: MPI is to have none of it; failed: an MPI error class, with which no rank makes the window. An
 * MPI error class, the same on all ranks. On success the window may turn out to need nothing but MPI: then its
 * gpu is false. */
struct window *window_new(MPI_Comm comm, int flavor);
int window_exchange(struct window *window, MPI_Comm comm, MPI_Aint unit, bool gpu, int failed);
/* For buffers that are staged. NULL: out of memory. */
struct window *window_new_bare(void);
/* Of a rank without the others, for a mirror. NULL: out of memory. */
struct window *window_new_mirrored(MPI_Comm comm, void *base, MPI_Aint nbytes);
/* window_find will find it. An MPI error class. */
int window_remember(struct window *window, MPI_Win win);

/* The application's info, for MPI, until window_info_end. */
MPI_Info window_info_begin(const struct window_plan *plan, MPI_Info info);
void window_info_end(MPI_Info given, MPI_Info info);
/* MPI has made it with that result. An MPI error class. */
int window_made(struct window_plan *plan, int result, MPI_Comm comm, MPI_Win win);
/* Between these, errors of the communicator return: there is another way, if the plan has a window. */
void window_try_begin(const struct window_plan *plan, MPI_Comm comm, MPI_Errhandler *handler);
void window_try_end(const struct window_plan *plan, MPI_Comm comm, MPI_Errhandler *handler);
/* MPI has freed it. Frees the memory of MPI_Win_allocate, too. NULL does nothing. */
void window_free(struct window *window);

bool window_is_gpu_memory(const void *base);
/* Says that memory of a GPU cannot be attached, and why. MPI_ERR_BUFFER. */
int window_is_far(const void *base);
/* Says that no more can be attached. */
void window_say_full(void);
/* Shows memory of this rank's to the others, of either kind. false: there is no room for more. */
bool window_add_region(struct window *window, void *base, MPI_Aint nbytes);
/* Memory of a dynamic window that is not MPI's. An MPI error class. */
int window_attach(struct window *window, void *base, MPI_Aint nbytes);
/* false: it was not attached here. */
bool window_detach(struct window *window, const void *base);

/* Calls the window's error handler. Returns result. */
int window_refused(MPI_Win win, int result);

#endif
