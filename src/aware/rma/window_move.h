/* One-sided calls to GPU memory of a window. Each is complete when it returns, with an MPI error class. */
#ifndef GPUBIND_AWARE_WINDOW_MOVE_H
#define GPUBIND_AWARE_WINDOW_MOVE_H

#include "aware/base/traced.h"
#include "aware/rma/window.h"

/* A buffer of the origin's, of either kind of memory. */
struct window_buffer {
    const void *at;
    MPI_Count count;
    MPI_Datatype type;
};

/* What a call accesses at its target. */
struct window_there {
    int rank;
    MPI_Aint displacement;
    MPI_Count count;
    MPI_Datatype type;
    struct traced *call;
};

/* It is GPU memory, and the call one of those below; else it is MPI's. */
bool window_has_gpu(struct window *window, const struct window_there *there);

int window_put(struct window *window, const struct window_there *there, struct window_buffer from);
int window_get(struct window *window, const struct window_there *there, struct window_buffer to);
/* result.type MPI_DATATYPE_NULL: MPI_Accumulate. */
int window_accumulate(struct window *window, const struct window_there *there,
                      struct window_buffer from, struct window_buffer result, MPI_Op op);
/* Each of one element of the target's type. */
int window_compare_and_swap(struct window *window, const struct window_there *there,
                            const void *from, const void *compare, void *result);

#endif
