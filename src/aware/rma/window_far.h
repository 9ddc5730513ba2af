/* GPU memory of dynamic windows whose ranks are not all within each other's reach: on several nodes. MPI is
 * given a mirror of each piece that a rank attaches (window_mirror.h), which lies at another address than the one
 * that origins know. So each rank has a list of its pieces in a window of host memory beside the application's, the
 * directory, in which an origin looks before it calls MPI.
 *
 * What it has found it keeps until its next call that completes accesses: before a target may detach the
 * memory, such a call completes those to it. */
#ifndef GPUBIND_AWARE_WINDOW_FAR_H
#define GPUBIND_AWARE_WINDOW_FAR_H

#include "aware/rma/window_move.h"

/* For all ranks of the communicator to call. NULL, on all alike: some may be without this library, no rank uses a GPU,
 * or MPI makes no directory. */
struct window_far *window_far_make(MPI_Comm comm);
/* The same, when MPI has freed the window. NULL does nothing. */
void window_far_free(struct window_far *far);

/* Of this rank. An MPI error class. */
int window_far_attach(struct window *window, void *base, MPI_Aint nbytes);
/* false: it is no GPU memory that was attached here. result: an MPI error class. */
bool window_far_detach(struct window *window, const void *base, int *result);
/* Of each piece. The first error. */
int window_far_each(struct window_far *far, int (*call)(struct window_mirror *));
int window_far_catch_up(struct window_far *far);

/* Some of this rank's memory in the window has a mirror: it is of the separate memory model. */
bool window_is_separate(const struct window *window);

/* Replaces the displacement of a call, where it is an address of GPU memory at the target, by that of what stands
 * for it. An MPI error class. */
int window_far_find(struct window *window, const struct window_there *there, MPI_Aint *at);
/* This rank's accesses are complete. */
void window_far_forget(struct window_far *far);

#endif
