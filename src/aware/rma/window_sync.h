/* Epochs of windows with GPU memory, beside MPI's own synchronisation. Each int is an MPI error class. */
#ifndef GPUBIND_AWARE_WINDOW_SYNC_H
#define GPUBIND_AWARE_WINDOW_SYNC_H

#include "aware/rma/window.h"

/* Earlier work of the legacy stream has written this rank's GPU memory, for the others to read. */
int window_settle(struct window *window);

/* The group of MPI_Win_post, MPI_Win_start. */
int window_posts(struct window *window, MPI_Group origins);
int window_starts(struct window *window, MPI_Group targets, int assert);
void window_completes(struct window *window);

/* The lock of a rank's GPU memory; type: MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE. */
int window_lock(struct window *window, int target, int type, int assert);
int window_unlock(struct window *window, int target);
/* Of all ranks with GPU memory. */
int window_lock_all(struct window *window, int assert);
int window_unlock_all(struct window *window);

/* The lock of some rank's. */
bool window_holds_any(const struct window *window);

/* A call may access the target's GPU memory: an epoch has begun on both sides. */
int window_enter(struct window *window, int target);
/* No other origin accumulates to that target's GPU memory until window_update_end. */
int window_update_begin(struct window *window, int target);
void window_update_end(struct window *window, int target);

#endif
