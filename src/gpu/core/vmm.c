#include "gpu/core/vmm.h"

#include <stdlib.h>
#include <unistd.h>

static struct shareable {
    struct shareable *next;
    struct gpu *gpu;
    gpu_address at;
    uint64_t size;
} * all;

static bool has(const struct gpu *gpu, int attribute)
{
    int value = 0;

    return gpu_driver()->cuDeviceGetAttribute(&value, attribute, gpu->ordinal) == GPU_OK && value;
}

bool vmm_is_possible(const struct gpu *gpu)
{
    const struct cuda_driver *cuda = gpu_driver();

    return cuda->cuMemGetAllocationGranularity && cuda->cuMemCreate && cuda->cuMemRelease &&
           cuda->cuMemAddressReserve && cuda->cuMemAddressFree && cuda->cuMemMap &&
           cuda->cuMemUnmap && cuda->cuMemSetAccess && cuda->cuMemExportToShareableHandle &&
           cuda->cuMemImportFromShareableHandle && has(gpu, CUDA_ATTRIBUTE_VIRTUAL_MEMORY) &&
           has(gpu, CUDA_ATTRIBUTE_FILE_DESCRIPTORS);
}

/* Maps the memory of the handle, with access for the GPU. Returns the driver's result. */
static int map(struct gpu *gpu, unsigned long long handle, uint64_t size, gpu_address *at)
{
    const struct cuda_memory_access access = {{CUDA_LOCATION_DEVICE, gpu->ordinal},
                                              CUDA_READ_AND_WRITE};
    const struct cuda_driver *cuda = gpu_driver();
    struct shareable *shareable = malloc(sizeof *shareable);
    int status = shareable ? cuda->cuMemAddressReserve(at, size, 0, 0, 0) : GPU_OUT_OF_MEMORY;

    if (status != GPU_OK) {
        free(shareable);
        return status;
    }
    status = cuda->cuMemMap(*at, size, 0, handle, 0);
    if (status == GPU_OK) {
        status = cuda->cuMemSetAccess(*at, size, &access, 1);
        if (status != GPU_OK)
            cuda->cuMemUnmap(*at, size);
    }
    if (status != GPU_OK) {
        cuda->cuMemAddressFree(*at, size);
        free(shareable);
        return status;
    }
    *shareable = (struct shareable){all, gpu, *at, size};
    all = shareable;
    return GPU_OK;
}

static int make(struct gpu *gpu, uint64_t nbytes, gpu_address *at, uint64_t *size, int *fd)
{
    const struct cuda_memory_properties properties = {
        .type = CUDA_PINNED,
        .handle_types = CUDA_FILE_DESCRIPTOR,
        .location = {CUDA_LOCATION_DEVICE, gpu->ordinal},
        .rdma = has(gpu, CUDA_ATTRIBUTE_VIRTUAL_MEMORY_RDMA)};
    const struct cuda_driver *cuda = gpu_driver();
    unsigned long long handle = 0;
    size_t granularity = 0;
    int status = cuda->cuMemGetAllocationGranularity(&granularity, &properties,
                                                     CUDA_GRANULARITY_MINIMUM);

    if (status != GPU_OK || granularity == 0)
        return status == GPU_OK ? GPU_NOT_SUPPORTED : status;
    *size = (nbytes + granularity - 1) / granularity * granularity;
    status = cuda->cuMemCreate(&handle, *size, &properties, 0);
    if (status != GPU_OK)
        return status;
    status = cuda->cuMemExportToShareableHandle(fd, handle, CUDA_FILE_DESCRIPTOR, 0);
    if (status == GPU_OK) {
        status = map(gpu, handle, *size, at);
        if (status != GPU_OK) {
            close(*fd);
            *fd = -1;
        }
    }
    cuda->cuMemRelease(handle); /* the mapping keeps the memory */
    return status;
}

int vmm_make(struct gpu *gpu, uint64_t nbytes, gpu_address *at, uint64_t *size, int *fd,
             struct gpubind_error *err)
{
    bool entered = gpu_enter(gpu);
    int status = make(gpu, nbytes, at, size, fd);

    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "exportable GPU memory cannot be made", err);
}

int vmm_open(struct gpu *gpu, int fd, uint64_t size, gpu_address *at, struct gpubind_error *err)
{
    const struct cuda_driver *cuda = gpu_driver();
    unsigned long long handle;
    bool entered = gpu_enter(gpu);
    /* The descriptor travels in the pointer. */
    int status = cuda->cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                                      CUDA_FILE_DESCRIPTOR);

    if (status == GPU_OK) {
        status = map(gpu, handle, size, at);
        cuda->cuMemRelease(handle);
    }
    gpu_leave(entered);
    return status == GPU_OK ? 0
                            : gpu_error(status,
                                        "another rank's exportable GPU memory cannot be "
                                        "mapped",
                                        err);
}

bool vmm_close(gpu_address at)
{
    struct shareable **link = &all, *shareable;
    bool entered;

    while (*link && (*link)->at != at)
        link = &(*link)->next;
    shareable = *link;
    if (!shareable)
        return false;
    *link = shareable->next;
    entered = gpu_enter(shareable->gpu);
    gpu_driver()->cuMemUnmap(at, shareable->size);
    gpu_driver()->cuMemAddressFree(at, shareable->size);
    gpu_leave(entered);
    free(shareable);
    return true;
}

struct gpu *vmm_gpu(gpu_address address)
{
    for (const struct shareable *shareable = all; shareable; shareable = shareable->next)
        if (address >= shareable->at && address - shareable->at < shareable->size)
            return shareable->gpu;
    return NULL;
}
