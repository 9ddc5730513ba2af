/* Buffers in GPU memory that the application attaches for MPI_Bsend: MPI gets host memory. */
#ifndef GPUBIND_AWARE_ATTACHED_H
#define GPUBIND_AWARE_ATTACHED_H

#include <stddef.h>

/* What to attach instead: host memory of nbytes, or user where that is host memory. NULL: out of
 * memory. */
void *attached_begin(void *user, size_t nbytes);
/* MPI has detached that: frees it, and returns what the application had attached. */
void *attached_end(void *host);

#endif
