/* How messages from GPU memory went, for GPUBIND_VERBOSE=1. Any thread may count. */
#ifndef GPUBIND_AWARE_COUNTS_H
#define GPUBIND_AWARE_COUNTS_H

enum count {
    COUNT_DIRECT,    /* the receiver was told where they lie */
    COUNT_BUFFERED,  /* of these: copied to host memory nevertheless */
    COUNT_STAGED,    /* MPI carried them */
    COUNT_MOVED,     /* collective calls that went as direct messages */
    COUNT_REDUCED,   /* and those that NCCL did */
    COUNT_ONE_SIDED, /* calls to GPU memory of a window */
    COUNT_ON_GPU,    /* and those of them that a kernel computed */
    COUNTS
};

void count_one(enum count kind);
/* A line on stderr, where GPUBIND_VERBOSE is 1 and there was something to count; MPI is not finalized. */
void counts_print(void);

#endif
