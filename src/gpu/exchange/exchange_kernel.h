/* Arguments of the exchange kernel; included by the host, by nvcc and by the simulated driver.
 * Passed by value: at most 4 KiB. */
#ifndef GPUBIND_GPU_EXCHANGE_EXCHANGE_KERNEL_H
#define GPUBIND_GPU_EXCHANGE_EXCHANGE_KERNEL_H

#include "gpu/copy/strided_kernel.h"

#define EXCHANGE_KERNEL_NAME "gpubind_exchange"
#define EXCHANGE_KERNEL_THREADS 256
#define EXCHANGE_KERNEL_BLOCKS 128 /* at most: all of them must be resident at once */

#define KERNEL_SENDS 30 /* in a launch */
#define KERNEL_RECEIVES 30
#define KERNEL_STRIDED 24

struct kernel_send {
    struct kernel_copy copy;
    unsigned long long ready, done; /* ready: 0 without a handshake */
};

struct kernel_receive {
    unsigned long long ready, done;
    unsigned parts;
};

struct exchange_kernel_job {
    unsigned nsends, nreceives;
    unsigned posts, waits; /* 0 or 1: set `ready` of the receives; wait for their `done` */
    struct kernel_send sends[KERNEL_SENDS];
    struct kernel_receive receives[KERNEL_RECEIVES];
    struct kernel_levels strided[KERNEL_STRIDED];
};

#endif
