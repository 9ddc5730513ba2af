/* Window memory that ranks share by file descriptors instead of IPC handles. */
#ifndef GPUBIND_MPI_RMA_WINDOW_MEMORY_H
#define GPUBIND_MPI_RMA_WINDOW_MEMORY_H

#include "mpi/rma/window.h"

/* Collective over win->own_comm. Where all ranks of this node with a GPU are willing and able,
 * allocates this rank's part of nbytes (0: none) as win->memory and maps the others'. Otherwise
 * nothing is allocated on any rank of the node, and the caller uses IPC handles. */
void window_memory_make(struct gpubind_window *win, bool willing, uint64_t nbytes);

#endif
