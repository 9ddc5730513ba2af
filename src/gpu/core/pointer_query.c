#include "gpu/core/pointer_query.h"

#include <stddef.h>
#include <stdint.h>

#include "gpu/core/driver.h"

bool pointer_is_device(const void *pointer)
{
    int attributes[] = {CUDA_POINTER_MEMORY_TYPE, CUDA_POINTER_IS_MANAGED};
    unsigned type = 0, managed = 0;
    void *values[] = {&type, &managed};

    return gpu_driver()->cuPointerGetAttributes(2, attributes, values,
                                                (gpu_address)(uintptr_t)pointer) == GPU_OK &&
           type == CUDA_MEMORY_DEVICE && !managed;
}

gpu_context pointer_context(const void *pointer)
{
    const struct cuda_driver *cuda = gpu_driver();
    int attributes[] = {CUDA_POINTER_CONTEXT, CUDA_POINTER_ORDINAL}, ordinal = 0, current;
    gpu_context context = NULL;
    void *values[] = {&context, &ordinal};

    if (cuda->cuPointerGetAttributes(2, attributes, values, (gpu_address)(uintptr_t)pointer) !=
            GPU_OK ||
        context)
        return context;
    if (!pointer_is_device(pointer))
        return NULL;
    if (cuda->cuCtxGetCurrent(&context) == GPU_OK && context &&
        cuda->cuCtxGetDevice(&current) == GPU_OK && current == ordinal)
        return context;
    return cuda->cuDevicePrimaryCtxRetain(&context, ordinal) == GPU_OK ? context : NULL;
}
