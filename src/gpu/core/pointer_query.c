#include "gpu/core/pointer_query.h"

#include <stddef.h>
#include <stdint.h>

#include "gpu/core/driver.h"
#include "gpu/core/gpu_stream.h"

/* The driver's answers about a pointer, each an attribute; false: it has none. */
static bool ask(const void *pointer, unsigned n, int *attributes, void **values)
{
    return gpu_driver()->cuPointerGetAttributes(n, attributes, values,
                                                (gpu_address)(uintptr_t)pointer) == GPU_OK;
}

/* managed: of the memory, where the driver has it at all. */
static bool ask_allocation(const void *pointer, struct allocation *allocation, bool *managed)
{
    int attributes[] = {CUDA_POINTER_BUFFER_ID,   CUDA_POINTER_START,       CUDA_POINTER_SIZE,
                        CUDA_POINTER_IPC_CAPABLE, CUDA_POINTER_SYNC_MEMOPS, CUDA_POINTER_CONTEXT,
                        CUDA_POINTER_IS_MANAGED};
    unsigned long long id = 0;
    unsigned ipc_capable = 0, set = 0, is_managed = 0;
    void *values[] = {&id,  &allocation->start,   &allocation->nbytes, &ipc_capable,
                      &set, &allocation->context, &is_managed};

    *allocation = (struct allocation){0};
    if (!ask(pointer, sizeof attributes / sizeof *attributes, attributes, values))
        return false;
    allocation->id = id;
    allocation->ipc_capable = ipc_capable & 0xff;
    allocation->synchronous = ipc_capable & set & 0xff;
    *managed = is_managed & 0xff;
    return true;
}

/* Host memory, which is asked about most, costs one attribute. */
enum pointer_kind pointer_kind(const void *pointer, struct allocation *allocation)
{
    int attribute = CUDA_POINTER_MEMORY_TYPE;
    unsigned type = 0;
    void *value = &type;
    bool managed;

    if (!ask(pointer, 1, &attribute, &value) || type == 0)
        return POINTER_UNKNOWN;
    if (type != CUDA_MEMORY_DEVICE)
        return POINTER_HOST;
    if (!ask_allocation(pointer, allocation, &managed))
        return POINTER_UNKNOWN;
    return managed ? POINTER_HOST : POINTER_DEVICE;
}

bool pointer_allocation(const void *pointer, struct allocation *allocation)
{
    bool managed;

    return ask_allocation(pointer, allocation, &managed) && allocation->start != 0;
}

gpu_context pointer_context(const void *pointer)
{
    const struct cuda_driver *cuda = gpu_driver();
    int attributes[] = {CUDA_POINTER_CONTEXT, CUDA_POINTER_ORDINAL}, ordinal = 0, current;
    gpu_context context = NULL;
    void *values[] = {&context, &ordinal};
    struct allocation allocation;

    if (!ask(pointer, 2, attributes, values) || context)
        return context;
    if (pointer_kind(pointer, &allocation) != POINTER_DEVICE)
        return NULL;
    context = current_home();
    if (context && cuda->cuCtxGetDevice(&current) == GPU_OK && current == ordinal)
        return context;
    return cuda->cuDevicePrimaryCtxRetain(&context, ordinal) == GPU_OK ? context : NULL;
}

unsigned long long context_number(gpu_context context)
{
    const struct cuda_driver *cuda = gpu_driver();
    unsigned long long number = 0;

    return cuda->cuCtxGetId && cuda->cuCtxGetId(context, &number) == GPU_OK ? number : 0;
}
