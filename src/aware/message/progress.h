/* What this process's calls do for direct messages that are under way, for the other ranks' sake. Any
 * thread may call these. */
#ifndef GPUBIND_AWARE_PROGRESS_H
#define GPUBIND_AWARE_PROGRESS_H

#include <stdbool.h>

#define PROGRESS_SPINS 64 /* of a waiting loop, between two calls of MPI and of the scheduler */

/* From now on progress_step calls pull until it returns false, where is_pullable says so: receives with
 * direct messages, of the table of requests. Always the same two functions. */
void progress_of_receives(bool (*pull)(void), bool (*is_pullable)(void));
/* Direct messages are under way that this process looks after in its calls. */
bool progress_is_pending(void);
void progress_step(void);
/* Between two looks at what another process will do: direct messages and, now and then, MPI make
 * progress. */
void progress_idle(unsigned spins);

#endif
