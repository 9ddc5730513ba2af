/* Arguments of the kernel that copies between flags; included by the host, by nvcc and by the simulated driver. Passed
 * by value: at most 4 KiB. */
#ifndef GPUBIND_GPU_EXCHANGE_SIGNAL_KERNEL_H
#define GPUBIND_GPU_EXCHANGE_SIGNAL_KERNEL_H

#define SIGNAL_KERNEL_NAME "gpubind_signal"
#define SIGNAL_KERNEL_THREADS 512
#define SIGNAL_KERNEL_WAITERS 32 /* where there are waits alone */
#define SIGNAL_KERNEL_FEW 64     /* where no copy has more than SIGNAL_KERNEL_LITTLE bytes */
#define SIGNAL_KERNEL_LITTLE 2048
#define SIGNAL_KERNEL_ITEMS 64 /* in a launch */

#define SIGNAL_KERNEL_SLOT_DATA \
    64 /* where the data of a slot begin, behind its flag (gpu_slots.h) */

/* Waits for a flag, copies, and writes another. Flags are words of 32 bits; address 0: none. A slot (with no
 * flag to be set): an item that waits for a flag waits for either, until the slot's flag is set_value, or wait has
 * come; data that have come to the slot are copied from there, instead of from, which is the same where there are
 * several parts, or none. Another item, of one part, writes the data to the slot first, and set_value to its flag. */
struct signal_kernel_item {
    unsigned long long wait, set, to, from;
    unsigned long long slot; /* 0: none */
    unsigned nbytes;
    unsigned wait_value, set_value;   /* wait: (int)(flag - value) >= 0 */
    unsigned short parts, first_part; /* blocks that share it; those of the items before it */
};

struct signal_kernel_job {
    /* Flags written before all items, after those of the first sent_parts blocks, and after all. */
    unsigned long long begin, sent, end;
    unsigned begin_value, sent_value, end_value;
    unsigned sent_parts; /* 0: sent is not written */
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
    unsigned done;                        /* parts; 0 between launches */
    unsigned sent;                        /* parts of sent_parts; 0 between launches */
    unsigned copied[SIGNAL_KERNEL_ITEMS]; /* parts of an item; 0 between launches */
    unsigned go[SIGNAL_KERNEL_ITEMS];     /* the turn in which its wait is over */
};

#endif
