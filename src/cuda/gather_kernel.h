/* What the gather kernel is told; read by the host, by nvcc and by the simulated driver.
 *
 * Pieces of an element lie anywhere; in the dense data they follow each other. The table
 * in GPU memory, words of 8 bytes:
 *
 *   position[n + 1]  of each piece in the dense data of an element; the last: its bytes
 *   at[n]            of each piece from the element's start, signed
 *   first[k + 1]     of each GATHER_KERNEL_PART of the dense data: the piece that its
 *                    first byte lies in; the last: n - 1
 */
#ifndef GPUBIND_CUDA_GATHER_KERNEL_H
#define GPUBIND_CUDA_GATHER_KERNEL_H

#define GATHER_KERNEL_NAME "gpubind_gather"
#define GATHER_KERNEL_THREADS 1024
#define GATHER_KERNEL_PART 4096 /* bytes that a warp takes at a time; elements are larger */

struct gather_kernel_job {
    unsigned long long strided, dense, table; /* addresses */
    unsigned long long n, nbytes;             /* pieces of an element; dense bytes in all */
    unsigned long long element;               /* dense bytes of one */
    long long extent;                         /* from one element to the next */
    unsigned steps; /* 2^steps: more than the pieces that a part touches */
    unsigned word;  /* 1, 2, 4, 8 or 16: bytes that all addresses and lengths are whole of */
    unsigned spread; /* dense to strided */
};

#endif
