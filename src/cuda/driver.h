/* The CUDA driver, opened at run time; nothing links against it. */
#ifndef GPUBIND_CUDA_DRIVER_H
#define GPUBIND_CUDA_DRIVER_H

#include "core/error.h"

#define CUDA_MAX_SEEN 256

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
