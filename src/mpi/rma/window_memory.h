/* Windows of memory that is shown by file descriptors, not by IPC handles. */
#ifndef GPUBIND_MPI_RMA_WINDOW_MEMORY_H
#define GPUBIND_MPI_RMA_WINDOW_MEMORY_H

#include "mpi/rma/window.h"

/* Collective over win->together. Where all ranks of this node that have a GPU are willing
 * and able: memory of nbytes for this rank's part (none for 0) in win->memory, and the
 * others' mapped. Else nothing is there, on any rank of the node, and the memory is to be
 * made and shown in the other way. */
void window_memory_make(struct gpubind_window *win, bool willing, uint64_t nbytes);

#endif
