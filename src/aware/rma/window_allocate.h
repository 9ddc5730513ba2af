/* MPI_Win_allocate with GPU memory: where the info says so by mpi_memory_alloc_kinds, or, without that key,
 * GPUBIND_WIN_MEMORY does.
 *
 * MPI 4.1 has that key for sessions, communicators and windows to say what kinds they support, and says of
 * mpi_assert_memory_alloc_kinds that it does not apply to what MPI_Win_allocate allocates (12.2.1): it names
 * no key for the place of that memory, and leaves it to the implementation (9.2). Here it is the memory kinds'
 * own key, if all that it lists is CUDA's. A list with the host's kinds, as MPI_Comm_get_info gives it, tells
 * what a program may pass, and its memory stays the host's. */
#ifndef GPUBIND_AWARE_WINDOW_ALLOCATE_H
#define GPUBIND_AWARE_WINDOW_ALLOCATE_H

#include "aware/rma/window.h"

#define WINDOW_KINDS_KEY "mpi_memory_alloc_kinds"
#define WINDOW_KINDS_GPU "cuda:device" /* its value for a window that has GPU memory */

/* For all ranks of the communicator to call, before they make the window: MPI is to allocate plan->nbytes. An
 * MPI error class, the same on all ranks that are within each other's reach. */
int window_plan_allocate(struct window_plan *plan, MPI_Comm comm, MPI_Aint nbytes, MPI_Aint unit,
                         MPI_Info info);
/* MPI has made it with that result, and *base. An MPI error class. */
int window_allocated(struct window_plan *plan, int result, MPI_Comm comm, void **base, MPI_Win win);

#endif
