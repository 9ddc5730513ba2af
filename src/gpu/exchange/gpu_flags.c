#include "gpu/exchange/gpu_flags.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/copy/copy_agent.h"
#include "gpu/copy/copy_batch.h"
#include "gpu/core/page_locked.h"
#include "gpu/exchange/exchange_flag.h"

#define ARENA_FLAGS 8192u
#define ARENA_TRIES 64u /* to find memory that is not avoided */
#define WRITE_BATCH 256u

struct gpu_flag_arena {
    struct gpu_flag_arena *next;
    struct memory memory;
    char *on_host; /* as many bytes, page-locked; NULL: nobody has asked */
    unsigned top;  /* flags from here on were never taken */
    bool taken[ARENA_FLAGS];
    uint64_t read[ARENA_FLAGS]; /* as gpu_flags_read found them */
};

static struct gpu_flag_arena *arenas;
static bool (*avoided)(const struct memory_export *shared);

void gpu_flags_avoid(bool (*is_in_way)(const struct memory_export *shared))
{
    avoided = is_in_way;
}

int gpu_flags_write(struct gpu *gpu, gpu_address at, unsigned n, uint64_t value,
                    struct gpubind_error *err)
{
    uint64_t values[WRITE_BATCH];
    int status = 0;

    for (unsigned i = 0; i < WRITE_BATCH; i++)
        values[i] = value;
    while (n > 0 && status == 0) {
        const unsigned part = n < WRITE_BATCH ? n : WRITE_BATCH;
        const struct copy copy = {at, (gpu_address)(uintptr_t)values, part * sizeof *values,
                                  COPY_FROM_HOST};

        status = copy_now(gpu, GPU_IN, &copy, err);
        at += copy.nbytes;
        n -= part;
    }
    return status;
}

/* By the driver: all by one call. */
static int set_at_once(struct gpu *gpu, gpu_address at, unsigned n, struct gpubind_error *err)
{
    uint32_t ones[WRITE_BATCH];
    struct cuda_copy_2d halves = {.from_type = CUDA_MEMORY_HOST,
                                  .from_host = ones,
                                  .from_pitch = sizeof *ones,
                                  .to_type = CUDA_MEMORY_DEVICE,
                                  .to_pitch = EXCHANGE_FLAG,
                                  .width = sizeof *ones};
    bool entered = gpu_enter(gpu);
    int status = GPU_OK;

    for (unsigned i = 0; i < WRITE_BATCH; i++)
        ones[i] = 1;
    while (n > 0 && status == GPU_OK) {
        halves.to_device = at;
        halves.height = n < WRITE_BATCH ? n : WRITE_BATCH;
        status = gpu_driver()->cuMemcpy2DAsync_v2(&halves, gpu->streams[GPU_IN]);
        at += halves.height * EXCHANGE_FLAG;
        n -= (unsigned)halves.height;
    }
    if (status == GPU_OK)
        status = gpu_driver()->cuStreamSynchronize(gpu->streams[GPU_IN]);
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "flags in GPU memory", err);
}

/* While streams wait, without the driver: one copy of the copy agent's for each. */
int gpu_flags_set(struct gpu *gpu, gpu_address at, unsigned n, struct gpubind_error *err)
{
    const uint32_t one = 1;
    int status = 0;

    if (!agent_serves(gpu, GPU_IN))
        return set_at_once(gpu, at, n, err);
    for (unsigned i = 0; i < n && status == 0; i++) {
        const struct copy half = {at + (gpu_address)i * EXCHANGE_FLAG, (gpu_address)(uintptr_t)&one,
                                  sizeof one, COPY_FROM_HOST};

        status = copy_now(gpu, GPU_IN, &half, err);
    }
    return status;
}

static int allocate(struct gpu *gpu, struct memory *memory, struct gpubind_error *err)
{
    gpu_address at = 0;
    bool entered = gpu_enter(gpu);
    int status;

    gpu_agents_leave();
    status = gpu_driver()->cuMemAlloc_v2(&at, ARENA_FLAGS * EXCHANGE_FLAG);
    gpu_leave(entered);
    if (status != GPU_OK)
        return gpu_error(status, "memory for flags", err);
    if (memory_of((const void *)(uintptr_t)at, memory, err) == 0)
        return 0;
    gpu_free_deferred(gpu, at);
    return -1;
}

static bool is_avoided(const struct memory *memory)
{
    struct memory_export shared;

    return avoided && memory_export_of(memory, &shared) && avoided(&shared);
}

/* What is avoided is kept until other memory is found: it would be allocated again. */
static int allocate_apart(struct gpu *gpu, struct memory *memory, struct gpubind_error *err)
{
    gpu_address kept[ARENA_TRIES];
    unsigned nkept = 0;
    struct memory next = {0};

    if (allocate(gpu, memory, err) < 0)
        return -1;
    while (nkept < ARENA_TRIES && is_avoided(memory) && allocate(gpu, &next, err) == 0) {
        kept[nkept++] = memory->address;
        *memory = next;
    }
    while (nkept > 0)
        gpu_free_deferred(gpu, kept[--nkept]);
    return 0;
}

static struct gpu_flag_arena *arena_make(struct gpu *gpu, struct gpubind_error *err)
{
    struct gpu_flag_arena *arena = calloc(1, sizeof *arena);

    if (!arena) {
        error_set(err, "out of memory");
        return NULL;
    }
    if (allocate_apart(gpu, &arena->memory, err) < 0) {
        free(arena);
        return NULL;
    }
    arena->next = arenas;
    arenas = arena;
    return arena;
}

/* The first of n free adjacent flags; ARENA_FLAGS: none. */
static unsigned find_free(const struct gpu_flag_arena *arena, unsigned n)
{
    unsigned run = 0;

    for (unsigned i = 0; i < ARENA_FLAGS; i++) {
        run = arena->taken[i] ? 0 : run + 1;
        if (run == n)
            return i + 1 - n;
    }
    return ARENA_FLAGS;
}

int gpu_flags_take(struct gpu *gpu, unsigned n, struct gpu_flags *flags, struct gpubind_error *err)
{
    struct gpu_flag_arena *arena = arenas;
    unsigned first;

    *flags = (struct gpu_flags){0};
    if (n == 0 || n > ARENA_FLAGS)
        return error_set(err, "%u flags are not possible", n);
    while (arena && (arena->memory.gpu != gpu || find_free(arena, n) == ARENA_FLAGS))
        arena = arena->next;
    if (!arena)
        arena = arena_make(gpu, err);
    if (!arena)
        return -1;
    first = find_free(arena, n);
    *flags = (struct gpu_flags){arena, arena->memory.address + first * EXCHANGE_FLAG, n};
    if (gpu_flags_write(gpu, flags->at, n, 0, err) < 0) {
        flags->arena = NULL;
        return -1;
    }
    memset(arena->taken + first, true, n * sizeof *arena->taken);
    if (first + n > arena->top)
        arena->top = first + n;
    return 0;
}

static unsigned first_of(const struct gpu_flags *flags)
{
    return (unsigned)((flags->at - flags->arena->memory.address) / EXCHANGE_FLAG);
}

void gpu_flags_give(struct gpu_flags *flags)
{
    if (flags->arena)
        memset(flags->arena->taken + first_of(flags), false,
               flags->n * sizeof *flags->arena->taken);
    flags->arena = NULL;
}

void *gpu_flags_on_host(const struct gpu_flags *flags, struct gpubind_error *err)
{
    struct gpu_flag_arena *arena = flags->arena;
    bool entered;

    if (!arena->on_host) {
        entered = gpu_enter(arena->memory.gpu);
        arena->on_host = page_locked(ARENA_FLAGS * EXCHANGE_FLAG, err);
        gpu_leave(entered);
    }
    return arena->on_host ? arena->on_host + (size_t)first_of(flags) * EXCHANGE_FLAG : NULL;
}

bool gpu_flags_export(const struct gpu_flags *flags, struct memory_export *shared)
{
    return memory_export_of(&flags->arena->memory, shared);
}

int gpu_flags_read(struct gpu *gpu, struct gpubind_error *err)
{
    int status = 0;

    for (struct gpu_flag_arena *arena = arenas; arena && status == 0; arena = arena->next) {
        const struct copy copy = {(gpu_address)(uintptr_t)arena->read, arena->memory.address,
                                  arena->top * EXCHANGE_FLAG, COPY_TO_HOST};

        if (arena->memory.gpu == gpu && arena->top > 0)
            status = copy_now(gpu, GPU_OUT, &copy, err);
    }
    return status;
}

bool gpu_flags_are_set(const struct gpu_flags *flags)
{
    for (unsigned i = 0; i < flags->n; i++)
        if (!(uint32_t)flags->arena->read[first_of(flags) + i])
            return false;
    return true;
}

unsigned gpu_flags_wait_flush(const struct gpu *gpu)
{
    return gpu->flushes ? GPU_WAIT_FLUSH : 0;
}

void gpu_flags_stop(void)
{
    while (arenas) {
        struct gpu_flag_arena *arena = arenas;

        gpu_free_now(arena->memory.gpu, arena->memory.address);
        arenas = arena->next;
        free(arena);
    }
}
