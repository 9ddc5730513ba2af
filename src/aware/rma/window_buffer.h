/* The buffers of a one-sided call, at either side. */
#ifndef GPUBIND_AWARE_WINDOW_BUFFER_H
#define GPUBIND_AWARE_WINDOW_BUFFER_H

#include "aware/memory/typed.h"
#include "aware/rma/window_move.h"

/* The origin's, and where it lies. An MPI error class. */
int window_look_at(struct typed *typed, const struct window_buffer *buffer);
/* GPU memory that has all of it; NULL: there is none. */
const void *window_gpu_of(const struct typed *typed);
/* All bytes lie at one address of either kind of memory, from *start on. */
bool window_is_one_piece(const struct typed *typed, char **start);
/* Bytes that a call accesses at its target. */
MPI_Count window_bytes_there(const struct window_there *there);

#endif
