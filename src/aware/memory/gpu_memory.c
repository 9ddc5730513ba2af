#include "aware/memory/gpu_memory.h"

#include <stdint.h>

#include "aware/memory/copy_stream.h"
#include "aware/memory/gpu_buffer.h"
#include "gpu/core/gpu_calls.h"

static int find_context(gpu_context *context, struct gpubind_error *err)
{
    int status = gpu_context_current(context), device;

    if (status == GPU_OK && *context)
        return 0;
    status = gpu_device_get(&device, 0);
    if (status == GPU_OK)
        status = gpu_context_retain(context, device);
    return status == GPU_OK ? 0 : gpu_error(status, "the GPU cannot be used", err);
}

static void *pointer_to(gpu_address address)
{
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr): one address space */
}

void *gpu_memory_make(size_t nbytes, struct gpubind_error *err)
{
    struct entered entered;
    gpu_address memory = 0;
    gpu_context context;
    int status;

    if (gpu_use(err) < 0 || find_context(&context, err) < 0)
        return NULL;
    if (!buffer_enter_context(context, &entered)) {
        error_set(err, "the GPU's context cannot be entered");
        return NULL;
    }
    status = gpu_mem_alloc(&memory, nbytes);
    buffer_leave(&entered);
    if (status == GPU_OK)
        return pointer_to(memory);
    gpu_error(status, "memory cannot be allocated", err);
    return NULL;
}

int gpu_memory_clear(void *memory, size_t nbytes, struct gpubind_error *err)
{
    struct entered entered;
    gpu_stream stream;
    int status;

    if (!buffer_enter(memory, &entered))
        return error_set(err, "it is gone");
    stream = copy_stream(entered.context);
    status = gpu_memset_async((gpu_address)(uintptr_t)memory, 0, nbytes, stream);
    if (status == GPU_OK)
        status = gpu_stream_synchronize(stream);
    buffer_leave(&entered);
    return status == GPU_OK ? 0 : gpu_error(status, "memory cannot be set", err);
}

void gpu_memory_free(void *memory)
{
    struct entered entered;

    if (!memory || !buffer_enter(memory, &entered))
        return;
    gpu_mem_free((gpu_address)(uintptr_t)memory);
    buffer_leave(&entered);
}
