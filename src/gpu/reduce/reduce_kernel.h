/* Arguments of the reduction kernel; included by the host, by nvcc and by the simulated driver. */
#ifndef GPUBIND_GPU_REDUCE_REDUCE_KERNEL_H
#define GPUBIND_GPU_REDUCE_REDUCE_KERNEL_H

#define REDUCE_KERNEL_NAME "gpubind_reduce"
#define REDUCE_KERNEL_THREADS 512
#define REDUCE_WORD 16   /* bytes that a thread reads and writes at once */
#define REDUCE_AT_ONCE 2 /* words of a thread that are under way */

/* Integers by size and sign, floating-point numbers by size, complex ones by that of a part. */
enum reduce_type {
    REDUCE_U8,
    REDUCE_U16,
    REDUCE_U32,
    REDUCE_U64,
    REDUCE_S8,
    REDUCE_S16,
    REDUCE_S32,
    REDUCE_S64,
    REDUCE_F32,
    REDUCE_F64,
    REDUCE_C32,
    REDUCE_C64,
    REDUCE_TYPES
};

/* Bitwise: BAND, BOR, BXOR. Logical, with a result of 0 or 1: LAND, LOR, LXOR. */
enum reduce_op {
    REDUCE_SUM,
    REDUCE_PROD,
    REDUCE_MIN,
    REDUCE_MAX,
    REDUCE_BAND,
    REDUCE_BOR,
    REDUCE_BXOR,
    REDUCE_LAND,
    REDUCE_LOR,
    REDUCE_LXOR,
    REDUCE_OPS,
    REDUCE_SWAP = REDUCE_OPS /* of unsigned integers: see there */
};

/* REDUCE_SWAP: of one element, where from has three: what is compared with there, what replaces it if they are
 * equal, and room for what was there.
 * Else there = there op from, for n elements. What lies at there is read and written in words: after
 * head elements, nwords of them. */
struct reduce_kernel_job {
    unsigned long long there,
        from; /* addresses, aligned as the type's parts are; they do not overlap */
    unsigned long long n, head, nwords;
    unsigned char type, op;    /* a pair of REDUCE_LIST in reduce_elements.h */
    unsigned char whole_words; /* from is aligned as there is: it is read in words, too */
    /* Which is first in "first < second ? first : second": it matters for a NaN, and for zeros of two
     * signs. */
    unsigned char from_first;
};

#endif
