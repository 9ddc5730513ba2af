/* Where a thread sleeps until this process or another of the node wakes it. */
#ifndef GPUBIND_MPI_SHM_FUTEX_WAIT_H
#define GPUBIND_MPI_SHM_FUTEX_WAIT_H

#include "mpi/shm/segment.h"

/* Wakes whoever sleeps there. */
void futex_waiter_wake(struct futex_waiter *waiter);
/* Begins to sleep: what is looked at after this and changes later rings. Then futex_waiter_sleep,
 * with what this returned, or futex_waiter_cancel. */
uint32_t futex_waiter_begin(struct futex_waiter *waiter);
/* Until it rings, or for seconds (0: without end). */
void futex_waiter_sleep(struct futex_waiter *waiter, uint32_t heard, double seconds);
void futex_waiter_cancel(struct futex_waiter *waiter);

#endif
