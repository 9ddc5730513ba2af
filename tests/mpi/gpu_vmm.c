/* Memory of cuMemCreate, mapped at addresses of cuMemAddressReserve. */
#include "tests/mpi/gpu.h"

#define PINNED_ON_DEVICE 1  /* CU_MEM_ALLOCATION_TYPE_PINNED */
#define LOCATION_DEVICE 1   /* CU_MEM_LOCATION_TYPE_DEVICE */
#define HANDLE_DESCRIPTOR 1 /* CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */
#define READ_AND_WRITE 3    /* CU_MEM_ACCESS_FLAGS_PROT_READWRITE */

struct location {
    int type, id;
};

struct vmm_properties { /* CUmemAllocationProp */
    int type, handles;
    struct location location;
    void *metadata;
    unsigned char flags[8];
};

struct vmm_access { /* CUmemAccessDesc */
    struct location location;
    int flags;
};

/* Whole pages, of which the driver says the size; 0 where it has no such memory. */
static size_t whole_pages(const struct vmm_properties *properties, size_t nbytes)
{
    size_t page = 0;

    if (!cuda.cuMemCreate || !cuda.cuMemAddressReserve ||
        cuda.cuMemGetAllocationGranularity(&page, properties, 0) != CUDA_OK || !page)
        return 0;
    return (nbytes + page - 1) / page * page;
}

static struct vmm_properties properties_of(bool exportable)
{
    struct vmm_properties properties = {0};

    properties.type = PINNED_ON_DEVICE;
    properties.handles = exportable ? HANDLE_DESCRIPTOR : 0;
    properties.location.type = LOCATION_DEVICE;
    cuda.cuCtxGetDevice(&properties.location.id);
    return properties;
}

void *vmm_make(size_t nbytes, bool exportable)
{
    struct vmm_properties properties = properties_of(exportable);
    struct vmm_access access = {properties.location, READ_AND_WRITE};
    size_t mapped = whole_pages(&properties, nbytes);
    unsigned long long handle;
    cuda_address address;
    int status;

    if (!mapped || cuda.cuMemCreate(&handle, mapped, &properties, 0) != CUDA_OK)
        return NULL;
    status = cuda.cuMemAddressReserve(&address, mapped, 0, 0, 0);
    if (status == CUDA_OK)
        status = cuda.cuMemMap(address, mapped, 0, handle, 0);
    if (status == CUDA_OK)
        status = cuda.cuMemSetAccess(address, mapped, &access, 1);
    cuda.cuMemRelease(handle); /* the mapping keeps the memory */
    return status == CUDA_OK ? (void *)(uintptr_t)address : NULL;
}

void vmm_clear(void *at, size_t nbytes)
{
    struct vmm_properties properties = properties_of(true);
    cuda_address address = (cuda_address)(uintptr_t)at;
    size_t mapped = whole_pages(&properties, nbytes);

    cuda.cuMemUnmap(address, mapped);
    cuda.cuMemAddressFree(address, mapped);
}
