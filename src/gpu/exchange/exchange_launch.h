/* Launches of the exchange kernel. */
#ifndef GPUBIND_GPU_EXCHANGE_EXCHANGE_LAUNCH_H
#define GPUBIND_GPU_EXCHANGE_EXCHANGE_LAUNCH_H

#include "gpu/exchange/exchange_backend.h"
#include "gpu/exchange/exchange_kernel.h"

/* Returns the driver's result, with the GPU's context current. */
int exchange_by_kernel(const struct exchange *exchange, gpu_function kernel);

#endif
