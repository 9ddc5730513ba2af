/* Where memory of cuMemCreate is mapped, and which devices may reach it there. Unmapping
 * does not wait for the work that uses the mapping: that is the caller's mistake. */
#include <stdlib.h>

#include "tests/sim/sim.h"

#define GRANULARITY ((size_t)2 << 20)

static struct reserved {
    struct reserved *next;
    uintptr_t start;
    size_t nbytes;
} * all;

int cuMemAddressReserve(cuda_address *address, size_t nbytes, size_t alignment, cuda_address wanted,
                        unsigned long long flags)
{
    int result = sim_enter(CALL_cuMemAddressReserve);
    struct reserved *reserved;

    (void)wanted; /* a hint */
    if (result)
        return result;
    if (!vmm_is_there())
        return sim_leave(SIM_NOT_SUPPORTED);
    if (!nbytes || nbytes % GRANULARITY || flags || alignment & (alignment - 1) ||
        alignment > GRANULARITY)
        return sim_leave(CUDA_INVALID_VALUE);
    reserved = calloc(1, sizeof *reserved);
    if (!reserved)
        sim_die("no memory");
    reserved->nbytes = nbytes;
    reserved->start = range_address(nbytes + GRANULARITY, false);
    reserved->start += GRANULARITY - reserved->start % GRANULARITY;
    reserved->next = all;
    all = reserved;
    *address = reserved->start;
    return sim_leave(CUDA_OK);
}

/* The reservation that all of it lies in. */
static struct reserved **find(cuda_address address, size_t nbytes)
{
    struct reserved **link = &all;

    while (*link && (address < (*link)->start || nbytes > (*link)->nbytes ||
                     address - (*link)->start > (*link)->nbytes - nbytes))
        link = &(*link)->next;
    return link;
}

int cuMemAddressFree(cuda_address address, size_t nbytes)
{
    int result = sim_enter(CALL_cuMemAddressFree);
    struct reserved **link, *reserved;

    if (result)
        return result;
    link = find(address, nbytes);
    reserved = *link;
    if (!reserved || reserved->start != address || reserved->nbytes != nbytes ||
        range_overlaps(address, nbytes))
        return sim_leave(CUDA_INVALID_VALUE);
    *link = reserved->next;
    free(reserved);
    return sim_leave(CUDA_OK);
}

/* Whole allocations only. */
int cuMemMap(cuda_address address, size_t nbytes, size_t offset, unsigned long long handle,
             unsigned long long flags)
{
    int result = sim_enter(CALL_cuMemMap);
    struct range *range;
    struct vmm *vmm;

    if (result)
        return result;
    vmm = vmm_of(handle);
    if (!vmm || offset || flags || nbytes != vmm->nbytes || !*find(address, nbytes) ||
        address % GRANULARITY || range_overlaps(address, nbytes))
        return sim_leave(CUDA_INVALID_VALUE);
    range = range_add(RANGE_MAPPED, address, nbytes, NULL);
    range->mapped = nbytes;
    range->vmm = vmm;
    range->entry = vmm->entry;
    range->alias = job_map(vmm->entry);
    vmm->mappings++;
    return sim_leave(CUDA_OK);
}

static struct range *mapped_at(cuda_address address, size_t nbytes)
{
    struct range *range = range_find(address);

    return range && range->vmm && range->start == address && range->nbytes == nbytes ? range : NULL;
}

int cuMemUnmap(cuda_address address, size_t nbytes)
{
    int result = sim_enter(CALL_cuMemUnmap);
    struct range *range;

    if (result)
        return result;
    range = mapped_at(address, nbytes);
    if (!range)
        return sim_leave(CUDA_INVALID_VALUE);
    range_release(range);
    return sim_leave(CUDA_OK);
}

static int check_access(const struct range *range, const struct cuda_memory_access *access)
{
    int device = access->location.id;

    if (access->location.type != CUDA_LOCATION_DEVICE ||
        (access->flags && access->flags != CUDA_READ_AND_WRITE))
        return CUDA_INVALID_VALUE;
    if (device < 0 || device >= device_count() ||
        !device_reaches(device_physical(device), range->vmm->physical))
        return SIM_INVALID_DEVICE;
    return CUDA_OK;
}

int cuMemSetAccess(cuda_address address, size_t nbytes, const struct cuda_memory_access *access,
                   size_t n)
{
    int result = sim_enter(CALL_cuMemSetAccess);
    struct range *range;

    if (result)
        return result;
    range = mapped_at(address, nbytes);
    if (!range || !n)
        return sim_leave(CUDA_INVALID_VALUE);
    for (size_t i = 0; i < n && !result; i++)
        result = check_access(range, &access[i]);
    for (size_t i = 0; i < n && !result; i++) {
        unsigned bit = 1u << device_physical(access[i].location.id);

        range->access = access[i].flags ? range->access | bit : range->access & ~bit;
    }
    return sim_leave(result);
}
