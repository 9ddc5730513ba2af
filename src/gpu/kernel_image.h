/* The compiled kernels, as nvcc made them: a fatbin. NULL in a build without nvcc. */
#ifndef GPUBIND_GPU_KERNEL_IMAGE_H
#define GPUBIND_GPU_KERNEL_IMAGE_H

extern const void *const kernel_image;

#endif
