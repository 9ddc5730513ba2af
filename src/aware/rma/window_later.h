/* GPU buffers of one-sided calls to memory that is MPI's: staged until the call is complete. Each int is an
 * MPI error class. */
#ifndef GPUBIND_AWARE_WINDOW_LATER_H
#define GPUBIND_AWARE_WINDOW_LATER_H

#include "aware/rma/window.h"

#define WINDOW_ALL (-1) /* targets */

/* A call to that target has returned result; its n buffers are taken over. */
int window_later(MPI_Win win, int target, struct staged *buffers, int n, int result);
/* To be asked before MPI's synchronisation: how many calls have returned, which it will complete. */
uint64_t window_later_number(struct window *window);
/* MPI has completed, with result, the calls to that target, or to all, up to that number; those of other
 * threads that came meanwhile may not be. All that are return with it, also those that another thread ends. */
int window_later_end(struct window *window, int target, uint64_t number, int result);

#endif
