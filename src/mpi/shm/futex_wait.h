/* Where a thread sleeps until this process or another of the node wakes it. */
#ifndef GPUBIND_MPI_SHM_FUTEX_WAIT_H
#define GPUBIND_MPI_SHM_FUTEX_WAIT_H

#include "mpi/shm/segment.h"

/* Wakes whoever sleeps there. */
void bell_ring(struct bell *bell);
/* Begins to sleep: what is looked at after this and changes later rings. Then bell_sleep,
 * with what this returned, or bell_stay_up. */
uint32_t bell_lie_down(struct bell *bell);
/* Until it rings, or for seconds (0: without end). */
void bell_sleep(struct bell *bell, uint32_t heard, double seconds);
void bell_stay_up(struct bell *bell);

#endif
