#include "gpu/copy/strided_copy_engine.h"

#include <limits.h>

/* A copy engine moves rows of 64 bytes no faster than rows of 8 (two H200: 3 a
 * nanosecond), so that shorter ones than this leave the link idle. */
#define ROW_LEAST 256

static int copy_bytes(gpu_stream stream, gpu_address to, gpu_address from, uint64_t nbytes)
{
    return gpu_driver()->cuMemcpyDtoDAsync_v2(to, from, nbytes, stream);
}

static bool is_pitch(int64_t stride, uint64_t width)
{
    return stride > 0 && stride <= INT_MAX && (uint64_t)stride >= width;
}

/* The inner levels are rows that one call copies. */
static bool has_rows(const struct strided_pair *joint)
{
    return joint->levels > 1 && is_pitch(joint->to_stride[1], joint->size[1]) &&
           is_pitch(joint->from_stride[1], joint->size[1]);
}

/* Planes of a box are a whole number of rows apart. */
static bool are_planes(int64_t stride, int64_t row, uint64_t rows)
{
    return stride > 0 && stride % row == 0 && (uint64_t)(stride / row) >= rows;
}

static bool has_planes(const struct strided_pair *joint)
{
    const uint64_t rows = joint->levels > 2 ? joint->size[2] / joint->size[1] : 0;

    return rows && has_rows(joint) && are_planes(joint->to_stride[2], joint->to_stride[1], rows) &&
           are_planes(joint->from_stride[2], joint->from_stride[1], rows);
}

static int copy_rows(gpu_stream stream, const struct strided_pair *joint, gpu_address to,
                     gpu_address from, uint64_t rows)
{
    const struct cuda_copy_2d shape = {.from_type = CUDA_MEMORY_DEVICE,
                                       .from_device = from,
                                       .from_pitch = (size_t)joint->from_stride[1],
                                       .to_type = CUDA_MEMORY_DEVICE,
                                       .to_device = to,
                                       .to_pitch = (size_t)joint->to_stride[1],
                                       .width = joint->size[1],
                                       .height = rows};

    return gpu_driver()->cuMemcpy2DAsync_v2(&shape, stream);
}

static int copy_planes(gpu_stream stream, const struct strided_pair *joint, gpu_address to,
                       gpu_address from, uint64_t planes)
{
    const struct cuda_copy_3d shape = {
        .from_type = CUDA_MEMORY_DEVICE,
        .from_device = from,
        .from_pitch = (size_t)joint->from_stride[1],
        .from_height = (size_t)(joint->from_stride[2] / joint->from_stride[1]),
        .to_type = CUDA_MEMORY_DEVICE,
        .to_device = to,
        .to_pitch = (size_t)joint->to_stride[1],
        .to_height = (size_t)(joint->to_stride[2] / joint->to_stride[1]),
        .width = joint->size[1],
        .height = joint->size[2] / joint->size[1],
        .depth = planes};

    return gpu_driver()->cuMemcpy3DAsync_v2(&shape, stream);
}

/* The first nbytes of those levels. */
static int copy_levels(gpu_stream stream, const struct strided_pair *joint, unsigned levels,
                       gpu_address to, gpu_address from, uint64_t nbytes)
{
    const unsigned last = levels - 1;
    const uint64_t size = joint->size[last], whole = nbytes / size;
    int status = GPU_OK;

    if (nbytes == 0)
        return GPU_OK;
    if (levels == 1)
        return copy_bytes(stream, to, from, nbytes);
    if (whole && levels == 2 && has_rows(joint))
        status = copy_rows(stream, joint, to, from, whole);
    else if (whole && levels == 3 && has_planes(joint))
        status = copy_planes(stream, joint, to, from, whole);
    else
        for (uint64_t i = 0; i < whole && status == GPU_OK; i++)
            status = copy_levels(stream, joint, last, to + i * (gpu_address)joint->to_stride[last],
                                 from + i * (gpu_address)joint->from_stride[last], size);
    if (status != GPU_OK)
        return status;
    return copy_levels(stream, joint, last, to + whole * (gpu_address)joint->to_stride[last],
                       from + whole * (gpu_address)joint->from_stride[last], nbytes - whole * size);
}

static uint64_t run_behind(const struct strided *shape, uint64_t byte, uint64_t nbytes)
{
    const uint64_t run = shape->n[0] - byte % shape->n[0];

    return shape->levels == 1 || run > nbytes - byte ? nbytes - byte : run;
}

static int copy_pieces(gpu_stream stream, const struct strided *to, const struct strided *from,
                       uint64_t nbytes)
{
    int status = GPU_OK;

    for (uint64_t byte = 0, n; byte < nbytes && status == GPU_OK; byte += n) {
        const uint64_t there = run_behind(to, byte, nbytes), here = run_behind(from, byte, nbytes);

        n = there < here ? there : here;
        status = copy_bytes(stream, strided_address(to, byte), strided_address(from, byte), n);
    }
    return status;
}

int copy_engine_strided(gpu_stream stream, const struct strided *to, const struct strided *from,
                        uint64_t nbytes)
{
    struct strided_pair joint;

    if (!strided_join(to, from, nbytes, &joint))
        return copy_pieces(stream, to, from, nbytes);
    return copy_levels(stream, &joint, joint.levels, joint.to, joint.from, nbytes);
}

bool copy_engine_strided_is_quick(const struct strided *to, const struct strided *from,
                                  uint64_t nbytes)
{
    struct strided_pair joint;

    if (!strided_join(to, from, nbytes, &joint))
        return false;
    if (joint.levels == 1)
        return true;
    if (joint.size[1] < ROW_LEAST || nbytes % joint.size[joint.levels - 1])
        return false;
    return joint.levels == 2 ? has_rows(&joint) : joint.levels == 3 && has_planes(&joint);
}
