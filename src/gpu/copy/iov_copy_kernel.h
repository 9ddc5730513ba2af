/* What the gather kernel is told; read by the host, by nvcc and by the simulated driver.
 *
 * Bytes go from one end to the other in the order of the message. An end is dense, or its
 * elements consist of pieces that lie anywhere. The table of such an end in GPU memory,
 * words of 8 bytes:
 *
 *   position[n + 1]  of each piece in the message's bytes of an element; the last: its bytes
 *   at[n]            of each piece from the element's start, signed
 *   first[k + 1]     of each GATHER_KERNEL_TILE of an element's bytes: the piece that its
 *                    first byte lies in; the last: n - 1
 */
#ifndef GPUBIND_GPU_COPY_IOV_COPY_KERNEL_H
#define GPUBIND_GPU_COPY_IOV_COPY_KERNEL_H

#define GATHER_KERNEL_NAME "gpubind_gather"
#define GATHER_KERNEL_THREADS 1024 /* of a block, at most */
#define GATHER_KERNEL_PART 2048    /* bytes that a warp takes at a time */
#define GATHER_KERNEL_TILE 256
#define GATHER_KERNEL_ELEMENT 4096 /* no element has less bytes */

struct gather_kernel_end {
    unsigned long long address, table; /* table: 0 when it is dense */
    unsigned long long n, nbytes;      /* pieces of an element, and its bytes */
    long long extent;                  /* from one element to the next */
    unsigned long long steps; /* 2^steps: more than the pieces that a tile touches */
};

struct gather_kernel_job {
    struct gather_kernel_end to, from;
    unsigned long long nbytes;
    unsigned word; /* 1, 2, 4, 8 or 16: bytes that all addresses and lengths are whole of */
};

#endif
