/* Arguments of the copy kernel; included by the host, by nvcc and by the simulated driver. Passed
 * by value: at most 4 KiB. */
#ifndef GPUBIND_GPU_COPY_COPY_KERNEL_H
#define GPUBIND_GPU_COPY_COPY_KERNEL_H

#define COPY_KERNEL_NAME "gpubind_copy"
#define COPY_KERNEL_MOST 64 /* copies in a launch */
#define COPY_KERNEL_THREADS 1024
#define COPY_KERNEL_CHUNK 4096 /* bytes that a warp takes at a time */

struct copy_kernel_job {
    unsigned long long to[COPY_KERNEL_MOST], from[COPY_KERNEL_MOST]; /* addresses */
    unsigned long long nbytes[COPY_KERNEL_MOST];
    unsigned chunks_before[COPY_KERNEL_MOST + 1]; /* of the copies before this one */
    unsigned n;
};

#endif
