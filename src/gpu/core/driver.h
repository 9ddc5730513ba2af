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
    CUDA_MEASURE_FUNCTIONS(X)
    /* NULL where the driver has none. */
    CUDA_OPTIONAL_FUNCTIONS(X)
    CUDA_OPTIONAL_MEASURE_FUNCTIONS(X)
#undef X
};

/* Opens the driver; when there is none, or an older one than every required
 * function needs, false, with a sentence in err. */
bool cuda_driver_open(struct cuda_driver *driver, struct gpubind_error *err);

/* The driver, once this process uses CUDA; else NULL. Loads nothing: before the
 * application (or gpu_start) has initialised CUDA there is no GPU memory. */
const struct cuda_driver *gpu_driver(void);
/* gpu_driver has returned it before. */
bool gpu_driver_is_known(void);
/* Initialises CUDA when the application has not, and counts the visible devices. No device is no
 * error, and then gpu_driver may stay NULL. 0, or -1 with a sentence. */
int gpu_visible(int *n, struct gpubind_error *err);
/* The same, where no device is an error. */
int gpu_start(struct gpubind_error *err);
/* -1, and "WHAT: CUDA_ERROR_NAME" in err. */
int gpu_error(int status, const char *what, struct gpubind_error *err);

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
