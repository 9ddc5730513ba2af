/* The rings and commands of the copy agent's kernel; included by the host, by nvcc and by the
 * simulated driver. See copy_agent.h. */
#ifndef GPUBIND_GPU_COPY_COPY_AGENT_KERNEL_H
#define GPUBIND_GPU_COPY_COPY_AGENT_KERNEL_H

#include "gpu/copy/copy_kernel.h"
#include "gpu/copy/iov_copy_kernel.h"
#include "gpu/copy/strided_kernel.h"

#define AGENT_KERNEL_NAME "gpubind_agent"
#define AGENT_KERNEL_THREADS 512
#define AGENT_COMMANDS 32u  /* in the ring; a power of 2 */
#define AGENT_INSTANCES 64u /* launched and not known to have exited */
#define AGENT_LINE 64       /* bytes: words that different sides write are in different lines */

enum agent_kind { AGENT_ONE, AGENT_COPY, AGENT_STRIDED, AGENT_IOV };

#define AGENT_ONE_BLOCK_BYTES 32768u /* copies of at most so many bytes are done by block 0 */

struct agent_copy {
    unsigned long long to, from, nbytes;
};

/* One copy, or a job of one of the other kernels. */
struct __attribute__((aligned(16))) agent_command {
    unsigned kind;
    unsigned nbytes; /* of the job, whole words of 16 */
    unsigned unused[2];
    union {
        struct agent_copy one;
        struct copy_kernel_job copy;
        struct strided_kernel_job strided;
        struct iov_kernel_job iov;
    } job;
};

/* Page-locked memory. Commands are numbered from 0, around 2^32; number i is at i modulo
 * AGENT_COMMANDS. Instances, the launches of the kernel, are numbered likewise. */
struct agent_ring {
    /* Written by the host. In one word, since each read of host memory costs time: the low half
     * counts commands, the high half the instances told to exit, which have done all of these. */
    unsigned long long tail;
    unsigned char pad0[AGENT_LINE - 8];
    unsigned doorbell; /* instances below this number may run */
    unsigned char pad1[AGENT_LINE - 4];
    /* Written by the kernel. */
    unsigned done; /* commands whose copies are complete */
    unsigned char pad2[AGENT_LINE - 4];
    unsigned exited; /* instances */
    unsigned char pad3[AGENT_LINE - 4];
    struct agent_command commands[AGENT_COMMANDS];
};

/* GPU memory, zeroed before the first instance. Only block 0 reads the ring: reads
 * of one word of host memory by several blocks are serialized, a microsecond each, and delay other
 * accesses of the GPU to host memory. Block 0 broadcasts commands to the others here. */
struct agent_state {
    unsigned shares_done;    /* shares of commands: each block does one share of each */
    unsigned exiting;        /* blocks of the running instance that exit */
    unsigned next;           /* the command that the next instance begins with */
    unsigned nbroadcast;     /* commands that block 0 has broadcast, */
    unsigned command_number; /* and that of the latest of these */
    unsigned ended;          /* instances that block 0 has ended */
    unsigned nreceived;      /* nbroadcast when the next instance begins */
    unsigned unused;
    struct agent_command command; /* the latest that was broadcast */
};

struct agent_kernel_job {
    unsigned long long ring, state; /* addresses; ring 0: exits at once */
    unsigned instance;
};

#endif
