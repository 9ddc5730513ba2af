/* Arguments of the iov kernel; read by the host, by nvcc and by the simulated driver.
 *
 * Bytes go from one end to the other in the order of the message. An end is dense, or its
 * elements consist of blocks at any offsets. The table of such an end in GPU memory,
 * words of 8 bytes:
 *
 *   position[n + 1]  of each block in the message's bytes of an element; the last: its bytes
 *   at[n]            of each block from the element's start, signed
 *   first[k + 1]     of each IOV_KERNEL_TILE of an element's bytes: the block that its
 *                    first byte lies in; the last: n - 1
 */
#ifndef GPUBIND_GPU_COPY_IOV_COPY_KERNEL_H
#define GPUBIND_GPU_COPY_IOV_COPY_KERNEL_H

#define IOV_KERNEL_NAME "gpubind_iov"
#define IOV_KERNEL_THREADS 1024 /* of a block, at most */
#define IOV_KERNEL_PART 2048    /* bytes that a warp takes at a time */
#define IOV_KERNEL_TILE 256
#define IOV_KERNEL_ELEMENT 4096 /* no element has less bytes */

struct iov_kernel_end {
    unsigned long long address, table; /* table: 0 when it is dense */
    unsigned long long n, nbytes;      /* blocks of an element, and its bytes */
    long long extent;                  /* from one element to the next */
    unsigned long long steps;          /* 2^steps: more than the blocks that a tile touches */
};

struct iov_kernel_job {
    struct iov_kernel_end to, from;
    unsigned long long nbytes;
    unsigned word; /* 1, 2, 4, 8 or 16: bytes that all addresses and lengths are whole of */
};

#endif
