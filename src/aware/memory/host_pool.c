#include "aware/memory/host_pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "aware/base/setting.h"
#include "aware/memory/gpu_buffer.h"
#include "gpu/core/gpu_calls.h"

/* Page-locked memory comes from arenas that are made when there is need and never given back: to
 * unlock pages waits for all streams, and one may wait for a message. An arena is a buddy allocator of
 * blocks of powers of 2. */
#define LEAST_LOG 12
#define MOST_LOG 47

struct arena {
    const int log; /* bytes of the arena */
    enum { UNMADE, BEING_MADE, READY, FAILED } state;
    char *at;
    /* A binary tree: node 1 is the arena, nodes 2n and 2n + 1 are the halves of n. The log of the
     * largest free block in each, 0: there is none. */
    uint8_t *largest;
};

static struct arena arenas[] = {
    {.log = 20}, {.log = 20}, {.log = 21}, {.log = 22}, {.log = 23}, {.log = 24}, /* 32 MiB */
    {.log = 25}, {.log = 26}, {.log = 27}, {.log = 28}, {.log = 29}, {.log = 30}, {.log = 31}};
#define ARENAS (sizeof arenas / sizeof *arenas)
static size_t nlocked; /* bytes of arenas that are made, or are being made */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Bytes of all arenas, where GPUBIND_PINNED_MEMORY does not say how many: */
#define ALWAYS ((size_t)32 << 20)
#define AT_MOST ((size_t)1 << 30) /* where the last arena is a small share */
#define SHARE 16                  /* of the node's available memory */

/* Bytes; 0: not known. */
static size_t available_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long kib = 0;

    while (file && kib == 0 && fgets(line, sizeof line, file))
        if (strncmp(line, "MemAvailable:", 13) == 0)
            kib = strtoull(line + 13, NULL, 10);
    if (file)
        fclose(file);
    return (size_t)kib << 10;
}

/* Another arena, of so many bytes. The lock is held. */
static bool may_lock(size_t nbytes)
{
    static _Atomic int known = SETTING_UNKNOWN;
    const size_t all = nlocked + nbytes;
    size_t limit;

    if (setting_mib("GPUBIND_PINNED_MEMORY", 4095, &known, &limit))
        return all <= limit;
    return all <= ALWAYS || (all <= AT_MOST && nbytes <= available_memory() / SHARE);
}

/* ---- the buddy allocator; the lock is held */

static void fill_tree(const struct arena *arena)
{
    for (int log = arena->log; log >= LEAST_LOG; log--)
        for (size_t node = (size_t)1 << (arena->log - log); node >> (arena->log - log) == 1; node++)
            arena->largest[node] = (uint8_t)log;
}

/* After a change of a node that has the size of log. */
static void update_parents(const struct arena *arena, size_t node, int log)
{
    while (node > 1) {
        const uint8_t left = arena->largest[node & ~(size_t)1], right = arena->largest[node | 1];

        arena->largest[node / 2] = left == log && right == log ? (uint8_t)(log + 1)
                                   : left > right              ? left
                                                               : right;
        node /= 2;
        log++;
    }
}

static void *take_from(const struct arena *arena, int log)
{
    size_t node = 1;

    if (arena->state != READY || arena->largest[1] < log)
        return NULL;
    for (int at = arena->log; at > log; at--)
        node = 2 * node + (arena->largest[2 * node] < log);
    arena->largest[node] = 0;
    update_parents(arena, node, log);
    return arena->at + ((node - ((size_t)1 << (arena->log - log))) << log);
}

static bool give_to(const struct arena *arena, const char *at, int log)
{
    const size_t offset = (size_t)((uintptr_t)at - (uintptr_t)arena->at);
    size_t node;

    if (arena->state != READY || offset >= (size_t)1 << arena->log)
        return false;
    node = ((size_t)1 << (arena->log - log)) + (offset >> log);
    arena->largest[node] = (uint8_t)log;
    update_parents(arena, node, log);
    return true;
}

/* ---- arenas */

#define HUGE_PAGE ((size_t)2 << 20)

/* gpu: of the buffer that the memory is for, of which all contexts are as good. Counted from MPI_BOTTOM, its first
 * byte may be host memory: then in the context that is current. */
static bool page_lock(void *at, size_t nbytes, const void *gpu)
{
    struct entered entered;
    int status;

    if (!buffer_enter(gpu, &entered))
        return gpu_host_register(at, nbytes, GPU_REGISTER_PORTABLE) == GPU_OK;
    status = gpu_host_register(at, nbytes, GPU_REGISTER_PORTABLE);
    buffer_leave(&entered);
    return status == GPU_OK;
}

/* What is in the gaps of a type may be much, and is never used. */
static void *map(size_t nbytes)
{
    void *at = mmap(NULL, nbytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    /* Fewer page faults; but where a descriptor (direct_send.h) comes in place of a message, the first
     * page is all that is used. The system may not have them. */
    if (nbytes > HUGE_PAGE)
        madvise((char *)at + HUGE_PAGE, nbytes - HUGE_PAGE, MADV_HUGEPAGE);
    return at;
}

/* Page-locks memory for it; the lock is not held, since the driver may wait. */
static bool make(struct arena *arena, const void *gpu)
{
    const size_t nbytes = (size_t)1 << arena->log;

    arena->largest = malloc((size_t)2 << (arena->log - LEAST_LOG));
    arena->at = map(nbytes);
    if (arena->largest && arena->at && page_lock(arena->at, nbytes, gpu)) {
        fill_tree(arena);
        return true;
    }
    free(arena->largest);
    if (arena->at)
        munmap(arena->at, nbytes);
    return false;
}

static void tell_failure(void)
{
    static bool told;

    if (!told)
        fprintf(stderr, "gpubind: no page-locked memory could be had for the GPU buffers of MPI "
                        "calls; copies from and to the GPU are slower\n");
    told = true;
}

/* The smallest one that has room, is not made yet, and may be made. The lock is held. */
static struct arena *next_unmade(int log)
{
    for (size_t i = 0; i < ARENAS; i++)
        if (arenas[i].state == UNMADE && arenas[i].log >= log)
            return may_lock((size_t)1 << arenas[i].log) ? &arenas[i] : NULL;
    return NULL;
}

/* Releases the lock meanwhile. */
static void *take_from_new(int log, const void *gpu)
{
    struct arena *arena = next_unmade(log);
    bool made;

    if (!arena)
        return NULL;
    arena->state = BEING_MADE;
    nlocked += (size_t)1 << arena->log;
    pthread_mutex_unlock(&lock);
    made = make(arena, gpu);
    pthread_mutex_lock(&lock);
    arena->state = made ? READY : FAILED;
    if (!made) {
        nlocked -= (size_t)1 << arena->log;
        tell_failure();
    }
    return take_from(arena, log);
}

static void *take_locked(int log, const void *gpu)
{
    void *found = NULL;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ARENAS && !found; i++)
        found = take_from(&arenas[i], log);
    if (!found && gpu)
        found = take_from_new(log, gpu);
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- blocks */

static int log_of(size_t nbytes)
{
    int log = LEAST_LOG;

    while (log < MOST_LOG && ((size_t)1 << log) < nbytes)
        log++;
    return log;
}

bool host_take(struct host_block *block, size_t nbytes, const void *gpu)
{
    const int log = log_of(nbytes);

    *block = (struct host_block){take_locked(log, gpu), (size_t)1 << log, true};
    if (block->at)
        return true;
    block->locked = false;
    block->nbytes = nbytes > 0 ? nbytes : 1;
    block->at = map(block->nbytes);
    return block->at;
}

void host_give(const struct host_block *block)
{
    bool given = false;

    if (!block->locked) {
        munmap(block->at, block->nbytes);
        return;
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ARENAS && !given; i++)
        given = give_to(&arenas[i], block->at, log_of(block->nbytes));
    pthread_mutex_unlock(&lock);
}
