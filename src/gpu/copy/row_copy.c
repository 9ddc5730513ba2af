#include "gpu/copy/row_copy.h"

#include "gpu/core/driver.h"

#define LARGEST_PITCH INT32_MAX /* CU_DEVICE_ATTRIBUTE_MAX_PITCH of all GPUs so far */

static int copy_row(gpu_address gpu, char *host, size_t nbytes, bool to_host, gpu_stream stream)
{
    return to_host ? gpu_driver()->cuMemcpyDtoHAsync_v2(host, gpu, nbytes, stream)
                   : gpu_driver()->cuMemcpyHtoDAsync_v2(gpu, host, nbytes, stream);
}

static int copy_one_by_one(const struct rows *rows, bool to_host, gpu_stream stream)
{
    int status = GPU_OK;

    for (size_t i = 0; i < rows->n && status == GPU_OK; i++)
        status = copy_row(rows->gpu + (gpu_address)((int64_t)i * rows->gpu_stride),
                          rows->host + (int64_t)i * rows->host_stride, rows->nbytes, to_host,
                          stream);
    return status;
}

static bool is_pitch(int64_t stride, size_t nbytes)
{
    return stride >= (int64_t)nbytes && stride <= LARGEST_PITCH;
}

int rows_copy(const struct rows *rows, bool to_host, gpu_stream stream)
{
    struct cuda_copy_2d args = {.width = rows->nbytes, .height = rows->n};

    if (rows->n == 1 || !is_pitch(rows->gpu_stride, rows->nbytes) ||
        !is_pitch(rows->host_stride, rows->nbytes))
        return copy_one_by_one(rows, to_host, stream);
    if (to_host) {
        args.from_type = CUDA_MEMORY_DEVICE;
        args.from_device = rows->gpu;
        args.from_pitch = (size_t)rows->gpu_stride;
        args.to_type = CUDA_MEMORY_HOST;
        args.to_host = rows->host;
        args.to_pitch = (size_t)rows->host_stride;
    } else {
        args.from_type = CUDA_MEMORY_HOST;
        args.from_host = rows->host;
        args.from_pitch = (size_t)rows->host_stride;
        args.to_type = CUDA_MEMORY_DEVICE;
        args.to_device = rows->gpu;
        args.to_pitch = (size_t)rows->gpu_stride;
    }
    return gpu_driver()->cuMemcpy2DAsync_v2(&args, stream);
}
