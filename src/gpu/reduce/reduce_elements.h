/* What becomes of two elements. Included by the reduction kernel, by the simulated driver, and by who compares
 * it with what an MPI computes: C and CUDA. */
#ifndef GPUBIND_GPU_REDUCE_REDUCE_ELEMENTS_H
#define GPUBIND_GPU_REDUCE_REDUCE_ELEMENTS_H

#include "gpu/reduce/reduce_kernel.h"

#ifdef __CUDACC__
#define REDUCE_FUNCTION static __device__ __forceinline__
#define REDUCE_UNROLLED _Pragma("unroll")
#else
#include <stdbool.h>

#define REDUCE_FUNCTION __attribute__((unused)) static
#define REDUCE_UNROLLED
#endif

/* clang-format off */

/* Elements, in memory of any type. */
typedef unsigned char __attribute__((may_alias)) reduce_U8;
typedef unsigned short __attribute__((may_alias)) reduce_U16;
typedef unsigned int __attribute__((may_alias)) reduce_U32;
typedef unsigned long long __attribute__((may_alias)) reduce_U64;
typedef signed char __attribute__((may_alias)) reduce_S8;
typedef short __attribute__((may_alias)) reduce_S16;
typedef int __attribute__((may_alias)) reduce_S32;
typedef long long __attribute__((may_alias)) reduce_S64;
typedef float __attribute__((may_alias)) reduce_F32;
typedef double __attribute__((may_alias)) reduce_F64;
typedef struct __attribute__((may_alias)) reduce_c32 { float re, im; } reduce_C32;
typedef struct __attribute__((may_alias)) reduce_c64 { double re, im; } reduce_C64;

/* Products of parts are rounded before they are added. Where both parts of the result are NaN, C's operator
 * may find an infinity; this does not. */
#ifdef __CUDACC__
#define REDUCE_ROUNDED(number, a, b, rounded) rounded(a, b)
#else
#define REDUCE_ROUNDED(number, a, b, rounded) ((volatile const number){(a) * (b)})
#endif
#define REDUCE_COMPLEX(TYPE, number, rounded)                                               \
    REDUCE_FUNCTION reduce_##TYPE reduce_product_##TYPE(reduce_##TYPE a, reduce_##TYPE b)   \
    {                                                                                       \
        reduce_##TYPE c;                                                                    \
                                                                                            \
        c.re = REDUCE_ROUNDED(number, a.re, b.re, rounded) -                                \
               REDUCE_ROUNDED(number, a.im, b.im, rounded);                                 \
        c.im = REDUCE_ROUNDED(number, a.re, b.im, rounded) +                                \
               REDUCE_ROUNDED(number, a.im, b.re, rounded);                                 \
        return c;                                                                           \
    }
REDUCE_COMPLEX(C32, float, __fmul_rn)
REDUCE_COMPLEX(C64, double, __dmul_rn)

/* All that there is: X(TYPE, OP, RESULT), where a is there and b is from. 1u: small integers would be signed,
 * and overflow. Signed integers have what differs from unsigned ones; the sum of complex numbers is one of
 * twice as many numbers. */
#define REDUCE_LIST(X)                                      \
    REDUCE_UNSIGNED(X, U8)                                  \
    REDUCE_UNSIGNED(X, U16)                                 \
    REDUCE_UNSIGNED(X, U32)                                 \
    REDUCE_UNSIGNED(X, U64)                                 \
    REDUCE_ORDERED(X, S8)                                   \
    REDUCE_ORDERED(X, S16)                                  \
    REDUCE_ORDERED(X, S32)                                  \
    REDUCE_ORDERED(X, S64)                                  \
    REDUCE_FLOATING(X, F32)                                 \
    REDUCE_FLOATING(X, F64)                                 \
    X(C32, PROD, reduce_product_C32(a, b))                  \
    X(C64, PROD, reduce_product_C64(a, b))
#define REDUCE_UNSIGNED(X, TYPE)                            \
    REDUCE_ORDERED(X, TYPE)                                 \
    X(TYPE, SUM, (reduce_##TYPE)(1u * a + b))               \
    X(TYPE, PROD, (reduce_##TYPE)(1u * a * b))              \
    X(TYPE, BAND, (reduce_##TYPE)(a & b))                   \
    X(TYPE, BOR, (reduce_##TYPE)(a | b))                    \
    X(TYPE, BXOR, (reduce_##TYPE)(a ^ b))                   \
    X(TYPE, LAND, a && b)                                   \
    X(TYPE, LOR, a || b)                                    \
    X(TYPE, LXOR, !a != !b)
#define REDUCE_ORDERED(X, TYPE)                             \
    X(TYPE, MIN, a < b ? a : b)                             \
    X(TYPE, MAX, a > b ? a : b)
#define REDUCE_FLOATING(X, TYPE)                            \
    X(TYPE, SUM, a + b)                                     \
    X(TYPE, PROD, a * b)                                    \
    X(TYPE, MIN, from_first ? (b < a ? b : a) : (a < b ? a : b)) \
    X(TYPE, MAX, from_first ? (b > a ? b : a) : (a > b ? a : b))

/* One element. */
#define REDUCE_ELEMENT(TYPE, OP, RESULT)                                                   \
    REDUCE_FUNCTION reduce_##TYPE reduce_##TYPE##_##OP(reduce_##TYPE a, reduce_##TYPE b,   \
                                                       bool from_first)                    \
    {                                                                                      \
        (void)from_first;                                                                  \
        return RESULT;                                                                     \
    }
REDUCE_LIST(REDUCE_ELEMENT)
#undef REDUCE_ELEMENT

/* clang-format on */

#endif
