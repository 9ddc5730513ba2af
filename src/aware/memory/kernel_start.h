/* Kernels in libgpubind-aware: whether there may be some. Any thread may call this. */
#ifndef GPUBIND_AWARE_KERNEL_START_H
#define GPUBIND_AWARE_KERNEL_START_H

/* Before the first is asked for. With GPUBIND_COPY_BLOCKS=0 there is none. */
void kernel_start(void);

#endif
