/* Arguments of the strided copy kernel, shared with the exchange kernel and the copy agent.
 * Included by the host, by nvcc and by the simulated driver. */
#ifndef GPUBIND_GPU_COPY_STRIDED_KERNEL_H
#define GPUBIND_GPU_COPY_STRIDED_KERNEL_H

#define STRIDED_KERNEL_NAME "gpubind_strided_copy"
#define STRIDED_KERNEL_THREADS 1024
#define KERNEL_LEVELS 4
#define KERNEL_CONTIGUOUS 0xffff /* instead of an index of levels: both ends are contiguous */
#define KERNEL_UNITS_MOST 0x7fffffffull /* in a strided copy */
#define KERNEL_PART_ALIGNED 128ull      /* bytes: where parts begin */

/* Where a message's units lie. Level 0 is n[0] units stride[0] bytes apart; n[k] elements
 * of level k - 1 are one of level k; the last level has as many as there are. */
struct kernel_levels {
    unsigned levels;
    unsigned n[KERNEL_LEVELS - 1];
    unsigned magic[KERNEL_LEVELS - 1], shift[KERNEL_LEVELS - 1]; /* i / n, without dividing */
    long long stride[KERNEL_LEVELS];
};

struct kernel_copy {
    unsigned long long to, from, nbytes;
    unsigned short parts;                  /* so many blocks share it */
    unsigned short to_levels, from_levels; /* both KERNEL_CONTIGUOUS, or both indices */
    unsigned short unit;                   /* bytes; of strided copies */
};

struct strided_kernel_job {
    struct kernel_copy copy; /* parts: the blocks of the launch */
    struct kernel_levels strided[2];
};

#ifdef __CUDACC__
#define KERNEL_FUNCTION static __device__ __forceinline__
#define KERNEL_LOOP _Pragma("unroll 1")
#else
#define KERNEL_LOOP
#define KERNEL_FUNCTION __attribute__((unused)) static
#endif

/* Where the ith unit lies, in bytes from the first; i is at most KERNEL_UNITS_MOST. */
KERNEL_FUNCTION long long kernel_offset(const struct kernel_levels *strided, unsigned i)
{
    long long at = 0;
    unsigned level;

    KERNEL_LOOP for (level = 0; level + 1 < strided->levels; level++)
    {
        const unsigned above = (unsigned)((unsigned long long)i * strided->magic[level] >> 32) >>
                               strided->shift[level];

        at += (long long)(i - above * strided->n[level]) * strided->stride[level];
        i = above;
    }
    return at + (long long)i * strided->stride[level];
}

/* The bytes of a part: from *begin to what is returned. */
KERNEL_FUNCTION unsigned long long kernel_part(const struct kernel_copy *copy, unsigned part,
                                               unsigned long long *begin)
{
    const unsigned long long even = (copy->nbytes + copy->parts - 1) / copy->parts;
    const unsigned long long size = (even + KERNEL_PART_ALIGNED - 1) / KERNEL_PART_ALIGNED *
                                    KERNEL_PART_ALIGNED;
    const unsigned long long end = size * (part + 1);

    *begin = size * part < copy->nbytes ? size * part : copy->nbytes;
    return end < copy->nbytes ? end : copy->nbytes;
}

#endif
