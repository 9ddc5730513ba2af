/* The kernels of copy/ and exchange/, for core/, which loads them. */
#ifndef GPUBIND_GPU_KERNEL_TABLE_H
#define GPUBIND_GPU_KERNEL_TABLE_H

/* Before a GPU is first seen; without it no kernel is used. */
void kernel_table_register(void);

#endif
