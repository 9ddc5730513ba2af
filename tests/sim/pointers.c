/* What the driver knows of an address. */
#include <string.h>

#include "tests/sim/sim.h"

/* What the driver writes for each attribute, by its number; 0: not simulated. */
static const size_t sizes[] = {
    [CUDA_POINTER_CONTEXT] = sizeof(void *),
    [CUDA_POINTER_SYNC_MEMOPS] = sizeof(unsigned),
    [CUDA_POINTER_MEMORY_TYPE] = sizeof(unsigned),
    [CUDA_POINTER_BUFFER_ID] = sizeof(unsigned long long),
    [CUDA_POINTER_IS_MANAGED] = sizeof(unsigned),
    [CUDA_POINTER_ORDINAL] = sizeof(int),
    [CUDA_POINTER_IPC_CAPABLE] = sizeof(unsigned),
    [CUDA_POINTER_START] = sizeof(void *),
    [CUDA_POINTER_SIZE] = sizeof(size_t),
    [CUDA_POINTER_HANDLE_TYPES] = sizeof(unsigned long long),
};

union value {
    void *pointer;
    unsigned number;
    int ordinal;
    unsigned long long id;
    size_t size;
};

static union value read_attribute(int attribute, const struct range *range)
{
    union value value;

    memset(&value, 0, sizeof value);
    if (attribute == CUDA_POINTER_CONTEXT)
        value.pointer = range->kind == RANGE_POOL ? NULL : range->context; /* mapped: NULL */
    else if (attribute == CUDA_POINTER_MEMORY_TYPE)
        value.number = range_on_device(range) ? CUDA_MEMORY_DEVICE : CUDA_MEMORY_HOST;
    else if (attribute == CUDA_POINTER_BUFFER_ID)
        value.id = range->buffer_id;
    else if (attribute == CUDA_POINTER_IS_MANAGED)
        value.number = range->kind == RANGE_MANAGED;
    else if (attribute == CUDA_POINTER_ORDINAL)
        value.ordinal = range->vmm ? device_ordinal(range->vmm->physical) : range->context->device;
    else if (attribute == CUDA_POINTER_IPC_CAPABLE)
        value.number = range->kind == RANGE_DEVICE;
    else if (attribute == CUDA_POINTER_SYNC_MEMOPS)
        value.number = range->synchronous || range->kind == RANGE_MANAGED;
    else if (attribute == CUDA_POINTER_START)
        value.pointer = (void *)range->start;
    else if (attribute == CUDA_POINTER_SIZE)
        value.size = range->nbytes;
    return value;
}

int cuPointerGetAttributes(unsigned n, int *attributes, void **data, cuda_address address)
{
    int result = sim_enter(CALL_cuPointerGetAttributes);
    const struct range *range;
    union value value;

    if (result)
        return result;
    range = range_find(address);
    for (unsigned i = 0; i < n; i++)
        if (attributes[i] < 0 || (size_t)attributes[i] >= sizeof sizes / sizeof sizes[0] ||
            !sizes[attributes[i]])
            return sim_leave(CUDA_INVALID_VALUE);
    for (unsigned i = 0; i < n; i++) {
        memset(&value, 0, sizeof value);
        if (range)
            value = read_attribute(attributes[i], range);
        else if (attributes[i] == CUDA_POINTER_ORDINAL)
            value.ordinal = -2; /* no device */
        else if (attributes[i] == CUDA_POINTER_START || attributes[i] == CUDA_POINTER_SIZE)
            continue; /* left as they are */
        memcpy(data[i], &value, sizes[attributes[i]]);
    }
    return sim_leave(CUDA_OK);
}

/* As an H200's driver: memory of pools takes it and has nothing of it, see
 * range_is_synchronous; that of cuMemMap does not take it. */
int cuPointerSetAttribute(const void *value, int attribute, cuda_address address)
{
    int result = sim_enter(CALL_cuPointerSetAttribute);
    struct range *range;

    if (result)
        return result;
    range = range_find(address);
    if (!range || attribute != CUDA_POINTER_SYNC_MEMOPS)
        return sim_leave(CUDA_INVALID_VALUE);
    if (range->kind == RANGE_MAPPED)
        return sim_leave(SIM_NOT_SUPPORTED);
    range->synchronous = *(const unsigned *)value;
    return sim_leave(CUDA_OK);
}
