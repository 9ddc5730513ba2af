/* Copies: what is checked before they are queued. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

#define STAGED_MOST ((size_t)1 << 20) /* of pageable memory, without waiting */
#define LEFT_MOST ((size_t)64 << 10)  /* that a synchronous copy leaves under way */

/* What a call takes for one of its addresses: pageable memory is not SIDE_DEVICE. A
 * device's address is taken for the host's. */
enum side { SIDE_ANY, SIDE_DEVICE };

static int find_side(enum sim_call call, cuda_address address, size_t nbytes, enum side side,
                     struct place *place)
{
    int result = place_find(call, address, nbytes, place);

    if (!result && side == SIDE_DEVICE && !place->range)
        result = CUDA_INVALID_VALUE;
    return result;
}

/* Pageable memory: what is read is read before the call returns, what is written has
 * been written. Larger transfers wait for their stream. */
static uint64_t submit_linear(struct CUstream_st *stream, struct operation *op)
{
    struct copy *copy = &op->copies[0];
    bool waits = !copy->to.range || (!copy->from.range && copy->width > STAGED_MOST);
    uint64_t ticket;

    if (!copy->from.range) {
        op->staged = malloc(copy->width);
        if (!op->staged)
            sim_die("no memory");
        memcpy(op->staged, copy->from.bytes, copy->width);
        copy->from.bytes = op->staged;
    }
    ticket = stream_submit(stream, op);
    if (waits) {
        lock_take(stream->legacy);
        stream_wait(stream, ticket);
        lock_give(stream->legacy);
    }
    return ticket;
}

static int queue_linear(enum sim_call call, cuda_address to, enum side to_side, cuda_address from,
                        enum side from_side, size_t nbytes, struct CUstream_st *stream,
                        uint64_t *ticket)
{
    struct copy copy = {.width = nbytes, .rows = 1};
    struct operation *op;
    int result = find_side(call, to, nbytes, to_side, &copy.to);

    if (!result)
        result = find_side(call, from, nbytes, from_side, &copy.from);
    if (result)
        return result;
    op = operation_new(call, 1);
    op->copies[0] = copy;
    *ticket = submit_linear(stream, op);
    return CUDA_OK;
}

static int copy_linear(enum sim_call call, cuda_address to, enum side to_side, cuda_address from,
                       enum side from_side, size_t nbytes, struct CUstream_st *handle)
{
    int result = sim_enter(call);
    struct CUstream_st *stream;
    uint64_t ticket;

    if (result)
        return result;
    result = stream_use(handle, &stream);
    if (!result && nbytes)
        result = queue_linear(call, to, to_side, from, from_side, nbytes, stream, &ticket);
    return sim_leave(result);
}

int cuMemcpyAsync(cuda_address to, cuda_address from, size_t nbytes, struct CUstream_st *stream)
{
    return copy_linear(CALL_cuMemcpyAsync, to, SIDE_ANY, from, SIDE_ANY, nbytes, stream);
}

int cuMemcpyDtoDAsync_v2(cuda_address to, cuda_address from, size_t nbytes,
                         struct CUstream_st *stream)
{
    return copy_linear(CALL_cuMemcpyDtoDAsync_v2, to, SIDE_DEVICE, from, SIDE_DEVICE, nbytes,
                       stream);
}

/* Also between devices that do not reach each other: then through the host. */
int cuMemcpyPeerAsync(cuda_address to, struct CUctx_st *to_context, cuda_address from,
                      struct CUctx_st *from_context, size_t nbytes, struct CUstream_st *stream)
{
    if (!to_context || !to_context->alive || !from_context || !from_context->alive)
        return SIM_INVALID_CONTEXT;
    return copy_linear(CALL_cuMemcpyPeerAsync, to, SIDE_DEVICE, from, SIDE_DEVICE, nbytes, stream);
}

int cuMemcpyDtoHAsync_v2(void *to, cuda_address from, size_t nbytes, struct CUstream_st *stream)
{
    return copy_linear(CALL_cuMemcpyDtoHAsync_v2, (uintptr_t)to, SIDE_ANY, from, SIDE_DEVICE,
                       nbytes, stream);
}

int cuMemcpyHtoDAsync_v2(cuda_address to, const void *from, size_t nbytes,
                         struct CUstream_st *stream)
{
    return copy_linear(CALL_cuMemcpyHtoDAsync_v2, to, SIDE_DEVICE, (uintptr_t)from, SIDE_ANY,
                       nbytes, stream);
}

/* A synchronous call returns before its end: from a little pageable memory, and within
 * devices' memory. */
static bool is_left(const struct CUctx_st *context, cuda_address to, cuda_address from,
                    size_t nbytes)
{
    const struct range *there = range_find(to), *here = range_find(from);

    if (!there || !range_on_device(there) || range_is_synchronous(there, context))
        return false;
    return here ? range_on_device(here) && !range_is_synchronous(here, context)
                : nbytes <= LEFT_MOST;
}

/* What went before is done in any case. */
static int copy_and_wait(enum sim_call call, struct CUstream_st *handle, cuda_address to,
                         enum side to_side, cuda_address from, enum side from_side, size_t nbytes)
{
    int result = sim_enter(call);
    struct CUstream_st *stream;
    uint64_t ticket;

    if (result)
        return result;
    result = stream_use(handle, &stream);
    if (!result && nbytes)
        result = queue_linear(call, to, to_side, from, from_side, nbytes, stream, &ticket);
    if (result || !nbytes)
        return sim_leave(result);
    lock_take(stream->legacy);
    stream_wait(stream, is_left(stream->context, to, from, nbytes) ? ticket - 1 : ticket);
    lock_give(stream->legacy);
    return sim_leave(stream_take_error(stream));
}

int cuMemcpyHtoD_v2(cuda_address to, const void *from, size_t nbytes)
{
    return copy_and_wait(CALL_cuMemcpyHtoD_v2, NULL, to, SIDE_DEVICE, (uintptr_t)from, SIDE_ANY,
                         nbytes);
}

int cuMemcpyHtoD_v2_ptds(cuda_address to, const void *from, size_t nbytes)
{
    return copy_and_wait(CALL_cuMemcpyHtoD_v2_ptds, CUDA_PER_THREAD_STREAM, to, SIDE_DEVICE,
                         (uintptr_t)from, SIDE_ANY, nbytes);
}

int cuMemcpyDtoH_v2(void *to, cuda_address from, size_t nbytes)
{
    return copy_and_wait(CALL_cuMemcpyDtoH_v2, NULL, (uintptr_t)to, SIDE_ANY, from, SIDE_DEVICE,
                         nbytes);
}

int cuMemcpyDtoD_v2(cuda_address to, cuda_address from, size_t nbytes)
{
    return copy_and_wait(CALL_cuMemcpyDtoD_v2, NULL, to, SIDE_DEVICE, from, SIDE_DEVICE, nbytes);
}

/* Unlike a copy, which goes through the host, it reaches no memory of another GPU without peer access. */
int cuMemsetD8Async(cuda_address to, unsigned char value, size_t nbytes, struct CUstream_st *handle)
{
    int result = sim_enter(CALL_cuMemsetD8Async);
    struct copy copy = {.width = nbytes, .rows = 1, .value = value};
    struct CUstream_st *stream;
    struct operation *op;

    if (result)
        return result;
    result = stream_use(handle, &stream);
    if (!result && nbytes)
        result = find_side(CALL_cuMemsetD8Async, to, nbytes, SIDE_DEVICE, &copy.to);
    if (!result && nbytes && !place_reached(stream->context, &copy.to))
        result = CUDA_INVALID_VALUE;
    if (result || !nbytes)
        return sim_leave(result);
    op = operation_new(CALL_cuMemsetD8Async, 1);
    op->copies[0] = copy;
    stream_submit(stream, op);
    return sim_leave(CUDA_OK);
}

/* ---- two dimensions */

struct plane {
    int type;
    cuda_address base;
    size_t x, y, pitch;
};

enum { TYPE_UNIFIED = 4 };

static int find_plane(const struct plane *plane, const struct cuda_copy_2d *shape,
                      struct place *place)
{
    enum side side = plane->type == CUDA_MEMORY_DEVICE ? SIDE_DEVICE : SIDE_ANY;

    if (plane->type != CUDA_MEMORY_HOST && plane->type != CUDA_MEMORY_DEVICE &&
        plane->type != TYPE_UNIFIED)
        return CUDA_INVALID_VALUE;
    if (shape->height > 1 && (plane->pitch < plane->x + shape->width || plane->pitch > INT_MAX))
        return CUDA_INVALID_VALUE;
    return find_side(CALL_cuMemcpy2DAsync_v2, plane->base + plane->y * plane->pitch + plane->x,
                     (shape->height - 1) * plane->pitch + shape->width, side, place);
}

/* No pitch: the rows are adjacent. */
static size_t pitch_of(size_t pitch, size_t x, size_t width)
{
    return pitch ? pitch : x + width;
}

static int queue_plane(const struct cuda_copy_2d *shape, struct CUstream_st *stream)
{
    struct plane to = {
        shape->to_type,
        shape->to_type == CUDA_MEMORY_HOST ? (uintptr_t)shape->to_host : shape->to_device,
        shape->to_x, shape->to_y, pitch_of(shape->to_pitch, shape->to_x, shape->width)};
    struct plane from = {
        shape->from_type,
        shape->from_type == CUDA_MEMORY_HOST ? (uintptr_t)shape->from_host : shape->from_device,
        shape->from_x, shape->from_y, pitch_of(shape->from_pitch, shape->from_x, shape->width)};
    struct copy copy = {.width = shape->width,
                        .rows = shape->height,
                        .to_pitch = to.pitch,
                        .from_pitch = from.pitch};
    struct operation *op;
    uint64_t ticket;
    int result = find_plane(&to, shape, &copy.to);

    if (!result)
        result = find_plane(&from, shape, &copy.from);
    if (result)
        return result;
    op = operation_new(CALL_cuMemcpy2DAsync_v2, 1);
    op->copies[0] = copy;
    ticket = stream_submit(stream, op);
    if (!copy.to.range || !copy.from.range)
        stream_wait(stream, ticket);
    return CUDA_OK;
}

int cuMemcpy2DAsync_v2(const struct cuda_copy_2d *shape, struct CUstream_st *handle)
{
    int result = sim_enter(CALL_cuMemcpy2DAsync_v2);
    struct CUstream_st *stream;

    if (result)
        return result;
    result = stream_use(handle, &stream);
    if (!result && shape->width && shape->height)
        result = queue_plane(shape, stream);
    return sim_leave(result);
}

/* ---- batches */

static bool are_attributes(const struct cuda_copy_attributes *attributes, const size_t *firsts,
                           size_t nattributes, size_t count)
{
    if (!nattributes || nattributes > count || firsts[0] != 0)
        return false;
    for (size_t i = 0; i < nattributes; i++)
        if (attributes[i].order < 1 || attributes[i].order > 3 ||
            (i && firsts[i] <= firsts[i - 1]) || firsts[i] >= count)
            return false;
    return true;
}

static int queue_batch(const cuda_address *to, const cuda_address *from, const size_t *nbytes,
                       size_t count, struct CUstream_st *stream)
{
    struct operation *op = operation_new(CALL_cuMemcpyBatchAsync_v2, count);
    bool waits = false;
    uint64_t ticket;
    int result = CUDA_OK;

    for (size_t i = 0; i < count && !result; i++) {
        struct copy copy = {.width = nbytes[i], .rows = 1};

        result = nbytes[i] ? place_find(op->call, to[i], nbytes[i], &copy.to) : CUDA_INVALID_VALUE;
        if (!result)
            result = place_find(op->call, from[i], nbytes[i], &copy.from);
        op->copies[i] = copy;
        waits |= !copy.to.range || !copy.from.range;
    }
    if (result) {
        op->ncopies = 0; /* nothing is kept yet */
        operation_free(op);
        return result;
    }
    ticket = stream_submit(stream, op);
    if (waits)
        stream_wait(stream, ticket);
    return CUDA_OK;
}

int cuMemcpyBatchAsync_v2(cuda_address *to, cuda_address *from, size_t *nbytes, size_t count,
                          struct cuda_copy_attributes *attributes, size_t *firsts,
                          size_t nattributes, struct CUstream_st *handle)
{
    int result = sim_enter(CALL_cuMemcpyBatchAsync_v2);
    struct CUstream_st *stream;

    if (result)
        return result;
    result = stream_use(handle, &stream);
    if (!result &&
        (stream->legacy || !count || !are_attributes(attributes, firsts, nattributes, count)))
        result = CUDA_INVALID_VALUE;
    if (!result)
        result = queue_batch(to, from, nbytes, count, stream);
    return sim_leave(result);
}
