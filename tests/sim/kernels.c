/* Modules and kernels. Without GPUBIND_SIM_KERNELS=1 no module loads. With it, every
 * module has the library's kernels, done by the CPU. Loading waits for all streams of the
 * context, and so does a kernel's first launch: the driver loads lazily. */
#include <string.h>

#include "gpu/copy/copy_agent_kernel.h"
#include "gpu/copy/copy_kernel.h"
#include "gpu/copy/iov_copy_kernel.h"
#include "gpu/exchange/exchange_kernel.h"
#include "gpu/exchange/signal_kernel.h"
#include "gpu/reduce/reduce_kernel.h"
#include "tests/sim/kernels.h"

#define SIM_FUNCTION_SHARED 8
#define SHARED_DEFAULT (48u << 10)
#define TEST_KERNEL_NAME "gpubind_test_nothing"

struct CUmod_st {
    struct CUctx_st *context;
    unsigned long long context_id;
    bool loaded;
};

struct kernel {
    const char *name;
    unsigned threads; /* of a block, at most */
    struct operation *(*make)(const void *job, unsigned blocks, struct CUstream_st *stream);
    bool whole; /* a block has all registers of its multiprocessor */
};

struct CUfunc_st {
    struct CUmod_st *module;
    const struct kernel *kernel;
    bool launched;
    unsigned shared; /* bytes, at most */
};

static const struct kernel *find_kernel(const char *name);

int cuModuleLoadData(struct CUmod_st **module, const void *image)
{
    int result = sim_enter(CALL_cuModuleLoadData);
    struct CUctx_st *context;

    if (result)
        return result;
    result = context_current(&context);
    if (!result && !image)
        result = CUDA_INVALID_VALUE;
    if (!result && !sim_number("GPUBIND_SIM_KERNELS", 0, 1))
        result = SIM_NOT_SUPPORTED;
    if (result)
        return sim_leave(result);
    lock_take(true);
    context_wait(context);
    lock_give(true);
    *module = sim_new(sizeof **module);
    **module = (struct CUmod_st){context, context->id, true};
    return sim_leave(CUDA_OK);
}

static bool is_module(const struct CUmod_st *module)
{
    return module && module->loaded && module->context->alive &&
           module->context_id == module->context->id;
}

int cuModuleUnload(struct CUmod_st *module)
{
    int result = sim_enter(CALL_cuModuleUnload);

    if (result)
        return result;
    if (!is_module(module))
        return sim_leave(CUDA_INVALID_HANDLE);
    context_wait(module->context);
    module->loaded = false;
    return sim_leave(CUDA_OK);
}

int cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name)
{
    int result = sim_enter(CALL_cuModuleGetFunction);

    if (result)
        return result;
    if (!is_module(module))
        return sim_leave(CUDA_INVALID_HANDLE);
    if (!name || !find_kernel(name))
        return sim_leave(SIM_NOT_FOUND);
    *function = sim_new(sizeof **function);
    (*function)->module = module;
    (*function)->kernel = find_kernel(name);
    (*function)->shared = SHARED_DEFAULT;
    return sim_leave(CUDA_OK);
}

int cuFuncSetAttribute(struct CUfunc_st *function, int attribute, int value)
{
    int result = sim_enter(CALL_cuFuncSetAttribute);

    if (result)
        return result;
    if (!function || !is_module(function->module))
        return sim_leave(CUDA_INVALID_HANDLE);
    if (attribute != SIM_FUNCTION_SHARED || value < 0 || value > SIM_SHARED_MOST)
        return sim_leave(CUDA_INVALID_VALUE);
    function->shared = (unsigned)value;
    return sim_leave(CUDA_OK);
}

int kernel_fault(void)
{
    if (sim_number("GPUBIND_SIM_ILLEGAL", 1, 1) == 0)
        sim_die("a kernel accesses what its context cannot");
    return SIM_ILLEGAL_ADDRESS;
}

/* What the kernel would do for the ith copy of the job; false when it would fault. */
static bool read_copy(const struct CUctx_st *context, const struct copy_kernel_job *job, unsigned i,
                      struct copy *copy)
{
    uint64_t pieces = job->chunks_before[i + 1] - job->chunks_before[i];

    copy->rows = 1;
    copy->width = job->nbytes[i];
    if (pieces * COPY_KERNEL_CHUNK < job->nbytes[i])
        copy->width = pieces * COPY_KERNEL_CHUNK;
    if (pieces && (pieces - 1) * COPY_KERNEL_CHUNK >= job->nbytes[i])
        return false; /* the last piece would be of nearly 2^64 bytes */
    if (!copy->width)
        return true;
    return place_find(CALL_cuLaunchKernel, job->to[i], copy->width, &copy->to) == CUDA_OK &&
           place_find(CALL_cuLaunchKernel, job->from[i], copy->width, &copy->from) == CUDA_OK &&
           place_reached(context, &copy->to) && place_reached(context, &copy->from);
}

struct operation *make_copies(const void *parameter, unsigned blocks, struct CUstream_st *stream)
{
    const struct copy_kernel_job *job = parameter;
    struct operation *op;

    (void)blocks;
    if (job->n > COPY_KERNEL_MOST)
        sim_die("a copy kernel with %u copies", job->n);
    op = operation_new(CALL_cuLaunchKernel, job->n);

    for (unsigned i = 0; i < job->n; i++)
        if (!read_copy(stream->context, job, i, &op->copies[i])) {
            op->error = kernel_fault();
            op->ncopies = 0; /* nothing is kept yet */
        }
    return op;
}

/* Of the tests. */
static struct operation *make_nothing(const void *job, unsigned blocks, struct CUstream_st *stream)
{
    (void)job, (void)blocks, (void)stream;
    return operation_new(CALL_cuLaunchKernel, 0);
}

static const struct kernel kernels[] = {
    {COPY_KERNEL_NAME, COPY_KERNEL_THREADS, make_copies, false},
    {EXCHANGE_KERNEL_NAME, EXCHANGE_KERNEL_THREADS, make_exchange, false},
    {DEFERRED_KERNEL_NAME, EXCHANGE_KERNEL_THREADS, make_deferred, false},
    {STRIDED_KERNEL_NAME, STRIDED_KERNEL_THREADS, make_layout, false},
    {IOV_KERNEL_NAME, IOV_KERNEL_THREADS, make_gather, false},
    {AGENT_KERNEL_NAME, AGENT_KERNEL_THREADS, make_agent, true},
    {SIGNAL_KERNEL_NAME, SIGNAL_KERNEL_THREADS, make_signal, false},
    {TEST_KERNEL_NAME, 1024, make_nothing, false},
    {REDUCE_KERNEL_NAME, REDUCE_KERNEL_THREADS, make_reduction, false},
};

static int nlaunches[sizeof kernels / sizeof kernels[0]];

static const struct kernel *find_kernel(const char *name)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    return NULL;
}

int cuLaunchKernel(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   struct CUstream_st *handle, void **parameters, void **extra)
{
    int result = sim_enter(CALL_cuLaunchKernel);
    uint64_t threads = (uint64_t)block_x * block_y * block_z;
    struct CUstream_st *stream;
    struct operation *op;

    if (result)
        return result;
    /* Not of the current context, where that is a green one. */
    if ((uintptr_t)handle <= 1 && function && is_module(function->module))
        handle = function->module->context->legacy;
    result = stream_use(handle, &stream);
    if (!result &&
        (!function || !is_module(function->module) || function->module->context != stream->context))
        result = CUDA_INVALID_HANDLE;
    if (!result &&
        (!grid_x || !grid_y || !grid_z || !threads || threads > function->kernel->threads ||
         shared > function->shared || !parameters || extra))
        result = CUDA_INVALID_VALUE;
    if (result)
        return sim_leave(result);
    if (!function->launched) /* it is loaded now */
        context_wait(stream->context);
    function->launched = true;
    nlaunches[function->kernel - kernels]++;
    op = function->kernel->make(parameters[0], grid_x * grid_y * grid_z, stream);
    op->blocks = grid_x * grid_y * grid_z;
    op->threads = (unsigned)threads;
    op->whole = function->kernel->whole || shared > SIM_SHARED_MOST / 2;
    stream_submit(stream, op);
    return sim_leave(CUDA_OK);
}

__attribute__((visibility("default"))) int gpubind_sim_launches(const char *name)
{
    const struct kernel *kernel = find_kernel(name);
    int n;

    if (!kernel)
        return -1;
    sim_lock();
    n = nlaunches[kernel - kernels];
    sim_unlock();
    return n;
}
