#include "gpu/exchange/gpu_flags.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/copy/copy_batch.h"
#include "gpu/exchange/exchange_flag.h"

#define ARENA_WORDS 8192u
#define AT_ONCE 256u

struct words_arena {
    struct words_arena *next;
    struct memory memory;
    unsigned top; /* no word from here on was ever taken */
    bool taken[ARENA_WORDS];
    uint64_t read[ARENA_WORDS]; /* as words_read found them */
};

static struct words_arena *arenas;

int words_write(struct gpu *gpu, gpu_address at, unsigned n, uint64_t value,
                struct gpubind_error *err)
{
    uint64_t values[AT_ONCE];
    int status = 0;

    for (unsigned i = 0; i < AT_ONCE; i++)
        values[i] = value;
    while (n > 0 && status == 0) {
        const unsigned part = n < AT_ONCE ? n : AT_ONCE;
        const struct copy copy = {at, (gpu_address)(uintptr_t)values, part * sizeof *values,
                                  false};

        status = copy_now(gpu, GPU_IN, &copy, err);
        at += copy.nbytes;
        n -= part;
    }
    return status;
}

int words_set(struct gpu *gpu, gpu_address at, unsigned n, struct gpubind_error *err)
{
    uint32_t ones[AT_ONCE];
    struct cuda_copy_2d halves = {
        .from_type = CUDA_MEMORY_HOST, .from_host = ones, .from_pitch = sizeof *ones,
        .to_type = CUDA_MEMORY_DEVICE, .to_pitch = EXCHANGE_WORD, .width = sizeof *ones};
    bool entered = gpu_enter(gpu);
    int status = GPU_OK;

    for (unsigned i = 0; i < AT_ONCE; i++)
        ones[i] = 1;
    while (n > 0 && status == GPU_OK) {
        halves.to_device = at;
        halves.height = n < AT_ONCE ? n : AT_ONCE;
        status = gpu_driver()->cuMemcpy2DAsync_v2(&halves, gpu->streams[GPU_IN]);
        at += halves.height * EXCHANGE_WORD;
        n -= (unsigned)halves.height;
    }
    if (status == GPU_OK)
        status = gpu_driver()->cuStreamSynchronize(gpu->streams[GPU_IN]);
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "words of GPU memory", err);
}

static struct words_arena *make(struct gpu *gpu, struct gpubind_error *err)
{
    struct words_arena *arena = calloc(1, sizeof *arena);
    gpu_address at = 0;
    bool entered = gpu_enter(gpu);
    int status = arena ? gpu_driver()->cuMemAlloc_v2(&at, ARENA_WORDS * EXCHANGE_WORD)
                       : GPU_OUT_OF_MEMORY;

    gpu_leave(entered);
    if (status == GPU_OK && memory_of((const void *)(uintptr_t)at, &arena->memory, err) == 0) {
        arena->next = arenas;
        arenas = arena;
        return arena;
    }
    free(arena);
    gpu_error(status, "memory for the words of persistent messages", err);
    return NULL;
}

/* Where n words are free; ARENA_WORDS: nowhere. */
static unsigned find(const struct words_arena *arena, unsigned n)
{
    unsigned free_ones = 0;

    for (unsigned i = 0; i < ARENA_WORDS; i++) {
        free_ones = arena->taken[i] ? 0 : free_ones + 1;
        if (free_ones == n)
            return i + 1 - n;
    }
    return ARENA_WORDS;
}

int words_take(struct gpu *gpu, unsigned n, struct words *words, struct gpubind_error *err)
{
    struct words_arena *arena = arenas;
    unsigned first;

    *words = (struct words){0};
    if (n == 0 || n > ARENA_WORDS)
        return error_set(err, "%u words are not possible", n);
    while (arena && (arena->memory.gpu != gpu || find(arena, n) == ARENA_WORDS))
        arena = arena->next;
    if (!arena)
        arena = make(gpu, err);
    if (!arena)
        return -1;
    first = find(arena, n);
    *words = (struct words){arena, arena->memory.address + first * EXCHANGE_WORD, n};
    if (words_write(gpu, words->at, n, 0, err) < 0) {
        words->arena = NULL;
        return -1;
    }
    memset(arena->taken + first, true, n * sizeof *arena->taken);
    if (first + n > arena->top)
        arena->top = first + n;
    return 0;
}

static unsigned first_of(const struct words *words)
{
    return (unsigned)((words->at - words->arena->memory.address) / EXCHANGE_WORD);
}

void words_give(struct words *words)
{
    if (words->arena)
        memset(words->arena->taken + first_of(words), false,
               words->n * sizeof *words->arena->taken);
    words->arena = NULL;
}

bool words_share(const struct words *words, struct memory_export *shared)
{
    return memory_share(&words->arena->memory, shared);
}

int words_read(struct gpu *gpu, struct gpubind_error *err)
{
    int status = 0;

    for (struct words_arena *arena = arenas; arena && status == 0; arena = arena->next) {
        const struct copy copy = {(gpu_address)(uintptr_t)arena->read, arena->memory.address,
                                  arena->top * EXCHANGE_WORD, false};

        if (arena->memory.gpu == gpu && arena->top > 0)
            status = copy_now(gpu, GPU_OUT, &copy, err);
    }
    return status;
}

bool words_are_set(const struct words *words)
{
    for (unsigned i = 0; i < words->n; i++)
        if (!(uint32_t)words->arena->read[first_of(words) + i])
            return false;
    return true;
}

unsigned words_wait_flush(const struct gpu *gpu)
{
    return gpu->flushes ? GPU_WAIT_FLUSH : 0;
}

void words_stop(void)
{
    while (arenas) {
        struct words_arena *arena = arenas;

        gpu_free_now(arena->memory.gpu, arena->memory.address);
        arenas = arena->next;
        free(arena);
    }
}
