/* Arguments of the kernel that copies between flags; included by the host, by nvcc and by the simulated driver. Passed
 * by value: at most 4 KiB. */
#ifndef GPUBIND_GPU_EXCHANGE_SIGNAL_KERNEL_H
#define GPUBIND_GPU_EXCHANGE_SIGNAL_KERNEL_H

#define SIGNAL_KERNEL_NAME "gpubind_signal"
#define SIGNAL_KERNEL_THREADS 512
#define SIGNAL_KERNEL_WAITERS 32 /* where there are waits alone */
#define SIGNAL_KERNEL_ITEMS 64   /* in a launch */

/* Waits for a flag, copies, and writes another. Flags are words of 32 bits; address 0: none. */
struct signal_kernel_item {
    unsigned long long wait, set;
    unsigned long long to, from, nbytes;
    unsigned wait_value, set_value; /* wait: (int)(flag - value) >= 0 */
    unsigned parts, first_part;     /* blocks that share it; those of the items before it */
};

struct signal_kernel_job {
    unsigned long long begin, end; /* flags written before all items, and after all */
    unsigned begin_value, end_value;
    /* Of the stream alone, in GPU memory, where there are several parts: */
    unsigned long long shared; /* a struct signal_kernel_shared, zero at first */
    unsigned turn;             /* differs from that of the launch before */
    unsigned parts, n;         /* blocks; items */
    unsigned
        first_wait; /* the items from this one on are waits alone, by the threads of one block */
    struct signal_kernel_item items[SIGNAL_KERNEL_ITEMS];
};

/* By which the blocks of a launch tell each other. */
struct signal_kernel_shared {
    unsigned done; /* parts; 0 between launches */
    unsigned unused;
    unsigned copied[SIGNAL_KERNEL_ITEMS]; /* parts of an item; 0 between launches */
    unsigned go[SIGNAL_KERNEL_ITEMS];     /* the turn in which its wait is over */
};

#endif
