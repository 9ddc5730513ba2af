#include "gpu/core/pointer_query.h"

#include <stddef.h>
#include <stdint.h>

#include "gpu/core/driver.h"

/* The driver's answers about a pointer, each an attribute; false: it has none. */
static bool ask(const void *pointer, unsigned n, int *attributes, void **values)
{
    return gpu_driver()->cuPointerGetAttributes(n, attributes, values,
                                                (gpu_address)(uintptr_t)pointer) == GPU_OK;
}

/* Host memory, which is asked about most, costs one attribute. */
enum pointer_kind pointer_kind(const void *pointer, bool *synchronous)
{
    int attributes[] = {CUDA_POINTER_MEMORY_TYPE, CUDA_POINTER_IS_MANAGED, CUDA_POINTER_IPC_CAPABLE,
                        CUDA_POINTER_SYNC_MEMOPS};
    unsigned type = 0, managed = 0, ipc_capable = 0, set = 0;
    void *values[] = {&type, &managed, &ipc_capable, &set};

    if (!ask(pointer, 1, attributes, values) || type == 0)
        return POINTER_UNKNOWN;
    if (type != CUDA_MEMORY_DEVICE)
        return POINTER_HOST;
    if (!ask(pointer, 3, attributes + 1, values + 1))
        return POINTER_UNKNOWN;
    if (managed)
        return POINTER_HOST;
    *synchronous = ipc_capable & set & 0xff;
    return POINTER_DEVICE;
}

gpu_context pointer_context(const void *pointer)
{
    const struct cuda_driver *cuda = gpu_driver();
    int attributes[] = {CUDA_POINTER_CONTEXT, CUDA_POINTER_ORDINAL}, ordinal = 0, current;
    gpu_context context = NULL;
    void *values[] = {&context, &ordinal};
    bool synchronous;

    if (!ask(pointer, 2, attributes, values) || context)
        return context;
    if (pointer_kind(pointer, &synchronous) != POINTER_DEVICE)
        return NULL;
    if (cuda->cuCtxGetCurrent(&context) == GPU_OK && context &&
        cuda->cuCtxGetDevice(&current) == GPU_OK && current == ordinal)
        return context;
    return cuda->cuDevicePrimaryCtxRetain(&context, ordinal) == GPU_OK ? context : NULL;
}

bool pointer_allocation(const void *pointer, struct allocation *allocation)
{
    int attributes[] = {CUDA_POINTER_BUFFER_ID, CUDA_POINTER_START, CUDA_POINTER_SIZE,
                        CUDA_POINTER_IPC_CAPABLE};
    unsigned long long id = 0;
    unsigned ipc_capable = 0;
    void *values[] = {&id, &allocation->start, &allocation->nbytes, &ipc_capable};

    if (!ask(pointer, 4, attributes, values) || allocation->start == 0)
        return false;
    allocation->id = id;
    allocation->ipc_capable = ipc_capable & 0xff;
    return true;
}
