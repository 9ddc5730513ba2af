/* Copies of boxes: cuMemcpy3DAsync, between device memory. */
#include <limits.h>

#include "tests/sim/sim.h"

struct box {
    cuda_address start;
    size_t pitch, height;
};

/* Where the box begins, and how far it reaches. */
static int find_box(const struct cuda_copy_3d *shape, int type, const struct box *box,
                    struct place *place)
{
    size_t last = ((shape->depth - 1) * box->height + shape->height - 1) * box->pitch;
    int result;

    if (type != CUDA_MEMORY_DEVICE || box->pitch < shape->width || box->pitch > INT_MAX ||
        (shape->depth > 1 && box->height < shape->height))
        return CUDA_INVALID_VALUE;
    result = place_find(CALL_cuMemcpy3DAsync_v2, box->start, last + shape->width, place);
    return !result && !place->range ? CUDA_INVALID_VALUE : result;
}

static struct box box_of(cuda_address device, size_t x, size_t y, size_t z, size_t pitch,
                         size_t height)
{
    return (struct box){device + (z * height + y) * pitch + x, pitch, height};
}

/* A copy for each plane. */
static int queue_box(const struct cuda_copy_3d *shape, struct CUstream_st *stream)
{
    const struct box to = box_of(shape->to_device, shape->to_x, shape->to_y, shape->to_z,
                                 shape->to_pitch, shape->to_height);
    const struct box from = box_of(shape->from_device, shape->from_x, shape->from_y, shape->from_z,
                                   shape->from_pitch, shape->from_height);
    struct copy copy = {.width = shape->width,
                        .rows = shape->height,
                        .to_pitch = to.pitch,
                        .from_pitch = from.pitch};
    int result = find_box(shape, shape->to_type, &to, &copy.to);
    struct operation *op;

    if (!result)
        result = find_box(shape, shape->from_type, &from, &copy.from);
    if (result)
        return result;
    op = operation_new(CALL_cuMemcpy3DAsync_v2, shape->depth);
    for (size_t z = 0; z < shape->depth; z++) {
        op->copies[z] = copy;
        op->copies[z].to.bytes += z * to.height * to.pitch;
        op->copies[z].from.bytes += z * from.height * from.pitch;
    }
    stream_submit(stream, op);
    return CUDA_OK;
}

int cuMemcpy3DAsync_v2(const struct cuda_copy_3d *shape, struct CUstream_st *handle)
{
    int result = sim_enter(CALL_cuMemcpy3DAsync_v2);
    struct CUstream_st *stream;

    if (result)
        return result;
    result = stream_use(handle, &stream);
    if (!result && (shape->reserved0 || shape->reserved1 || shape->from_lod || shape->to_lod))
        result = CUDA_INVALID_VALUE;
    if (!result && shape->width && shape->height && shape->depth)
        result = queue_box(shape, stream);
    return sim_leave(result);
}
