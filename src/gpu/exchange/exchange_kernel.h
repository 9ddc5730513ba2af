/* Arguments of the exchange kernel; included by the host, by nvcc and by the simulated driver.
 * Passed by value: at most 4 KiB. */
#ifndef GPUBIND_GPU_EXCHANGE_EXCHANGE_KERNEL_H
#define GPUBIND_GPU_EXCHANGE_EXCHANGE_KERNEL_H

#include "gpu/copy/strided_kernel.h"

#define EXCHANGE_KERNEL_NAME "gpubind_exchange"
#define EXCHANGE_KERNEL_THREADS 512

#define EXCHANGE_KERNEL_PARTS 4096 /* of all sends in a launch */

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
    unsigned several;      /* 0: each block has at most one part of all sends */
    struct kernel_send sends[KERNEL_SENDS];
    struct kernel_receive receives[KERNEL_RECEIVES];
    struct kernel_levels strided[KERNEL_STRIDED];
};

/* The same in GPU memory, for more messages, and for a launch that is queued before its messages are known, as into a
 * graph: the kernel waits for the gate to be other than 0. The host posts the job, and opens the gate, in page-locked
 * memory, from which the first launch takes it: a copy by the driver might wait for that very launch. Where the messages
 * cannot be passed (BROKEN, or, if it traps, broken flags) it ends by a trap: the application's next look at the stream
 * or the GPU finds an error, and no stale data. At the library's end (OVER) it does nothing. */
#define DEFERRED_KERNEL_NAME "gpubind_exchange_deferred"
#define EXCHANGE_GATE_OPEN 1u
#define EXCHANGE_GATE_BROKEN 2u
#define EXCHANGE_GATE_OVER 3u
#define DEFERRED_MESSAGES 128 /* of either kind */

struct deferred_kernel_job {
    unsigned gate, nsends, nreceives, several;
    unsigned traps, npresets;
    unsigned long long nbytes; /* with the arrays, which follow */
    /* Arrays of kernel_send, kernel_receive, kernel_levels; and for each receive a kernel_copy: of 0 parts, or of one,
     * that copies what has come to a buffer, whereupon `ready` is set, and not before. */
    unsigned long long sends, receives, strided, takes;
    unsigned long long presets; /* npresets flags, which the launch that takes the job sets to 1 */
};

struct deferred_kernel_launch {
    unsigned long long job;    /* 0: nothing is to be done */
    unsigned long long posted; /* 0: the job is in its place */
};

#endif
