/* What this library does before MPI ends. */
#ifndef GPUBIND_AWARE_ENDING_H
#define GPUBIND_AWARE_ENDING_H

#include <stdbool.h>

/* After MPI_Init: it will be done in MPI_Finalize, after the callbacks that the application has attached to
 * MPI_COMM_SELF. */
void ending_prepare(void);
bool ending_is_prepared(void);
/* Does it. This thread is behind this library from then on (next.h). */
void ending_now(void);

#endif
