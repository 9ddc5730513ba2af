#include "gpu/exchange/gpu_slots.h"

#include <stdlib.h>

#include "gpu/core/gpu_calls.h"

#define SLOTS 1024u
#define SLOT_BYTES (SIGNAL_KERNEL_SLOT_DATA + GPU_SLOT_DATA)

struct gpu_slot_arena {
    struct gpu_slot_arena *next;
    const struct gpu *gpu;
    struct memory memory;
    struct memory_export shared;
    unsigned nfree;
    uint16_t free[SLOTS];
    uint32_t value[SLOTS];
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
static gpu_address allocate(const struct gpu *gpu)
{
    const size_t nbytes = (size_t)SLOTS * SLOT_BYTES;
    gpu_address at = 0;
    int status;
    bool entered = gpu_enter(gpu);

    gpu_agents_leave();
    status = gpu_driver()->cuMemAlloc_v2(&at, nbytes);
    if (status == GPU_OK) {
        status = gpu_memset_async(at, 0, nbytes, gpu->streams[GPU_IN]);
        if (status == GPU_OK)
            status = gpu_driver()->cuStreamSynchronize(gpu->streams[GPU_IN]);
        if (status != GPU_OK)
            gpu_free_now(gpu, at);
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
    for (; arena->nfree < SLOTS; arena->nfree++)
        arena->free[arena->nfree] = (uint16_t)arena->nfree;
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
        gpu_free_now(gpu, at);
        at = 0;
    }
    arena->gpu = gpu;
    arena->memory.address = at;
    arena->next = arenas;
    arenas = arena;
}

bool gpu_slots_are_plenty(const struct gpu *gpu)
{
    const struct gpu_slot_arena *arena = arena_of(gpu);

    return arena && arena->nfree > SLOTS / 2;
}

bool gpu_slot_take(const struct gpu *gpu, struct gpu_slot *slot)
{
    struct gpu_slot_arena *arena = arena_of(gpu);
    unsigned i;

    if (!arena || arena->nfree == 0)
        return false;
    i = arena->free[--arena->nfree];
    arena->value[i] = (arena->value[i] + 1) & ~GPU_SLOT_LENT;
    *slot = (struct gpu_slot){arena, arena->memory.address + (gpu_address)i * SLOT_BYTES,
                              arena->value[i]};
    return true;
}

void gpu_slot_give(struct gpu_slot *slot)
{
    struct gpu_slot_arena *arena = slot->arena;

    if (arena)
        arena->free[arena->nfree++] = (uint16_t)((slot->at - arena->memory.address) / SLOT_BYTES);
    slot->arena = NULL;
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
