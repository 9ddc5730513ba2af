/* Whether GPU buffers are staged. */
#ifndef GPUBIND_AWARE_START_H
#define GPUBIND_AWARE_START_H

#include <stdbool.h>

/* GPUBIND_GPU_AWARE is on; or auto, and the MPI does not take GPU memory by itself. */
bool aware_is_on(void);

/* What MPI says of itself. */
bool mpi_is_cuda_aware(void);

/* With GPUBIND_VERBOSE=1, rank 0 says that everything is left to an MPI which takes GPU memory. MPI has been initialised. */
void aware_tell(void);

#endif
