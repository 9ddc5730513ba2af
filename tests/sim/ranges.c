/* The ranges of addresses that the driver knows in this process. Those of device
 * memory lie in one reserved area that nobody can read or write. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/sim/sim.h"

#define AREA_MOST ((size_t)1 << 40)
#define AREA_LEAST ((size_t)1 << 32)

static struct range **ranges; /* the live ones, by address */
static int nranges, room;
static unsigned long long last_buffer_id;

static uintptr_t area, next_address;
static size_t area_bytes;
static struct freed {
    struct freed *next;
    uintptr_t page;
    size_t mapped;
} * freed; /* the last one first */

/* The position of the first range that ends behind the address. */
static int find_behind(uintptr_t address)
{
    int low = 0, high = nranges;

    while (low < high) {
        int middle = (low + high) / 2;

        if (ranges[middle]->start + ranges[middle]->nbytes > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct range *find_any(uintptr_t address)
{
    int at = find_behind(address);

    return at < nranges && ranges[at]->start <= address ? ranges[at] : NULL;
}

struct range *range_find(uintptr_t address)
{
    struct range *range = find_any(address);

    return range && !range->leaving ? range : NULL;
}

bool range_overlaps(uintptr_t start, size_t nbytes)
{
    int at = find_behind(start);

    return at < nranges && ranges[at]->start < start + nbytes;
}

struct range *range_at(int nth)
{
    return nth < nranges ? ranges[nth] : NULL;
}

bool range_is_synchronous(const struct range *range, const struct CUctx_st *context)
{
    return (context->flags & CUDA_CONTEXT_SYNC_MEMOPS) || !range_on_device(range) ||
           range->kind == RANGE_MANAGED || (range->kind == RANGE_DEVICE && range->synchronous);
}

bool range_on_device(const struct range *range)
{
    return range->kind <= RANGE_MANAGED;
}

size_t range_lead(size_t nbytes)
{
    return nbytes < ((size_t)1 << 20) ? 512 : 0;
}

bool range_is_device_address(uintptr_t address)
{
    return address - area < area_bytes;
}

static uintptr_t take_freed(size_t mapped)
{
    for (struct freed **at = &freed; *at; at = &(*at)->next) {
        struct freed *found = *at;
        uintptr_t page = found->page;

        if (found->mapped != mapped)
            continue;
        *at = found->next;
        free(found);
        return page;
    }
    return 0;
}

/* As much as the process may have. */
static void reserve_area(void)
{
    void *reserved = MAP_FAILED;

    for (area_bytes = AREA_MOST; area_bytes >= AREA_LEAST; area_bytes /= 2) {
        reserved = mmap(NULL, area_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);
        if (reserved != MAP_FAILED)
            break;
    }
    if (reserved == MAP_FAILED)
        sim_die("no addresses to reserve: %s", strerror(errno));
    area = next_address = (uintptr_t)reserved;
}

/* Allocations that fill the driver's blocks of 2 MiB are often adjacent on an H200; no others are here. */
#define WHOLE_BLOCK ((size_t)2 << 20)

uintptr_t range_address(size_t mapped, bool may_reuse)
{
    uintptr_t page = may_reuse ? take_freed(mapped) : 0;

    if (page)
        return page;
    if (!area)
        reserve_area();
    page = next_address;
    next_address += mapped + (mapped % WHOLE_BLOCK ? SIM_PAGE : 0);
    if (next_address - area > area_bytes)
        sim_die("the process has used up %zu bytes of addresses", area_bytes);
    return page;
}

struct range *range_add(enum range_kind kind, uintptr_t start, size_t nbytes,
                        struct CUctx_st *context)
{
    struct range *range = calloc(1, sizeof *range);
    int at = find_behind(start);

    if (nranges == room) {
        room = 2 * room + 64;
        ranges = realloc(ranges, (size_t)room * sizeof *ranges);
    }
    if (!range || !ranges)
        sim_die("no memory");
    memmove(ranges + at + 1, ranges + at, (size_t)(nranges - at) * sizeof *ranges);
    ranges[at] = range;
    nranges++;
    range->kind = kind;
    range->start = start;
    range->nbytes = nbytes;
    range->context = context;
    range->buffer_id = ++last_buffer_id;
    range->entry = -1;
    return range;
}

/* Its addresses may be handed out again, except a mapping's, so that its use after
 * closing is seen. */
static void keep_address(const struct range *range)
{
    struct freed *kept;

    if (range->kind != RANGE_DEVICE && range->kind != RANGE_POOL)
        return;
    kept = malloc(sizeof *kept);
    if (!kept)
        sim_die("no memory");
    *kept = (struct freed){freed, range->start - range->start % SIM_PAGE, range->mapped};
    freed = kept;
}

void range_remove(struct range *range)
{
    int at = find_behind(range->start);

    memmove(ranges + at, ranges + at + 1, (size_t)(nranges - at - 1) * sizeof *ranges);
    nranges--;
    range->dead = true;
    keep_address(range);
    if (!range->uses)
        free(range);
}

int place_find(enum sim_call call, cuda_address address, size_t nbytes, struct place *place)
{
    struct range *range = call == CALL_cuLaunchKernel ? find_any(address) : range_find(address);

    place->range = NULL;
    place->bytes = (char *)(uintptr_t)address;
    if (!range) {
        if (range_is_device_address(address))
            sim_die("use after free: %s of %zu bytes at %#llx, which is no device memory (any "
                    "more)",
                    sim_name(call), nbytes, address);
        return CUDA_OK;
    }
    if (nbytes > range->nbytes - (address - range->start) ||
        (range->kind == RANGE_MAPPED && !range->access))
        return CUDA_INVALID_VALUE;
    place->range = range;
    place->bytes = range->alias + (address - range->start);
    return CUDA_OK;
}

void place_keep(struct place *place)
{
    if (place->range)
        place->range->uses++;
}

void place_drop(struct place *place)
{
    if (!place->range)
        return;
    place->range->uses--;
    if (place->range->dead && !place->range->uses)
        free(place->range);
    place->range = NULL;
}

/* Work of a context reaches its own device, its context's mappings, page-locked and managed
 * memory, other devices only when peer access is enabled, and memory of cuMemMap as
 * cuMemSetAccess says. */
bool place_reached(const struct CUctx_st *context, const struct place *place)
{
    const struct range *range = place->range;

    if (!range)
        return false;
    if (range->kind == RANGE_IMPORTED)
        return range->context == context;
    if (range->kind == RANGE_MAPPED)
        return range->access >> context->physical & 1;
    if (range->kind != RANGE_DEVICE && range->kind != RANGE_POOL)
        return true;
    return range->context->physical == context->physical ||
           context->peers >> range->context->physical & 1;
}
