/* Accumulates that the GPU computes: the origin's process has the target's memory mapped. */
#ifndef GPUBIND_AWARE_WINDOW_ON_GPU_H
#define GPUBIND_AWARE_WINDOW_ON_GPU_H

#include "aware/memory/host_pool.h"
#include "aware/reduce/gpu_reduction.h"
#include "aware/rma/window_place.h"

struct window_on_gpu {
    const struct place *place;
    char *there;          /* the target's memory, as it lies here */
    char *from, *wanted;  /* where the origin gives, and wants what was there; NULL: nothing */
    size_t nfrom, nthere; /* bytes */
    MPI_Op op;
    bool reduces; /* what follows is there */
    struct gpu_reduction reduction;
    struct host_block packed; /* at NULL: the origin's data is one piece */
    struct host_block
        result; /* page-locked, for what is wanted in host memory; at NULL: it goes there at once */
};

/* given, wanted: of the origin's, or NULL; element: the predefined type at the target. false: the origin's host
 * is to compute. On success until window_on_gpu_end. */
bool window_on_gpu_begin(struct window_on_gpu *call, const struct place *place,
                         const struct typed *given, const struct typed *wanted,
                         MPI_Datatype element, MPI_Op op);
/* All of it, with the target's lock of accumulates. An MPI error class. */
int window_on_gpu_update(const struct window_on_gpu *call);
void window_on_gpu_end(const struct window_on_gpu *call);

/* A comparison that swaps. */
struct window_swap {
    const struct place *place;
    char *there;
    size_t nbytes;           /* of the element */
    struct host_block block; /* what is compared, what replaces it, what was there */
};

/* Reads the origin's buffers. false: the origin's host is to compare. On success until window_swap_end. */
bool window_swap_begin(struct window_swap *swap, const struct place *place,
                       const struct typed *expected, const struct typed *given);
/* With the target's lock of accumulates: an MPI error class. */
int window_swap_do(const struct window_swap *swap);
/* Tells what was there. An MPI error class. */
int window_swap_tell(const struct window_swap *swap, const struct typed *wanted);
void window_swap_end(const struct window_swap *swap);

#endif
