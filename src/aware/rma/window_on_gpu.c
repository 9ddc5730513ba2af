#include "aware/rma/window_on_gpu.h"

#include <string.h>

#include "aware/memory/copy_stream.h"
#include "aware/memory/gpu_buffer.h"
#include "aware/message/direct_ask.h"
#include "aware/rma/window_buffer.h"
#include "gpu/core/gpu_calls.h"

/* Bytes that come to host memory by way of page-locked memory: MPI_Get_accumulate of 2 KiB took 23 us straight to
 * pageable memory, and takes 20 so (H200, driver 580). */
#define RESULT_MOST (64u << 10)

/* The memory of the call: false where it is not one piece, and not to be packed. */
static bool find(struct window_on_gpu *call, const struct typed *given, const struct typed *wanted)
{
    const struct place *place = call->place;
    const struct typed there = typed_at(place->here, 0, place->count, place->type);

    if (!there.at || !window_is_one_piece(&there, &call->there) ||
        (wanted && !window_is_one_piece(wanted, &call->wanted)))
        return false;
    call->nthere = (size_t)typed_bytes(&there);
    if (wanted && wanted->host && call->nthere <= RESULT_MOST &&
        !host_take(&call->result, call->nthere, place_gpu(place)))
        return false;
    if (!given)
        return true;
    call->nfrom = (size_t)typed_bytes(given);
    if (window_is_one_piece(given, &call->from))
        return true;
    if (!host_take(&call->packed, call->nfrom, place_gpu(place)))
        return false;
    call->from = call->packed.at;
    return typed_pack(given, call->packed.at) == MPI_SUCCESS;
}

/* Earlier work of the legacy stream has written it, or reads it: of that of the call's context the copy stream
 * knows. */
static bool settle(gpu_context context, const char *gpu)
{
    return pointer_context(gpu) == context || direct_settle(gpu) == 0;
}

static bool begin_reduction(struct window_on_gpu *call, bool from_gpu, MPI_Datatype element)
{
    struct reduction how;

    call->reduces = call->nfrom > 0 && call->op != MPI_REPLACE && call->op != MPI_NO_OP;
    if (!call->reduces)
        return true;
    return reduction_of(&how, element, call->op) &&
           gpu_reduction_begin(&call->reduction, &how, call->place->map.context, call->there,
                               call->from, from_gpu, call->nfrom);
}

static void give_blocks(const struct window_on_gpu *call)
{
    if (call->packed.at)
        host_give(&call->packed);
    if (call->result.at)
        host_give(&call->result);
}

bool window_on_gpu_begin(struct window_on_gpu *call, const struct place *place,
                         const struct typed *given, const struct typed *wanted,
                         MPI_Datatype element, MPI_Op op)
{
    const gpu_context context = place->map.context;
    bool from_gpu, good;

    *call = (struct window_on_gpu){.place = place, .op = op};
    good = find(call, given, wanted);
    from_gpu = given && !given->host && !call->packed.at;
    good = good && (!from_gpu || settle(context, call->from)) &&
           (!wanted || wanted->host || settle(context, call->wanted)) &&
           begin_reduction(call, from_gpu, element);
    if (!good)
        give_blocks(call);
    return good;
}

/* In the context. An enum gpu_result. */
static int queue(const struct window_on_gpu *call)
{
    const gpu_context context = call->place->map.context;
    const gpu_stream stream = copy_stream(context);
    const uintptr_t there = (uintptr_t)call->there;
    int status = GPU_OK;

    if (call->wanted)
        status = gpu_copy_async((uintptr_t)(call->result.at ? call->result.at : call->wanted),
                                there, call->nthere, stream);
    if (status == GPU_OK && call->reduces)
        status = gpu_reduction_queue(&call->reduction, context, call->there, call->from,
                                     call->nfrom);
    if (status == GPU_OK && call->op == MPI_REPLACE && call->nfrom > 0)
        status = gpu_copy_async(there, (uintptr_t)call->from, call->nfrom, stream);
    return status;
}

/* Waits for what was queued with that status, and leaves the context. */
static int wait_and_leave(const struct place *place, const struct entered *entered, int status)
{
    const int done = gpu_stream_synchronize(copy_stream(entered->context));

    buffer_leave(entered);
    if (status == GPU_OK && done == GPU_OK)
        return MPI_SUCCESS;
    direct_ask_refuse(place->peer);
    return MPI_ERR_OTHER;
}

int window_on_gpu_update(const struct window_on_gpu *call)
{
    struct entered entered;
    int status;

    if (!buffer_enter_context(call->place->map.context, &entered))
        return MPI_ERR_OTHER;
    status = wait_and_leave(call->place, &entered, queue(call));
    if (status == MPI_SUCCESS && call->result.at)
        memcpy(call->wanted, call->result.at, call->nthere);
    return status;
}

void window_on_gpu_end(const struct window_on_gpu *call)
{
    if (call->reduces)
        gpu_reduction_end(&call->reduction);
    give_blocks(call);
}

/* ---- a comparison */

bool window_swap_begin(struct window_swap *swap, const struct place *place,
                       const struct typed *expected, const struct typed *given)
{
    const struct typed there = typed_at(place->here, 0, place->count, place->type);
    char *block;

    *swap = (struct window_swap){.place = place, .nbytes = (size_t)typed_bytes(&there)};
    if (!there.at || !window_is_one_piece(&there, &swap->there) ||
        !gpu_swap_begin(place->map.context, swap->there, swap->nbytes) ||
        !host_take(&swap->block, 3 * swap->nbytes, place_gpu(place)))
        return false;
    block = swap->block.at;
    if (swap->block.locked && typed_pack(expected, block) == MPI_SUCCESS &&
        typed_pack(given, block + swap->nbytes) == MPI_SUCCESS)
        return true;
    window_swap_end(swap);
    return false;
}

int window_swap_do(const struct window_swap *swap)
{
    struct entered entered;

    if (!buffer_enter_context(swap->place->map.context, &entered))
        return MPI_ERR_OTHER;
    return wait_and_leave(
        swap->place, &entered,
        gpu_swap_queue(entered.context, swap->there, swap->block.at, swap->nbytes));
}

int window_swap_tell(const struct window_swap *swap, const struct typed *wanted)
{
    return typed_unpack(wanted, (char *)swap->block.at + 2 * swap->nbytes, (MPI_Count)swap->nbytes);
}

void window_swap_end(const struct window_swap *swap)
{
    host_give(&swap->block);
}
