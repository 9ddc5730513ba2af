/* Which ranks of the node put messages into streams of which GPUs. Kernels of several processes take turns on a GPU,
 * so one that waits there would take the time of the one that it waits for. */
#ifndef GPUBIND_MPI_CORE_GPU_USERS_H
#define GPUBIND_MPI_CORE_GPU_USERS_H

#include "gpu/core/gpu_context.h"

/* This rank has a stream of the GPU. */
void gpu_users_add(const struct gpu *gpu);
/* Another rank of the node has one, too. Where ranks share no memory, that is not known, and not so. */
bool gpu_users_are_many(const struct gpu *gpu);

#endif
