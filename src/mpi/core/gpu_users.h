/* Which ranks of the node put messages into streams of which GPUs. Without MPS, kernels of several processes take turns
 * on a GPU, so one that waits there would take the time of the one that it waits for. */
#ifndef GPUBIND_MPI_CORE_GPU_USERS_H
#define GPUBIND_MPI_CORE_GPU_USERS_H

#include "gpu/core/gpu_context.h"

/* This rank is one. Counts them, too. */
void gpu_users_add(struct gpu *gpu);
/* How many of the node there are besides this rank, and this rank; the GPU's `users` from then on. Where ranks share no
 * memory, others are not known. */
unsigned gpu_users(struct gpu *gpu);

#endif
