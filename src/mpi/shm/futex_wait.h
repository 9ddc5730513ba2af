/* A thread sleeps on a futex until a thread of this or another process of the node wakes it. */
#ifndef GPUBIND_MPI_SHM_FUTEX_WAIT_H
#define GPUBIND_MPI_SHM_FUTEX_WAIT_H

#include "mpi/shm/segment.h"

/* Wakes the thread. */
void futex_waiter_wake(struct futex_waiter *waiter);
/* Announces the sleep: changes that are made after this, and that the caller then checks for, wake
 * the thread. futex_waiter_sleep with the returned value, or futex_waiter_cancel, follows. */
uint32_t futex_waiter_begin(struct futex_waiter *waiter);
/* Sleeps until the thread is woken, or for seconds (0: without limit). */
void futex_waiter_sleep(struct futex_waiter *waiter, uint32_t heard, double seconds);
void futex_waiter_cancel(struct futex_waiter *waiter);

#endif
