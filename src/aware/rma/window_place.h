/* The GPU memory that a one-sided call accesses at its target. Each int is an MPI error class. */
#ifndef GPUBIND_AWARE_WINDOW_PLACE_H
#define GPUBIND_AWARE_WINDOW_PLACE_H

#include "aware/memory/typed.h"
#include "aware/message/direct_memory.h"
#include "aware/rma/window_move.h"

struct place {
    struct direct_peer *peer;
    uint64_t address; /* of the displacement, in the target's process */
    MPI_Count count;
    MPI_Datatype type;
    char *here; /* where the address lies in this process; NULL: the target's process copies */
    struct direct_map map;
};

/* The bytes from the displacement on that the call accesses; false: none. */
bool place_span(const struct window_there *there, MPI_Count *low, MPI_Count *high);
/* The region that has the first byte, or that of an address where there is no byte; else that of the first block that
 * lies in one, which is too little for the call. NULL: MPI's memory. */
const struct window_region *place_region(const struct window *window,
                                         const struct window_there *there);
/* beside: where copies from or to it go. On success until place_end. */
int place_begin(struct place *place, struct window *window, const struct window_there *there,
                const void *beside);
void place_end(const struct place *place);
/* GPU memory that it lies in, here; NULL: the target's process copies. */
const void *place_gpu(const struct place *place);

/* It is mapped: copies from or to its memory as it lies here. */
int place_copy(const struct place *place, void *to, const void *from, size_t nbytes);
/* All of it to host memory, without gaps, and its first nbytes from there. */
int place_read(const struct place *place, void *dense);
int place_write(const struct place *place, const void *dense, MPI_Count nbytes);

#endif
