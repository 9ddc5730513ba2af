#include "gpu/reduce/reduce.h"

#include "gpu/core/context_kernels.h"

#define BLOCKS_OF_A_PROCESSOR 2 /* that fit */

static const unsigned char element_bytes[REDUCE_TYPES] = {
    [REDUCE_U8] = 1,  [REDUCE_U16] = 2, [REDUCE_U32] = 4, [REDUCE_U64] = 8,
    [REDUCE_S8] = 1,  [REDUCE_S16] = 2, [REDUCE_S32] = 4, [REDUCE_S64] = 8,
    [REDUCE_F32] = 4, [REDUCE_F64] = 8, [REDUCE_C32] = 8, [REDUCE_C64] = 16,
};

unsigned reduce_bytes(enum reduce_type type)
{
    return element_bytes[type];
}

unsigned reduce_alignment(enum reduce_type type)
{
    const bool complex = type == REDUCE_C32 || type == REDUCE_C64;

    return element_bytes[type] / (complex ? 2u : 1u);
}

/* ---- the kernel in each context */

bool reduce_is_loaded(gpu_context context, gpu_stream stream)
{
    static const struct reduce_kernel_job no_work;
    static const struct kernel_entry entry = {REDUCE_KERNEL_NAME, &no_work};

    return context_kernel(context, &entry, KERNEL_AFTER_LEGACY, stream) != NULL;
}

/* ---- launches */

void reduce_job(struct reduce_kernel_job *job, const struct reduction *reduction, uint64_t there,
                uint64_t from, uint64_t n)
{
    const unsigned nbytes = reduce_bytes(reduction->type), skip = (unsigned)(-there % REDUCE_WORD);

    *job = (struct reduce_kernel_job){.there = there,
                                      .from = from,
                                      .n = n,
                                      .type = (unsigned char)reduction->type,
                                      .op = (unsigned char)reduction->op,
                                      .whole_words = there % REDUCE_WORD == from % REDUCE_WORD,
                                      .from_first = reduction->from_first};
    if (skip % nbytes == 0 && skip / nbytes < n) {
        job->head = skip / nbytes;
        job->nwords = (n - job->head) * nbytes / REDUCE_WORD;
    }
}

/* Each thread has as much as it has under way at once, where so many blocks fit. */
static unsigned blocks_of(const struct reduce_kernel_job *job, unsigned most)
{
    const uint64_t each = (uint64_t)REDUCE_KERNEL_THREADS * REDUCE_AT_ONCE;
    const uint64_t shares = job->nwords > 0 ? job->nwords : job->n;
    const uint64_t blocks = (shares + each - 1) / each;

    return blocks < most ? (unsigned)blocks : most;
}

int reduce_launch(gpu_context context, gpu_stream stream, const struct reduction *reduction,
                  gpu_address there, gpu_address from, uint64_t n)
{
    struct reduce_kernel_job job;
    void *parameters[] = {&job};
    const struct context_kernel *kernel;

    if (n == 0)
        return GPU_OK;
    kernel = context_kernel_loaded(context, REDUCE_KERNEL_NAME);
    reduce_job(&job, reduction, there, from, n);
    return gpu_driver()->cuLaunchKernel(
        kernel->function, blocks_of(&job, BLOCKS_OF_A_PROCESSOR * kernel->multiprocessors), 1, 1,
        REDUCE_KERNEL_THREADS, 1, 1, 0, stream, parameters, NULL);
}
