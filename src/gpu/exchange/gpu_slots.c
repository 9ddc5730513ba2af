#include "gpu/exchange/gpu_slots.h"

#include <stdlib.h>

#include "gpu/core/gpu_calls.h"

#define SIZES 3
#define MOST 1024u
#define BYTES (24u << 20) /* of all */

static const struct {
    uint32_t nbytes; /* of data */
    unsigned n;
} sizes[SIZES] = {{GPU_SLOT_SMALL, MOST}, {64 << 10, 95}, {GPU_SLOT_LARGEST, 16}};

/* The slots of one size. */
struct gpu_slot_store {
    gpu_address at;
    uint32_t stride;
    unsigned nfree;
    uint16_t free[MOST];
    uint32_t value[MOST];
};

struct gpu_slot_arena {
    struct gpu_slot_arena *next;
    const struct gpu *gpu;
    struct memory memory;
    struct memory_export shared;
    struct gpu_slot_store stores[SIZES];
};

static struct gpu_slot_arena *arenas;

static struct gpu_slot_arena *arena_of(const struct gpu *gpu)
{
    struct gpu_slot_arena *arena = arenas;

    while (arena && arena->gpu != gpu)
        arena = arena->next;
    return arena;
}

/* 0: no memory. */
static gpu_address allocate(struct gpu *gpu)
{
    gpu_address at = 0;
    int status;
    bool entered = gpu_enter(gpu);

    gpu_agents_leave();
    status = gpu_driver()->cuMemAlloc_v2(&at, BYTES);
    if (status == GPU_OK) {
        status = gpu_memset_async(at, 0, BYTES, gpu->streams[GPU_IN]);
        if (status == GPU_OK)
            status = gpu_driver()->cuStreamSynchronize(gpu->streams[GPU_IN]);
        if (status != GPU_OK)
            gpu_free_deferred(gpu, at);
    }
    gpu_leave(entered);
    return status == GPU_OK ? at : 0;
}

static bool fill(struct gpu_slot_arena *arena, gpu_address at)
{
    struct gpubind_error unheard;

    if (memory_of((const void *)(uintptr_t)at, &arena->memory, &unheard) < 0 ||
        !memory_export_of(&arena->memory, &arena->shared))
        return false;
    for (int i = 0; i < SIZES; i++) {
        struct gpu_slot_store *store = &arena->stores[i];

        store->at = at;
        store->stride = SIGNAL_KERNEL_SLOT_DATA + sizes[i].nbytes;
        for (; store->nfree < sizes[i].n; store->nfree++)
            store->free[store->nfree] = (uint16_t)store->nfree;
        at += (gpu_address)store->stride * sizes[i].n;
    }
    return true;
}

/* One without slots where they cannot be had: it is not tried again. */
void gpu_slots_prepare(struct gpu *gpu)
{
    struct gpu_slot_arena *arena = arena_of(gpu) ? NULL : calloc(1, sizeof *arena);
    gpu_address at = arena ? allocate(gpu) : 0;

    if (!arena)
        return;
    if (at && !fill(arena, at)) {
        gpu_free_deferred(gpu, at);
        at = 0;
    }
    arena->gpu = gpu;
    arena->memory.address = at;
    arena->next = arenas;
    arenas = arena;
}

/* SIZES: none is so large. */
static int size_for(uint64_t nbytes)
{
    int size = 0;

    while (size < SIZES && sizes[size].nbytes < nbytes)
        size++;
    return size;
}

bool gpu_slots_are_plenty(const struct gpu *gpu, uint64_t nbytes)
{
    const struct gpu_slot_arena *arena = arena_of(gpu);
    const int size = size_for(nbytes);

    return arena && size < SIZES && arena->stores[size].nfree > sizes[size].n / 2;
}

bool gpu_slot_take(const struct gpu *gpu, uint64_t nbytes, struct gpu_slot *slot)
{
    struct gpu_slot_arena *arena = arena_of(gpu);
    const int size = size_for(nbytes);
    struct gpu_slot_store *store;
    unsigned i;

    if (!arena || size == SIZES || arena->stores[size].nfree == 0)
        return false;
    store = &arena->stores[size];
    i = store->free[--store->nfree];
    store->value[i] = (store->value[i] + 1) & ~GPU_SLOT_LENT;
    *slot = (struct gpu_slot){arena, store->at + (gpu_address)i * store->stride, store->value[i]};
    return true;
}

void gpu_slot_give(struct gpu_slot *slot)
{
    struct gpu_slot_arena *arena = slot->arena;
    struct gpu_slot_store *store;
    int size = SIZES - 1;

    slot->arena = NULL;
    if (!arena)
        return;
    while (slot->at < arena->stores[size].at)
        size--;
    store = &arena->stores[size];
    store->free[store->nfree++] = (uint16_t)((slot->at - store->at) / store->stride);
}

struct memory gpu_slot_memory(const struct gpu_slot *slot)
{
    struct memory memory = slot->arena->memory;

    memory.address = slot->at + SIGNAL_KERNEL_SLOT_DATA;
    return memory;
}

void gpu_slot_retire(struct gpu_slot *slot)
{
    slot->arena = NULL;
}

void gpu_slot_export(const struct gpu_slot *slot, struct memory_export *shared)
{
    *shared = slot->arena->shared;
}

void gpu_slots_stop(void)
{
    while (arenas) {
        struct gpu_slot_arena *arena = arenas;

        arenas = arena->next;
        if (arena->memory.address)
            gpu_free_now(arena->gpu, arena->memory.address);
        free(arena);
    }
}
