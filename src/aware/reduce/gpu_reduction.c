#include "aware/reduce/gpu_reduction.h"

#include <stdint.h>
#include <stdio.h>

#include "aware/memory/copy_stream.h"
#include "aware/memory/gpu_buffer.h"
#include "aware/memory/gpu_pool.h"
#include "aware/memory/kernel_start.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/pointer_query.h"

#define PIECE \
    ((size_t)8 << 20) /* bytes: a launch takes little of the time that they need to come */

/* ---- the kernel */

/* The context is current. */
static bool is_loaded(gpu_context context)
{
    kernel_start();
    return reduce_is_loaded(context, copy_stream(context));
}

void gpu_reduction_prepare(const void *gpu)
{
    gpu_context context = NULL;
    struct entered entered;

    if (!gpu_is_in_use())
        return;
    if (gpu)
        context = pointer_context(gpu);
    else if (gpu_context_current(&context) != GPU_OK)
        return;
    if (!buffer_enter_context(context, &entered))
        return;
    is_loaded(context);
    buffer_leave(&entered);
}

/* ---- a comparison */

/* false: there are no elements of that size. */
static bool swap_of(struct reduction *how, size_t nbytes)
{
    static const enum reduce_type types[] = {REDUCE_U8, REDUCE_U16, REDUCE_U32, REDUCE_U64};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (reduce_bytes(types[i]) == nbytes) {
            *how = (struct reduction){types[i], REDUCE_SWAP, false};
            return true;
        }
    return false;
}

bool gpu_swap_begin(gpu_context context, const void *there, size_t nbytes)
{
    struct reduction how;
    struct entered entered;
    bool ready;

    if (!swap_of(&how, nbytes) || (uintptr_t)there % nbytes != 0 ||
        !buffer_enter_context(context, &entered))
        return false;
    ready = is_loaded(context);
    buffer_leave(&entered);
    return ready;
}

int gpu_swap_queue(gpu_context context, const void *there, void *block, size_t nbytes)
{
    struct reduction how;

    swap_of(&how, nbytes);
    return reduce_launch(context, copy_stream(context), &how, (uintptr_t)there, (uintptr_t)block,
                         1);
}

/* ---- a reduction */

static bool is_aligned(const void *at, const struct reduction *how)
{
    return (uintptr_t)at % reduce_alignment(how->type) == 0;
}

/* In pieces its elements lie as the target's do, so that the kernel reads whole words. */
static size_t room_for(const void *there, size_t nbytes)
{
    return (nbytes < PIECE ? nbytes : PIECE) + (uintptr_t)there % REDUCE_WORD;
}

bool gpu_reduction_begin(struct gpu_reduction *reduction, const struct reduction *how,
                         gpu_context context, const void *there, const void *from, bool from_gpu,
                         size_t nbytes)
{
    struct entered entered;
    bool ready;

    reduction->how = *how;
    reduction->room = NULL;
    if (!is_aligned(there, how) || !buffer_enter_context(context, &entered))
        return false;
    ready = is_loaded(context);
    if (ready && !(from_gpu && is_aligned(from, how) && pointer_context(from) == context)) {
        reduction->room = gpu_pool_take(context, room_for(there, nbytes));
        ready = reduction->room;
    }
    buffer_leave(&entered);
    return ready;
}

static int launch(const struct gpu_reduction *reduction, gpu_context context, uintptr_t there,
                  uintptr_t from, size_t nbytes)
{
    return reduce_launch(context, copy_stream(context), &reduction->how, there, from,
                         nbytes / reduce_bytes(reduction->how.type));
}

int gpu_reduction_queue(const struct gpu_reduction *reduction, gpu_context context,
                        const void *there, const void *from, size_t nbytes)
{
    const uintptr_t to = (uintptr_t)there, source = (uintptr_t)from;
    uintptr_t room;
    int status = GPU_OK;

    if (!reduction->room)
        return launch(reduction, context, to, source, nbytes);
    room = (uintptr_t)gpu_pool_at(reduction->room) + to % REDUCE_WORD;
    for (size_t done = 0; done < nbytes && status == GPU_OK; done += PIECE) {
        const size_t piece = nbytes - done < PIECE ? nbytes - done : PIECE;

        status = gpu_copy_async(room, source + done, piece, copy_stream(context));
        if (status == GPU_OK)
            status = launch(reduction, context, to + done, room, piece);
    }
    return status;
}

void gpu_reduction_end(const struct gpu_reduction *reduction)
{
    gpu_pool_give(reduction->room);
}

/* ---- on this rank alone */

/* Fewer bytes are not worth the loading of a kernel, in which a call that is MPI's to complete may wait. */
#define LOCAL_LEAST ((size_t)64 << 10)

/* The context is current. An MPI error class. */
static int reduce_now(const struct gpu_reduction *reduction, gpu_context context, void *there,
                      const void *from, size_t nbytes)
{
    int status = gpu_reduction_queue(reduction, context, there, from, nbytes);
    const int done = gpu_stream_synchronize(copy_stream(context));
    struct gpubind_error err;

    status = status == GPU_OK ? done : status;
    if (status == GPU_OK)
        return MPI_SUCCESS;
    gpu_error(status, "a reduction", &err);
    fprintf(stderr, "gpubind: MPI_Reduce_local, GPU memory at %p: %s\n", there, err.text);
    return MPI_ERR_OTHER;
}

bool gpu_reduction_local(const void *in, void *inout, MPI_Count count, MPI_Datatype type, MPI_Op op,
                         int *result)
{
    const bool from_gpu = buffer_is_on_gpu(in);
    struct gpu_reduction reduction;
    struct reduction how;
    struct entered entered;
    size_t nbytes;
    int size = 0;

    if (count <= 0 || !buffer_is_on_gpu(inout) || buffer_place(in) == BUFFER_LOST ||
        !reduction_of(&how, type, op) || PMPI_Type_size(type, &size) != MPI_SUCCESS)
        return false;
    nbytes = (size_t)count * (size_t)size;
    if (nbytes < LOCAL_LEAST || !buffer_enter(inout, &entered))
        return false;
    if ((!from_gpu || pointer_context(in) == entered.context) &&
        gpu_reduction_begin(&reduction, &how, entered.context, inout, in, from_gpu, nbytes)) {
        *result = reduce_now(&reduction, entered.context, inout, in, nbytes);
        gpu_reduction_end(&reduction);
        buffer_leave(&entered);
        return true;
    }
    buffer_leave(&entered);
    return false;
}
