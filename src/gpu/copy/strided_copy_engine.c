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
static bool has_rows(const struct strided_pair *pair)
{
    return pair->levels > 1 && is_pitch(pair->to_stride[1], pair->size[1]) &&
           is_pitch(pair->from_stride[1], pair->size[1]);
}

/* Planes of a box are a whole number of rows apart. */
static bool are_planes(int64_t stride, int64_t row, uint64_t rows)
{
    return stride > 0 && stride % row == 0 && (uint64_t)(stride / row) >= rows;
}

static bool has_planes(const struct strided_pair *pair)
{
    const uint64_t rows = pair->levels > 2 ? pair->size[2] / pair->size[1] : 0;

    return rows && has_rows(pair) && are_planes(pair->to_stride[2], pair->to_stride[1], rows) &&
           are_planes(pair->from_stride[2], pair->from_stride[1], rows);
}

static int copy_rows(gpu_stream stream, const struct strided_pair *pair, gpu_address to,
                     gpu_address from, uint64_t rows)
{
    const struct cuda_copy_2d args = {.from_type = CUDA_MEMORY_DEVICE,
                                      .from_device = from,
                                      .from_pitch = (size_t)pair->from_stride[1],
                                      .to_type = CUDA_MEMORY_DEVICE,
                                      .to_device = to,
                                      .to_pitch = (size_t)pair->to_stride[1],
                                      .width = pair->size[1],
                                      .height = rows};

    return gpu_driver()->cuMemcpy2DAsync_v2(&args, stream);
}

static int copy_planes(gpu_stream stream, const struct strided_pair *pair, gpu_address to,
                       gpu_address from, uint64_t planes)
{
    const struct cuda_copy_3d args = {
        .from_type = CUDA_MEMORY_DEVICE,
        .from_device = from,
        .from_pitch = (size_t)pair->from_stride[1],
        .from_height = (size_t)(pair->from_stride[2] / pair->from_stride[1]),
        .to_type = CUDA_MEMORY_DEVICE,
        .to_device = to,
        .to_pitch = (size_t)pair->to_stride[1],
        .to_height = (size_t)(pair->to_stride[2] / pair->to_stride[1]),
        .width = pair->size[1],
        .height = pair->size[2] / pair->size[1],
        .depth = planes};

    return gpu_driver()->cuMemcpy3DAsync_v2(&args, stream);
}

/* The first nbytes of those levels. */
static int copy_levels(gpu_stream stream, const struct strided_pair *pair, unsigned levels,
                       gpu_address to, gpu_address from, uint64_t nbytes)
{
    const unsigned last = levels - 1;
    const uint64_t size = pair->size[last], whole = nbytes / size;
    int status = GPU_OK;

    if (nbytes == 0)
        return GPU_OK;
    if (levels == 1)
        return copy_bytes(stream, to, from, nbytes);
    if (whole && levels == 2 && has_rows(pair))
        status = copy_rows(stream, pair, to, from, whole);
    else if (whole && levels == 3 && has_planes(pair))
        status = copy_planes(stream, pair, to, from, whole);
    else
        for (uint64_t i = 0; i < whole && status == GPU_OK; i++)
            status = copy_levels(stream, pair, last, to + i * (gpu_address)pair->to_stride[last],
                                 from + i * (gpu_address)pair->from_stride[last], size);
    if (status != GPU_OK)
        return status;
    return copy_levels(stream, pair, last, to + whole * (gpu_address)pair->to_stride[last],
                       from + whole * (gpu_address)pair->from_stride[last], nbytes - whole * size);
}

static uint64_t run_behind(const struct strided *strided, uint64_t byte, uint64_t nbytes)
{
    const uint64_t run = strided->n[0] - byte % strided->n[0];

    return strided->levels == 1 || run > nbytes - byte ? nbytes - byte : run;
}

static int copy_runs(gpu_stream stream, const struct strided *to, const struct strided *from,
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
    struct strided_pair pair;

    if (!strided_pair_of(to, from, nbytes, &pair))
        return copy_runs(stream, to, from, nbytes);
    return copy_levels(stream, &pair, pair.levels, pair.to, pair.from, nbytes);
}

bool copy_engine_strided_is_quick(const struct strided *to, const struct strided *from,
                                  uint64_t nbytes)
{
    struct strided_pair pair;

    if (!strided_pair_of(to, from, nbytes, &pair))
        return false;
    if (pair.levels == 1)
        return true;
    if (pair.size[1] < ROW_LEAST || nbytes % pair.size[pair.levels - 1])
        return false;
    return pair.levels == 2 ? has_rows(&pair) : pair.levels == 3 && has_planes(&pair);
}
