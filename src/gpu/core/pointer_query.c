#include "gpu/core/pointer_query.h"

#include <stddef.h>
#include <stdint.h>

#include "gpu/core/driver.h"

enum pointer_kind pointer_kind(const void *pointer)
{
    int attributes[] = {CUDA_POINTER_MEMORY_TYPE, CUDA_POINTER_IS_MANAGED};
    unsigned type = 0, managed = 0;
    void *values[] = {&type, &managed};

    if (gpu_driver()->cuPointerGetAttributes(2, attributes, values,
                                             (gpu_address)(uintptr_t)pointer) != GPU_OK ||
        (type == 0 && !managed))
        return POINTER_UNKNOWN;
    return type == CUDA_MEMORY_DEVICE && !managed ? POINTER_DEVICE : POINTER_HOST;
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
    if (pointer_kind(pointer) != POINTER_DEVICE)
        return NULL;
    if (cuda->cuCtxGetCurrent(&context) == GPU_OK && context &&
        cuda->cuCtxGetDevice(&current) == GPU_OK && current == ordinal)
        return context;
    return cuda->cuDevicePrimaryCtxRetain(&context, ordinal) == GPU_OK ? context : NULL;
}
