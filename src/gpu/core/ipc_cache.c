#include "gpu/core/ipc_cache.h"

#include <stdlib.h>

#include "gpu/core/vmm.h"

struct mapping {
    struct mapping *next; /* the most recently used first */
    const void *owner;
    uint64_t id;
    struct gpu *gpu;
    gpu_address owners_start, start;
    uint64_t size;
    int users;
    bool dropped;
};

static struct mapping *mappings;
static int count, max_count = 256;
static uint64_t bytes, max_bytes = UINT64_MAX;

void mappings_limit(int n, uint64_t nbytes)
{
    max_count = n;
    max_bytes = nbytes;
}

static void close_mapping(struct mapping *mapping)
{
    if (!gpu_is_dead(mapping->gpu)) {
        bool entered = gpu_enter(mapping->gpu);

        if (!vmm_close(mapping->start))
            gpu_driver()->cuIpcCloseMemHandle(mapping->start);
        gpu_leave(entered);
    }
    count--;
    bytes -= mapping->size;
    free(mapping);
}

/* Drops the mappings that match: closes those that are not in use. */
static void sweep(bool (*matches)(const struct mapping *, const void *, uint64_t),
                  const void *owner, uint64_t id)
{
    struct mapping **link = &mappings;

    while (*link) {
        struct mapping *mapping = *link;

        if (!matches(mapping, owner, id)) {
            link = &mapping->next;
            continue;
        }
        mapping->dropped = true;
        if (mapping->users > 0 || !gpu_may_wait()) {
            link = &mapping->next;
            continue;
        }
        *link = mapping->next;
        close_mapping(mapping);
    }
}

static bool is_of_allocation(const struct mapping *mapping, const void *owner, uint64_t id)
{
    return mapping->owner == owner && mapping->id == id;
}

static bool is_any(const struct mapping *mapping, const void *owner, uint64_t id)
{
    (void)mapping, (void)owner, (void)id;
    return true;
}

void mappings_drop(const void *owner, uint64_t id)
{
    sweep(is_of_allocation, owner, id);
}

static bool is_of_owner(const struct mapping *mapping, const void *owner, uint64_t id)
{
    (void)id;
    return mapping->owner == owner;
}

bool mappings_drop_owner(const void *owner)
{
    sweep(is_of_owner, owner, 0);
    for (const struct mapping *mapping = mappings; mapping; mapping = mapping->next)
        if (mapping->owner == owner)
            return true;
    return false;
}

void mappings_drop_all(void)
{
    sweep(is_any, NULL, 0);
}

bool mappings_hold(const void *owner, uint64_t id)
{
    for (const struct mapping *mapping = mappings; mapping; mapping = mapping->next)
        if (is_of_allocation(mapping, owner, id))
            return true;
    return false;
}

/* Makes room for nbytes more, least recently used first. */
static void make_room(uint64_t nbytes)
{
    while ((count >= max_count || (count > 0 && bytes + nbytes > max_bytes)) && gpu_may_wait()) {
        struct mapping **last = NULL;

        for (struct mapping **link = &mappings; *link; link = &(*link)->next)
            if ((*link)->users == 0)
                last = link;
        if (!last)
            return;
        struct mapping *mapping = *last;
        *last = mapping->next;
        close_mapping(mapping);
    }
}

static struct mapping *find(const void *owner, uint64_t id, const struct gpu *gpu)
{
    for (struct mapping **link = &mappings; *link; link = &(*link)->next) {
        struct mapping *mapping = *link;

        if (mapping->id != id || mapping->owner != owner || mapping->gpu != gpu || mapping->dropped)
            continue;
        *link = mapping->next;
        mapping->next = mappings;
        mappings = mapping;
        return mapping;
    }
    return NULL;
}

static struct mapping *add(struct mapping *mapping, const void *owner,
                           const struct memory_export *shared, struct gpu *gpu, gpu_address start)
{
    *mapping = (struct mapping){.next = mappings,
                                .owner = owner,
                                .id = shared->id,
                                .gpu = gpu,
                                .owners_start = shared->start,
                                .start = start,
                                .size = shared->size,
                                .users = 1};
    mappings = mapping;
    count++;
    bytes += shared->size;
    return mapping;
}

static bool is_dropped(const struct mapping *mapping, const void *owner, uint64_t id)
{
    (void)id;
    return mapping->owner == owner && mapping->dropped;
}

/* What the owner had at addresses where it has something else now. */
static void drop_replaced(const void *owner, const struct memory_export *by)
{
    for (struct mapping *mapping = mappings; mapping; mapping = mapping->next)
        if (mapping->owner == owner && mapping->id != by->id &&
            mapping->owners_start < by->start + by->size &&
            by->start < mapping->owners_start + mapping->size)
            mapping->dropped = true;
    sweep(is_dropped, owner, 0);
}

static int open_handle(struct gpu *gpu, const struct memory_export *shared, gpu_address *start)
{
    const bool entered = gpu_enter(gpu);
    const int status = gpu_driver()->cuIpcOpenMemHandle_v2(start, shared->handle,
                                                           GPU_IPC_LAZY_PEER);

    gpu_leave(entered);
    return status;
}

/* The driver has one mapping of a process' address at a time. */
static int open_new(const void *owner, const struct memory_export *shared, struct gpu *gpu,
                    gpu_address *start)
{
    int status = open_handle(gpu, shared, start);

    if (status != GPU_ALREADY_MAPPED)
        return status;
    drop_replaced(owner, shared);
    return open_handle(gpu, shared, start);
}

struct mapping *mapping_open(const void *owner, const struct memory_export *shared, struct gpu *gpu,
                             bool *for_now, struct gpubind_error *err)
{
    struct mapping *mapping = find(owner, shared->id, gpu);
    gpu_address start = 0;
    int status;

    if (for_now)
        *for_now = false;
    if (mapping) {
        mapping->users++;
        return mapping;
    }
    if (!memory_has_handle(shared)) {
        error_set(err, "another rank's GPU memory was mapped by a descriptor, and is no more");
        return NULL;
    }
    make_room(shared->size);
    mapping = malloc(sizeof *mapping);
    status = mapping ? open_new(owner, shared, gpu, &start) : GPU_OUT_OF_MEMORY;
    if (status != GPU_OK) {
        free(mapping);
        if (for_now)
            *for_now = status == GPU_ALREADY_MAPPED;
        gpu_error(status, "another rank's GPU memory cannot be mapped", err);
        return NULL;
    }
    return add(mapping, owner, shared, gpu, start);
}

struct mapping *mapping_adopt(const void *owner, const struct memory_export *shared,
                              struct gpu *gpu, gpu_address start)
{
    struct mapping *mapping = malloc(sizeof *mapping);

    return mapping ? add(mapping, owner, shared, gpu, start) : NULL;
}

bool mapping_possible(const void *owner, const struct memory_export *shared, const struct gpu *gpu)
{
    return memory_has_handle(shared) || find(owner, shared->id, gpu);
}

gpu_address mapping_address(const struct mapping *mapping, gpu_address owners)
{
    return mapping->start + (owners - mapping->owners_start);
}

void mapping_done(struct mapping *mapping)
{
    mapping->users--;
    if (mapping->dropped && mapping->users == 0)
        sweep(is_of_allocation, mapping->owner, mapping->id);
}

void mapping_drop(struct mapping *mapping)
{
    mapping->dropped = true;
    mapping_done(mapping);
}
