/* What compute_gpu.c and kernels.cu agree on. */
#ifndef JACOBI_KERNELS_H
#define JACOBI_KERNELS_H

#define BLOCK_THREADS 256
#define BLOCK_WARPS (BLOCK_THREADS / 32)
/* A thread moves 16 bytes of a row at once. */
#define THREAD_BYTES 16

/* A launch computes chunks of rows, the nth from row first + n * stride on, each of as
 * many as `chunk`, none after row last. A warp marches down a chunk, in columns that are
 * 32 threads wide. */
struct kernel_job {
    const void *from; /* row 0, which is a ghost row, column 0; aligned */
    void *to;
    double *change; /* to be increased by the sum of the squared changes; may be NULL */
    long pitch;     /* elements from one row to the next */
    int columns;
    int first, last;
    int chunk, stride, nchunks;
    int warps_across; /* of a block; the others march further down */
};

#ifndef __cplusplus
/* The kernels' fatbin; NULL when they were not compiled. */
extern const void *const kernels_image;
#endif

#endif
