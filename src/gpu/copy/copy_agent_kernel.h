/* What the copy agent's kernel is told; read by the host, by nvcc and by the simulated
 * driver. See copy_agent.h. */
#ifndef GPUBIND_GPU_COPY_COPY_AGENT_KERNEL_H
#define GPUBIND_GPU_COPY_COPY_AGENT_KERNEL_H

#include "gpu/copy/copy_kernel.h"
#include "gpu/copy/iov_copy_kernel.h"
#include "gpu/copy/strided_kernel.h"

#define AGENT_KERNEL_NAME "gpubind_agent"
#define AGENT_KERNEL_THREADS 512
#define AGENT_COMMANDS 32u  /* in the ring; a power of 2 */
#define AGENT_INSTANCES 64u /* launched and not known to have exited */
#define AGENT_LINE 64       /* bytes: words that different sides write lie apart */

enum agent_kind { AGENT_ONE, AGENT_COPY, AGENT_STRIDED, AGENT_IOV };

#define AGENT_ALONE 32768u /* bytes of one copy that one block does, without the others */

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
        struct strided_kernel_job layout;
        struct iov_kernel_job gather;
    } job;
};

/* Page-locked memory. Commands are numbered from 0, around 2^32; number i is at i modulo
 * AGENT_COMMANDS. Instances, the launches of the kernel, are numbered likewise. */
struct agent_ring {
    /* Written by the host. In one word, since every look at host memory counts: below, the
     * commands so far; above, the instances that are ended, which have done all of these. */
    unsigned long long tail;
    unsigned char apart0[AGENT_LINE - 8];
    unsigned doorbell; /* instances below this number may run */
    unsigned char apart1[AGENT_LINE - 4];
    /* Written by the kernel. */
    unsigned done; /* commands whose data are where they belong */
    unsigned char apart2[AGENT_LINE - 4];
    unsigned exited; /* instances */
    unsigned char apart3[AGENT_LINE - 4];
    struct agent_command commands[AGENT_COMMANDS];
};

/* GPU memory, zeroed before the first instance. Only block 0 looks at the ring: looks
 * of several at one word of host memory go one after the other, a microsecond each, and delay
 * whatever else the GPU has to do there. It passes commands on to the others here. */
struct agent_state {
    unsigned finished; /* blocks that have done their share of a command, of all commands */
    unsigned leaving;  /* blocks of the running instance that exit */
    unsigned next;     /* the command that the next instance begins with */
    unsigned passed;   /* commands that block 0 has passed on, */
    unsigned number;   /* and that of the latest of these */
    unsigned ended;    /* instances that block 0 has ended */
    unsigned heard;    /* what passed was when the next instance begins */
    unsigned unused;
    struct agent_command command; /* the latest that was passed on */
};

struct agent_kernel_job {
    unsigned long long ring, state; /* addresses; ring 0: there is nothing to do */
    unsigned instance;
};

#endif
