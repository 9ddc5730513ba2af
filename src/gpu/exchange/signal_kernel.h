/* Arguments of the kernel that copies and then writes flags; included by the host, by nvcc and by the simulated
 * driver. */
#ifndef GPUBIND_GPU_EXCHANGE_SIGNAL_KERNEL_H
#define GPUBIND_GPU_EXCHANGE_SIGNAL_KERNEL_H

#define SIGNAL_KERNEL_NAME "gpubind_signal"
#define SIGNAL_KERNEL_THREADS 1024 /* of its one block */
#define SIGNAL_KERNEL_FLAGS 2

struct signal_kernel_job {
    unsigned long long to, from, nbytes;
    unsigned long long flags[SIGNAL_KERNEL_FLAGS]; /* of 32 bits; 0: none */
    unsigned values[SIGNAL_KERNEL_FLAGS];
};

#endif
