#include "gpu/reduce/reduce.h"

#include <pthread.h>
#include <stdlib.h>

#include "gpu/core/gpu_context.h"
#include "gpu/core/kernels.h"
#include "gpu/core/pointer_query.h"

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

struct loaded {
    struct loaded *next;
    gpu_context context;
    unsigned long long id; /* of the context: one that was destroyed may have had its address */
    gpu_function kernel;   /* NULL: there is none for it */
    unsigned blocks;       /* of a launch, at most */
};

static struct loaded *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned multiprocessors(void)
{
    int device, n = 0;

    if (gpu_driver()->cuCtxGetDevice(&device) != GPU_OK ||
        gpu_driver()->cuDeviceGetAttribute(&n, GPU_ATTRIBUTE_MULTIPROCESSORS, device) != GPU_OK)
        n = 0;
    return n > 0 ? (unsigned)n : 1;
}

static void load(struct loaded *loaded, gpu_stream stream)
{
    static const struct reduce_kernel_job no_work;

    loaded->kernel = kernels_load_one(REDUCE_KERNEL_NAME, &no_work, stream);
    loaded->blocks = BLOCKS_OF_A_PROCESSOR * multiprocessors();
}

/* NULL: it was not tried. The lock is held. */
static struct loaded *find(gpu_context context)
{
    const unsigned long long id = context_number(context);
    struct loaded *found = all;

    while (found && (found->context != context || found->id != id))
        found = found->next;
    return found;
}

/* The lock is held, so that it is loaded once. */
static struct loaded *find_or_load(gpu_context context, gpu_stream stream)
{
    struct loaded *found = find(context);

    if (found || !kernels_are_allowed() || gpu_legacy_work() != GPU_NO_WORK)
        return found;
    found = calloc(1, sizeof *found);
    if (!found)
        return NULL;
    found->context = context;
    found->id = context_number(context);
    load(found, stream);
    found->next = all;
    all = found;
    return found;
}

bool reduce_is_loaded(gpu_context context, gpu_stream stream)
{
    const struct loaded *found;

    pthread_mutex_lock(&lock);
    found = find_or_load(context, stream);
    pthread_mutex_unlock(&lock);
    return found && found->kernel;
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
    const struct loaded *loaded;

    if (n == 0)
        return GPU_OK;
    pthread_mutex_lock(&lock);
    loaded = find(context);
    pthread_mutex_unlock(&lock);
    reduce_job(&job, reduction, there, from, n);
    return gpu_driver()->cuLaunchKernel(loaded->kernel, blocks_of(&job, loaded->blocks), 1, 1,
                                        REDUCE_KERNEL_THREADS, 1, 1, 0, stream, parameters, NULL);
}
