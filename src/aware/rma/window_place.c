#include "aware/rma/window_place.h"

#include <stdlib.h>

#include "aware/memory/typed_shape.h"
#include "aware/message/direct_ask.h"
#include "mpi/datatype/type_flatten.h"

/* ---- where */

static uint64_t address_of(const struct window *window, const struct window_there *there)
{
    const struct window_target *target = &window->targets[there->rank];

    return target->base + (uint64_t)(there->displacement * target->unit);
}

bool place_span(const struct window_there *there, MPI_Count *low, MPI_Count *high)
{
    MPI_Count lb, extent, steps;

    PMPI_Type_get_extent_x(there->type, &lb, &extent);
    typed_shape_bounds(there->type, low, high);
    steps = (there->count - 1) * extent;
    *(steps < 0 ? low : high) += steps;
    return there->count > 0 && *high > *low;
}

/* The target may meanwhile give the region's place in the list to other memory. */
static bool has_byte(const struct window_region *region, uint64_t address)
{
    const uint32_t used = atomic_load(&region->used);
    const bool has = used % 2 && address - region->start < region->nbytes;

    atomic_thread_fence(memory_order_acquire);
    return has && atomic_load(&region->used) == used;
}

static const struct window_region *region_at(const struct window_region *regions, uint64_t address)
{
    for (int i = 0; i < WINDOW_REGIONS; i++)
        if (has_byte(&regions[i], address))
            return &regions[i];
    return NULL;
}

/* Some region begins among the bytes behind the first. */
static bool may_reach_region(const struct window_region *regions, uint64_t first, uint64_t nbytes)
{
    for (int i = 0; i < WINDOW_REGIONS; i++)
        if (window_region_is_used(&regions[i]) && regions[i].start - first < nbytes)
            return true;
    return false;
}

/* Of the first block that lies in one. */
static const struct window_region *region_of_blocks(const struct window_region *regions,
                                                    const struct window_there *there,
                                                    uint64_t address)
{
    const struct window_region *found = NULL;
    struct type_parts parts = {0};
    MPI_Count lb, extent;

    PMPI_Type_get_extent_x(there->type, &lb, &extent);
    if (type_flatten(&parts, there->type) == 0)
        for (MPI_Count i = 0; i < there->count && !found; i++)
            for (int j = 0; j < parts.nblocks && !found; j++)
                found = region_at(regions, address + (uint64_t)(i * extent + parts.blocks[j].at));
    free(parts.blocks);
    return found;
}

const struct window_region *place_region(const struct window *window,
                                         const struct window_there *there)
{
    const struct window_target *target = &window->targets[there->rank];
    const struct window_region *regions = target->share->regions, *found;
    const uint64_t address = window->dynamic ? address_of(window, there) : 0;
    MPI_Count low = 0, high = 0;
    bool any;

    if (!window->dynamic)
        return target->ours ? regions : NULL;
    any = place_span(there, &low, &high);
    found = region_at(regions, address + (uint64_t)low);
    if (!found && any && may_reach_region(regions, address + (uint64_t)low, (uint64_t)(high - low)))
        found = region_of_blocks(regions, there, address);
    return found;
}

static bool is_inside(const struct window_region *region, uint64_t address,
                      const struct window_there *there)
{
    MPI_Count low, high;
    uint64_t first;

    if (!place_span(there, &low, &high))
        return true;
    first = address + (uint64_t)low - region->start; /* huge where it is before the region */
    return first <= region->nbytes && (uint64_t)(high - low) <= region->nbytes - first;
}

int place_begin(struct place *place, struct window *window, const struct window_there *there,
                const void *beside)
{
    const struct window_region *region = place_region(window, there);

    place->peer = window->targets[there->rank].peer;
    place->address = address_of(window, there);
    place->count = there->count;
    place->type = there->type;
    if (!region || !is_inside(region, place->address, there))
        return MPI_ERR_RMA_RANGE;
    place->here = direct_map(&place->map, place->peer, &region->memory, place->address, beside);
    there->call->event.path = place->here ? TRACE_DIRECT : TRACE_BUFFERED;
    return MPI_SUCCESS;
}

void place_end(const struct place *place)
{
    if (place->here)
        direct_unmap(&place->map);
}

/* ---- by way of the target's process */

/* Blocks that follow each other are one piece. */
struct walk {
    const struct place *place;
    char *dense;
    MPI_Count left;
    bool writes;
    uint64_t start, nbytes; /* of the piece */
};

static int copy_piece(struct walk *walk)
{
    const uint64_t nbytes = walk->nbytes;

    if (nbytes > 0 && direct_ask_copy(walk->place->peer, walk->start, walk->dense, (size_t)nbytes,
                                      walk->writes) < 0)
        return -1;
    walk->dense += nbytes;
    walk->nbytes = 0;
    return 0;
}

static int visit(struct walk *walk, uint64_t address, size_t nbytes)
{
    nbytes = (MPI_Count)nbytes < walk->left ? nbytes : (size_t)walk->left;
    if (address != walk->start + walk->nbytes) {
        if (copy_piece(walk) < 0)
            return -1;
        walk->start = address;
    }
    walk->nbytes += nbytes;
    walk->left -= (MPI_Count)nbytes;
    return 0;
}

static int ask(const struct place *place, void *dense, MPI_Count nbytes, bool writes)
{
    struct walk walk = {place, dense, nbytes, writes, place->address, 0};
    struct type_parts parts = {0};
    MPI_Count lb, extent;
    int status = 0;

    if (type_flatten(&parts, place->type) < 0) {
        free(parts.blocks);
        return MPI_ERR_TYPE;
    }
    PMPI_Type_get_extent_x(place->type, &lb, &extent);
    for (MPI_Count i = 0; i < place->count && walk.left > 0 && status == 0; i++)
        for (int j = 0; j < parts.nblocks && walk.left > 0 && status == 0; j++)
            status = visit(&walk, place->address + (uint64_t)(i * extent + parts.blocks[j].at),
                           parts.blocks[j].nbytes);
    free(parts.blocks);
    return status == 0 && copy_piece(&walk) == 0 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* ---- copies */

static struct typed typed_of(const struct place *place)
{
    return typed_at(place->here, 0, place->count, place->type);
}

const void *place_gpu(const struct place *place)
{
    const struct typed typed = typed_of(place);

    return place->here ? typed_first(&typed) : NULL;
}

int place_copy(const struct place *place, void *to, const void *from, size_t nbytes)
{
    if (direct_map_copy(&place->map, to, from, nbytes) == 0)
        return MPI_SUCCESS;
    direct_ask_refuse(place->peer);
    return MPI_ERR_OTHER;
}

/* It is mapped, and one piece of memory. */
static bool is_one_piece(const struct typed *typed, char **start)
{
    return typed->at && typed_is_contiguous(typed, start);
}

int place_read(const struct place *place, void *dense)
{
    const struct typed typed = typed_of(place);
    const MPI_Count nbytes = typed_bytes(&typed);
    char *start;

    if (is_one_piece(&typed, &start))
        return place_copy(place, dense, start, (size_t)nbytes);
    return place->here ? typed_pack(&typed, dense) : ask(place, dense, nbytes, false);
}

int place_write(const struct place *place, const void *dense, MPI_Count nbytes)
{
    const struct typed typed = typed_of(place);
    char *start;

    if (is_one_piece(&typed, &start))
        return place_copy(place, start, dense, (size_t)nbytes);
    return place->here ? typed_unpack(&typed, dense, nbytes)
                       : ask(place, (void *)(uintptr_t)dense, nbytes, true);
}
