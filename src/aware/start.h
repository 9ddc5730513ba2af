/* Whether GPU buffers are staged. */
#ifndef GPUBIND_AWARE_START_H
#define GPUBIND_AWARE_START_H

#include <stdbool.h>

/* GPUBIND_GPU_AWARE is on; or auto, and the MPI does not take GPU memory by itself. */
bool aware_is_on(void);
/* libgpubind is initialised, and moves strided data. */
bool aware_has_library(void);
/* MPI_Init has returned result, which it returns; MPI_Finalize is about to be called. */
int aware_started(int result);
void aware_ending(void);

#endif
