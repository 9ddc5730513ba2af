/* The CUDA driver, opened at run time; nothing links against it. */
#ifndef GPUBIND_GPU_CORE_DRIVER_H
#define GPUBIND_GPU_CORE_DRIVER_H

#include <stdbool.h>

#include "core/base/error.h"
#include "gpu/core/gpu_types.h"

#define CUDA_MAX_SEEN 256

struct cuda_driver {
    void *object; /* what dlopen gave */
#define X(name, arguments) int(*name) arguments;
    CUDA_FUNCTIONS(X)
    CUDA_OPTIONAL_FUNCTIONS(X) /* NULL where the driver has none */
#undef X
};

/* Opens the driver; when there is none, or an older one than every required
 * function needs, false, with a sentence in err. */
bool cuda_driver_open(struct cuda_driver *driver, struct gpubind_error *err);
/* The same, only where this process has opened it already. */
bool cuda_driver_join(struct cuda_driver *driver);

struct cuda_seen {
    int n;
    char uuid[CUDA_MAX_SEEN][48]; /* the digits, without GPU- or MIG- */
    char pci[CUDA_MAX_SEEN][24];
};

/* Initialises CUDA, which takes hundreds of milliseconds, and lists the devices
 * that this process sees, in the driver's order. Returns 1 when there is no driver
 * on this machine, -1 when it fails otherwise; seen is then empty. No device at
 * all is success. */
int cuda_list(struct cuda_seen *seen, struct gpubind_error *err);

#endif
