#include "gpu/copy/row_copy.h"

#include "gpu/core/driver.h"

#define LARGEST_PITCH INT32_MAX /* CU_DEVICE_ATTRIBUTE_MAX_PITCH of all GPUs so far */

/* One end of a copy: memory, and the bytes from row to row. */
struct end {
    gpu_address at;
    int64_t stride;
    bool on_gpu;
};

static void *host_at(gpu_address at)
{
    return (void *)(uintptr_t)at; /* NOLINT(performance-no-int-to-ptr): one address space */
}

static int copy_row(const struct end *to, const struct end *from, size_t i, size_t nbytes,
                    gpu_stream stream)
{
    const gpu_address target = to->at + (gpu_address)((int64_t)i * to->stride);
    const gpu_address source = from->at + (gpu_address)((int64_t)i * from->stride);

    if (!to->on_gpu)
        return gpu_driver()->cuMemcpyDtoHAsync_v2(host_at(target), source, nbytes, stream);
    if (!from->on_gpu)
        return gpu_driver()->cuMemcpyHtoDAsync_v2(target, host_at(source), nbytes, stream);
    return gpu_driver()->cuMemcpyAsync(target, source, nbytes, stream);
}

bool rows_are_one_copy(int64_t stride, size_t nbytes)
{
    return stride >= (int64_t)nbytes && stride <= LARGEST_PITCH;
}

static int copy_in_two_dimensions(const struct end *to, const struct end *from, size_t nbytes,
                                  size_t n, gpu_stream stream)
{
    struct cuda_copy_2d args = {.from_type = from->on_gpu ? CUDA_MEMORY_DEVICE : CUDA_MEMORY_HOST,
                                .from_pitch = (size_t)from->stride,
                                .to_type = to->on_gpu ? CUDA_MEMORY_DEVICE : CUDA_MEMORY_HOST,
                                .to_pitch = (size_t)to->stride,
                                .width = nbytes,
                                .height = n};

    if (from->on_gpu)
        args.from_device = from->at;
    else
        args.from_host = host_at(from->at);
    if (to->on_gpu)
        args.to_device = to->at;
    else
        args.to_host = host_at(to->at);
    return gpu_driver()->cuMemcpy2DAsync_v2(&args, stream);
}

int rows_copy(const struct rows *rows, bool to_host, gpu_stream stream)
{
    const struct end gpu = {rows->gpu, rows->gpu_stride, true};
    const struct end host = {(gpu_address)(uintptr_t)rows->host, rows->host_stride, rows->on_gpu};
    const struct end *to = to_host ? &host : &gpu, *from = to_host ? &gpu : &host;
    int status = GPU_OK;

    if (rows->n > 1 && rows_are_one_copy(to->stride, rows->nbytes) &&
        rows_are_one_copy(from->stride, rows->nbytes))
        return copy_in_two_dimensions(to, from, rows->nbytes, rows->n, stream);
    for (size_t i = 0; i < rows->n && status == GPU_OK; i++)
        status = copy_row(to, from, i, rows->nbytes, stream);
    return status;
}
