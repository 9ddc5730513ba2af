/* The reduction kernel: each type and operation, at any alignment, against the same computed one by one. */
#include <stdint.h>
#include <stdlib.h>

#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_context.h"
#include "gpu/kernel_table.h"
#include "gpu/reduce/reduce.h"
#include "tests/tap.h"

#define MOST 20011 /* elements */
#define MARGIN 4   /* elements before and behind, which stay as they are */
#define BYTES ((MOST + 2 * MARGIN) * sizeof(double[2]))

static const char *const types[REDUCE_TYPES] = {"U8",  "U16", "U32", "U64", "S8",  "S16",
                                                "S32", "S64", "F32", "F64", "C32", "C64"};
static const char *const ops[REDUCE_OPS] = {"SUM", "PROD", "MIN",  "MAX", "BAND",
                                            "BOR", "BXOR", "LAND", "LOR", "LXOR"};

static gpu_context context;
static gpu_stream stream;
static gpu_address memory[2]; /* there, from */
static char host[2][BYTES], before[BYTES];

static void must(int status, const char *what)
{
    struct gpubind_error err;

    if (status == GPU_OK)
        return;
    gpu_error(status, what, &err);
    fprintf(stderr, "the test's own call failed: %s\n", err.text);
    abort();
}

/* ---- what is right */

/* A value that no compiler joins with another. */
#define ALONE(T, x) ((volatile T){(T)(x)})
#define FIRST (from_first ? *b : *a)
#define SECOND (from_first ? *a : *b)
#define ORDERED(T)                            \
    case REDUCE_MIN:                          \
        *a = FIRST < SECOND ? FIRST : SECOND; \
        return true;                          \
    case REDUCE_MAX:                          \
        *a = FIRST > SECOND ? FIRST : SECOND; \
        return true;
#define SIMPLE(T, OP, result) \
    case REDUCE_##OP:         \
        *a = (T)(result);     \
        return true;
#define OF_TYPE(T, cases)                                                               \
    static bool reduce_##T(void *there, const void *from, unsigned op, bool from_first) \
    {                                                                                   \
        T *a = there;                                                                   \
        const T *b = from;                                                              \
                                                                                        \
        (void)from_first;                                                               \
        switch (op) {                                                                   \
            cases default : return false;                                               \
        }                                                                               \
    }
#define UNSIGNED(T)                                                                           \
    OF_TYPE(T, ORDERED(T) SIMPLE(T, SUM, (uint64_t)*a + *b) SIMPLE(T, PROD, (uint64_t)*a **b) \
                   SIMPLE(T, BAND, *a &*b) SIMPLE(T, BOR, *a | *b) SIMPLE(T, BXOR, *a ^ *b)   \
                       SIMPLE(T, LAND, *a &&*b) SIMPLE(T, LOR, *a || *b)                      \
                           SIMPLE(T, LXOR, (*a != 0) != (*b != 0)))
#define FLOATING(T) OF_TYPE(T, ORDERED(T) SIMPLE(T, SUM, *a + *b) SIMPLE(T, PROD, *a **b))
UNSIGNED(uint8_t)
UNSIGNED(uint16_t)
UNSIGNED(uint32_t)
UNSIGNED(uint64_t)
OF_TYPE(int8_t, ORDERED(int8_t))
OF_TYPE(int16_t, ORDERED(int16_t))
OF_TYPE(int32_t, ORDERED(int32_t))
OF_TYPE(int64_t, ORDERED(int64_t))
FLOATING(float)
FLOATING(double)

#define COMPLEX(T)                                                                         \
    static bool reduce_complex_##T(void *there, const void *from, unsigned op, bool first) \
    {                                                                                      \
        T *a = there, re, im;                                                              \
        const T *b = from;                                                                 \
                                                                                           \
        (void)first;                                                                       \
        if (op != REDUCE_PROD)                                                             \
            return false;                                                                  \
        re = ALONE(T, a[0] * b[0]) - ALONE(T, a[1] * b[1]);                                \
        im = ALONE(T, a[0] * b[1]) + ALONE(T, a[1] * b[0]);                                \
        a[0] = re;                                                                         \
        a[1] = im;                                                                         \
        return true;                                                                       \
    }
COMPLEX(float)
COMPLEX(double)

/* false: there is no such pair. */
static bool (*const right[REDUCE_TYPES])(void *, const void *, unsigned, bool) = {
    reduce_uint8_t, reduce_uint16_t, reduce_uint32_t,      reduce_uint64_t,
    reduce_int8_t,  reduce_int16_t,  reduce_int32_t,       reduce_int64_t,
    reduce_float,   reduce_double,   reduce_complex_float, reduce_complex_double,
};

/* ---- data */

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double random_number(bool special)
{
    static const double specials[] = {0.0, -0.0, 1.0, -1.0};
    const uint64_t bits = random_bits();

    if (special && bits % 8 == 0)
        return __builtin_nan("");
    if (bits % 8 == 1)
        return specials[bits / 8 % 4];
    return ((double)(bits >> 11) - 0x1p52) * 0x1p-45; /* of many sizes, with all bits used */
}

/* Integers with many a zero byte. Only minima and maxima of a NaN are what is told. */
static void fill(char *bytes, size_t nbytes, unsigned type, unsigned op)
{
    const bool special = op == REDUCE_MIN || op == REDUCE_MAX;

    for (size_t i = 0; i < nbytes; i += 8) {
        const double number = random_number(special);
        const float pair[2] = {(float)random_number(special), (float)random_number(special)};
        const uint64_t bits = random_bits() & random_bits() & random_bits();

        memcpy(bytes + i,
               type == REDUCE_F64 || type == REDUCE_C64   ? (const void *)&number
               : type == REDUCE_F32 || type == REDUCE_C32 ? (const void *)pair
                                                          : (const void *)&bits,
               8);
    }
}

static void copy(int i, bool to_gpu, size_t nbytes)
{
    must(gpu_copy_async(to_gpu ? memory[i] : (gpu_address)(uintptr_t)host[i],
                        to_gpu ? (gpu_address)(uintptr_t)host[i] : memory[i], nbytes, stream),
         "cuMemcpyAsync");
    must(gpu_stream_synchronize(stream), "cuStreamSynchronize");
}

/* ---- one launch */

static bool is_right(const struct reduction *how, uint64_t there, uint64_t from, uint64_t n)
{
    const unsigned nbytes = reduce_bytes(how->type);
    const size_t all = (n + 2 * MARGIN) * nbytes;
    char *wanted = before + there * nbytes;

    fill(host[0], all, how->type, how->op);
    fill(host[1], all, how->type, how->op);
    memcpy(before, host[0], all);
    copy(0, true, all);
    copy(1, true, all);
    must(reduce_launch(context, stream, how, memory[0] + there * nbytes, memory[1] + from * nbytes,
                       n),
         "cuLaunchKernel");
    for (uint64_t i = 0; i < n; i++)
        right[how->type](wanted + i * nbytes, host[1] + (from + i) * nbytes, how->op,
                         how->from_first);
    copy(0, false, all);
    for (uint64_t i = 0; i < n + 2 * MARGIN; i++)
        if (memcmp(host[0] + i * nbytes, before + i * nbytes, nbytes) != 0) {
            tap_diag("element %llu is another: %llu from %llu on, with %llu", (unsigned long long)i,
                     (unsigned long long)n, (unsigned long long)there, (unsigned long long)from);
            return false;
        }
    return true;
}

static void check(const struct reduction *how)
{
    static const uint64_t lengths[] = {1, 2, 15, 33, 4099, MOST};
    bool good = true;

    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (uint64_t there = 0; there < MARGIN && good; there++)
            for (uint64_t from = 0; from < MARGIN && good; from += 1 + (lengths[l] == MOST) * there)
                good = is_right(how, there, from, lengths[l]);
    tap_ok(good, "%s of %s%s", ops[how->op], types[how->type],
           how->from_first ? ", from first" : "");
}

/* The first element there is compared; the others stay. In place of page-locked memory the kernel is given the
 * GPU's. */
static bool swaps(enum reduce_type type, bool equal)
{
    const struct reduction how = {type, REDUCE_SWAP, false};
    const unsigned n = reduce_bytes(type);
    char *there = host[0], *block = host[1];

    fill(there, 4 * n, type, REDUCE_BXOR);
    fill(block, 4 * n, type, REDUCE_BXOR);
    memcpy(block, there, n);
    block[0] ^= (char)!equal;
    memcpy(before, there, 4 * n);
    memcpy(before + 4 * n, block, 4 * n);
    copy(0, true, 4 * n);
    copy(1, true, 4 * n);
    must(reduce_launch(context, stream, &how, memory[0], memory[1], 1), "cuLaunchKernel");
    must(gpu_stream_synchronize(stream), "cuStreamSynchronize");
    copy(0, false, 4 * n);
    copy(1, false, 4 * n);
    memcpy(before + 6 * n, before, n); /* what was there */
    if (equal)
        memcpy(before, before + 5 * n, n);
    return memcmp(before, there, 4 * n) == 0 && memcmp(before + 4 * n, block, 4 * n) == 0;
}

static int start(void)
{
    struct gpubind_error err;
    int count = 0;

    kernel_table_register();
    if (gpu_start(&err) < 0 || gpu_device_count(&count) != GPU_OK || count == 0)
        return -1;
    must(gpu_context_retain(&context, 0), "cuDevicePrimaryCtxRetain");
    must(gpu_context_push(context), "cuCtxPushCurrent");
    must(gpu_stream_create(&stream, GPU_STREAM_NON_BLOCKING), "cuStreamCreate");
    for (int i = 0; i < 2; i++)
        must(gpu_mem_alloc(&memory[i], BYTES), "cuMemAlloc");
    return 0;
}

int main(void)
{
    if (start() < 0) {
        printf("1..0 # SKIP no GPU\n");
        return 0;
    }
    if (!reduce_is_loaded(context, stream)) {
        printf("1..0 # SKIP a build without kernels\n");
        return 0;
    }
    for (unsigned type = 0; type < REDUCE_TYPES; type++)
        for (unsigned op = 0; op < REDUCE_OPS; op++) {
            const bool ordered = (op == REDUCE_MIN || op == REDUCE_MAX) &&
                                 (type == REDUCE_F32 || type == REDUCE_F64);
            double a[2] = {0}, b[2] = {0};

            for (int first = 0; first <= ordered && right[type](a, b, op, first); first++)
                check(&(struct reduction){(enum reduce_type)type, (enum reduce_op)op, first});
        }
    for (enum reduce_type type = REDUCE_U8; type <= REDUCE_U64; type++) {
        tap_ok(swaps(type, true), "%s that is equal is replaced", types[type]);
        tap_ok(swaps(type, false), "%s that is not equal stays", types[type]);
    }
    return tap_done();
}
