/* What the kernel of exchanges is told; read by the host, by nvcc
 * and by the simulated driver. Passed by value: 4 KiB is what a kernel may take. */
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
    unsigned long long ready, done; /* ready: 0 when the pair is sure */
};

struct kernel_receive {
    unsigned long long ready, done;
    unsigned parts;
};

struct exchange_kernel_job {
    unsigned nsends, nreceives;
    unsigned posts, waits; /* what is done for the receives: 0 or 1 */
    struct kernel_send sends[KERNEL_SENDS];
    struct kernel_receive receives[KERNEL_RECEIVES];
    struct kernel_levels shapes[KERNEL_STRIDED];
};

#endif
