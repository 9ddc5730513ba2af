/* What a thread of the reduction kernel does: C and CUDA, for the kernel and for the simulated driver. */
#ifndef GPUBIND_GPU_REDUCE_REDUCE_SHARE_H
#define GPUBIND_GPU_REDUCE_REDUCE_SHARE_H

#include "gpu/reduce/reduce_elements.h"

/* clang-format off */

struct __attribute__((aligned(REDUCE_WORD), may_alias)) reduce_word {
    unsigned long long parts[REDUCE_WORD / 8];
};

/* The share of one of so many threads. */
#define REDUCE_SHARE(TYPE, OP, RESULT)                                                          \
    REDUCE_FUNCTION void reduce_share_##TYPE##_##OP(                                            \
        const struct reduce_kernel_job *job, reduce_##TYPE *there, const reduce_##TYPE *from,   \
        unsigned long long thread, unsigned long long threads)                                  \
    {                                                                                           \
        enum { IN_WORD = REDUCE_WORD / sizeof(reduce_##TYPE) };                                 \
        union {                                                                                 \
            struct reduce_word word;                                                            \
            reduce_##TYPE elements[IN_WORD];                                                    \
        } a[REDUCE_AT_ONCE], b[REDUCE_AT_ONCE];                                                 \
        struct reduce_word *words = (struct reduce_word *)(void *)(there + job->head);          \
        const struct reduce_word *others =                                                      \
            (const struct reduce_word *)(const void *)(from + job->head);                       \
        const bool first = job->from_first;                                                     \
                                                                                                \
        for (unsigned long long i = thread; i < job->head; i += threads)                        \
            there[i] = reduce_##TYPE##_##OP(there[i], from[i], first);                          \
        for (unsigned long long i = job->head + job->nwords * IN_WORD + thread; i < job->n;     \
             i += threads)                                                                      \
            there[i] = reduce_##TYPE##_##OP(there[i], from[i], first);                          \
        for (unsigned long long i = thread; i < job->nwords; i += REDUCE_AT_ONCE * threads) {   \
            REDUCE_UNROLLED for (unsigned k = 0; k < REDUCE_AT_ONCE; k++)                       \
                if (i + k * threads < job->nwords) {                                            \
                    const unsigned long long at = i + k * threads;                              \
                                                                                                \
                    a[k].word = words[at];                                                      \
                    if (job->whole_words)                                                       \
                        b[k].word = others[at];                                                 \
                    else                                                                        \
                        REDUCE_UNROLLED for (unsigned j = 0; j < IN_WORD; j++)                  \
                            b[k].elements[j] = from[job->head + at * IN_WORD + j];              \
                }                                                                               \
            REDUCE_UNROLLED for (unsigned k = 0; k < REDUCE_AT_ONCE; k++)                       \
                if (i + k * threads < job->nwords) {                                            \
                    REDUCE_UNROLLED for (unsigned j = 0; j < IN_WORD; j++)                      \
                        a[k].elements[j] =                                                      \
                            reduce_##TYPE##_##OP(a[k].elements[j], b[k].elements[j], first);    \
                    words[i + k * threads] = a[k].word;                                         \
                }                                                                               \
        }                                                                                       \
    }
REDUCE_LIST(REDUCE_SHARE)
#undef REDUCE_SHARE

#define REDUCE_COMPARISON(TYPE)                                                                 \
    case REDUCE_##TYPE: {                                                                       \
        reduce_##TYPE *block = (reduce_##TYPE *)from;                                           \
        const reduce_##TYPE found = *(reduce_##TYPE *)there;                                    \
                                                                                                \
        if (found == block[0])                                                                  \
            *(reduce_##TYPE *)there = block[1];                                                 \
        block[2] = found;                                                                       \
        return true;                                                                            \
    }

REDUCE_FUNCTION bool reduce_swap(const struct reduce_kernel_job *job, void *there, void *from)
{
    switch (job->type) {
        REDUCE_COMPARISON(U8)
        REDUCE_COMPARISON(U16)
        REDUCE_COMPARISON(U32)
        REDUCE_COMPARISON(U64)
    default:
        return false;
    }
}
#undef REDUCE_COMPARISON

/* there and from: what lies at the job's addresses. false: there is no such pair. */
REDUCE_FUNCTION bool reduce_share(const struct reduce_kernel_job *job, void *there, void *from,
                                  unsigned long long thread, unsigned long long threads)
{
    if (job->op == REDUCE_SWAP)
        return thread > 0 || job->n == 0 || reduce_swap(job, there, from);
    switch (job->type * REDUCE_OPS + job->op) {
#define REDUCE_CASE(TYPE, OP, RESULT)                                                           \
    case REDUCE_##TYPE * REDUCE_OPS + REDUCE_##OP:                                              \
        reduce_share_##TYPE##_##OP(job, (reduce_##TYPE *)there, (const reduce_##TYPE *)from,    \
                                   thread, threads);                                            \
        return true;
        REDUCE_LIST(REDUCE_CASE)
#undef REDUCE_CASE
    default:
        return false;
    }
}

/* clang-format on */

#endif
