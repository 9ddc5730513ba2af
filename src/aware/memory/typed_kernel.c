#include "aware/memory/typed_kernel.h"

#include "aware/memory/copy_stream.h"
#include "aware/memory/gpu_pool.h"
#include "aware/memory/kernel_start.h"
#include "gpu/copy/iov_launch.h"
#include "gpu/copy/strided_launch.h"
#include "gpu/core/context_kernels.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/pointer_query.h"

#define LEAST_COPIES 16                /* of rows, which take some microseconds each, */
#define LONG_COPY ((MPI_Count)1 << 20) /* bytes: and which the copy engines do at least as fast */

/* ---- is it worth it? */

static MPI_Count copies_of_alike(const struct typed_shape *shape, MPI_Count count)
{
    const struct alike alike = walk_alike(shape, count);
    MPI_Count n = 1;

    for (int i = 0; i < alike.nlevels; i++)
        if (i > 0 || !rows_are_one_copy(alike.levels[i].stride, alike.nbytes))
            n *= alike.levels[i].n;
    return n;
}

static MPI_Count copies_of_parts(const struct typed_shape *shape, MPI_Count count)
{
    if (shape->parts.nblocks == 1 && rows_are_one_copy(shape->extent, shape->parts.nbytes))
        return 1;
    return shape->ncopies * count;
}

bool typed_kernel_is_worth_it(const struct typed_shape *shape, MPI_Count count)
{
    const size_t nbytes = shape->is_regular ? shape->regular.nbytes : shape->parts.nbytes;
    MPI_Count ncopies;

    if (nbytes == 0)
        return false;
    ncopies = shape->is_regular ? copies_of_alike(shape, count) : copies_of_parts(shape, count);
    return ncopies >= LEAST_COPIES && (MPI_Count)nbytes * count / ncopies < LONG_COPY;
}

/* ---- launches; the context is current */

struct task {
    gpu_context context;
    gpu_stream stream;
    gpu_function kernel;
    uint64_t nbytes;
    bool out; /* from the elements */
    /* The elements: */
    bool is_strided;
    struct strided strided;
    struct iov_kernel_end end;
    uint64_t alignment;
};

enum { STRIDED, IOV, KERNELS };
static const struct strided_kernel_job no_strided = {
    .copy = {.parts = 1, .to_levels = KERNEL_CONTIGUOUS, .from_levels = KERNEL_CONTIGUOUS}};
static const struct iov_kernel_job no_iov = {.word = 1};
static const struct kernel_entry entries[KERNELS] = {
    [STRIDED] = {STRIDED_KERNEL_NAME, &no_strided}, [IOV] = {IOV_KERNEL_NAME, &no_iov}};

/* NULL: there is none. The first message loads both: see KERNEL_AFTER_ALL. */
static gpu_function kernel_for(const struct task *task, int which)
{
    const struct context_kernel *kernels[KERNELS];

    kernel_start();
    for (int i = 0; i < KERNELS; i++)
        kernels[i] = context_kernel(task->context, &entries[i], KERNEL_AFTER_ALL, task->stream);
    return kernels[which] ? kernels[which]->function : NULL;
}

/* false: they have too many levels. */
static bool add_count(struct strided_buffer *layout, MPI_Count count, MPI_Count extent)
{
    int level = 0;

    while (level < 3 && layout->count[level] > 1)
        level++;
    if (count == 1)
        return true;
    if (level == 3 || count > UINT32_MAX)
        return false;
    layout->count[level] = (uint32_t)count;
    layout->stride[level] = extent;
    return true;
}

static struct strided_buffer dense_at(const struct task *task, gpu_address address)
{
    return (struct strided_buffer){.address = address, .run = task->nbytes, .count = {1, 1, 1}};
}

/* Regular data needs no table. */
static bool prepare_strided(struct task *task, const struct typed_shape *shape,
                            const struct typed *typed)
{
    struct strided_buffer elements = shape->regular.layout;

    elements.address += (gpu_address)(uintptr_t)typed->at;
    if (!add_count(&elements, typed->count, shape->extent) ||
        !strided_of(&elements, task->nbytes, &task->strided) || task->nbytes > KERNEL_UNITS_MOST)
        return false; /* a unit may be a byte */
    task->is_strided = true;
    task->kernel = kernel_for(task, STRIDED);
    return task->kernel;
}

static bool prepare_iov(struct task *task, const struct typed_shape *shape,
                        const struct typed *typed)
{
    struct typed_table **tables = &((struct typed_shape *)(uintptr_t)shape)->tables;

    task->kernel = kernel_for(task, IOV);
    return task->kernel &&
           typed_table_end(tables, &shape->parts, shape->extent, task->context,
                           (gpu_address)(uintptr_t)typed->at, &task->end, &task->alignment);
}

static int launch_strided(const struct task *task, gpu_address dense)
{
    const struct strided_buffer buffer = dense_at(task, dense);
    struct strided together;

    strided_of(&buffer, task->nbytes, &together);
    return strided_launch(task->kernel, task->stream, task->out ? &together : &task->strided,
                          task->out ? &task->strided : &together, task->nbytes);
}

static int launch_iov(const struct task *task, gpu_address dense)
{
    uint64_t alignment = task->alignment;
    const struct iov_kernel_end together = iov_map_end(NULL, 0, dense, &alignment);
    struct iov_kernel_job job = iov_job(task->out ? &together : &task->end,
                                        task->out ? &task->end : &together, task->nbytes,
                                        alignment);

    return iov_launch(task->kernel, task->stream, &job);
}

static int launch(const struct task *task, gpu_address dense)
{
    return task->is_strided ? launch_strided(task, dense) : launch_iov(task, dense);
}

/* ---- the copy */

/* Between GPU memory that kernels of the context can access. */
static bool copy_on_gpu(const struct task *task, const void *dense)
{
    return pointer_context(dense) == task->context &&
           launch(task, (gpu_address)(uintptr_t)dense) == GPU_OK &&
           gpu_stream_synchronize(task->stream) == GPU_OK;
}

/* By way of GPU memory. */
static bool copy_with_host(const struct task *task, void *dense)
{
    const size_t nbytes = (size_t)task->nbytes;
    struct gpu_block *room = gpu_pool_take(task->context, nbytes);
    gpu_address at;
    int status, done;

    if (!room)
        return false;
    at = (gpu_address)(uintptr_t)gpu_pool_at(room);
    status = task->out ? launch(task, at) : gpu_upload_async(at, dense, nbytes, task->stream);
    if (status == GPU_OK)
        status = task->out ? gpu_download_async(dense, at, nbytes, task->stream) : launch(task, at);
    done = gpu_stream_synchronize(task->stream);
    gpu_pool_give(room);
    return status == GPU_OK && done == GPU_OK;
}

static MPI_Aint first_of(const struct typed_shape *shape)
{
    return shape->is_regular ? (MPI_Aint)shape->regular.layout.address : shape->parts.blocks[0].at;
}

bool typed_kernel_copies(const struct walk *walk, const struct typed_shape *shape)
{
    const struct typed *typed = walk->typed;
    struct task task = {.nbytes = (uint64_t)walk->left, .out = walk->out};
    struct entered entered;
    bool copied;

    if (!typed_kernel_is_worth_it(shape, typed->count) ||
        !buffer_enter(address_at(typed->at, first_of(shape)), &entered))
        return false;
    task.context = entered.context;
    task.stream = copy_stream(entered.context);
    copied = shape->is_regular ? prepare_strided(&task, shape, typed)
                               : prepare_iov(&task, shape, typed);
    if (copied)
        copied = walk->on_gpu ? copy_on_gpu(&task, walk->dense)
                              : copy_with_host(&task, walk->dense);
    buffer_leave(&entered);
    return copied;
}
