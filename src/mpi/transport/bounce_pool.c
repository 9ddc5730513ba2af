#include "mpi/transport/bounce_pool.h"

#include "gpu/core/gpu_calls.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    WHOLE = BOUNCE_BUFFERS * BOUNCE_BYTES,
    PRIVATE_WHOLE = BOUNCE_BUFFERS * PRIVATE_BOUNCE_BYTES
};

/* The bounce buffers of one kind lie side by side in one allocation. */
struct pool {
    struct pool *next;
    struct gpu *gpu;
    struct domain *domain;
    int use; /* -1: not private */
    struct bounce_buffer buffers[BOUNCE_BUFFERS];
};

static struct pool *pools;

static struct pool *find(struct pool *pool, const struct domain *domain, const struct gpu *gpu,
                         int use)
{
    while (pool && (pool->domain != domain || pool->gpu != gpu || pool->use != use))
        pool = pool->next;
    return pool;
}

static bool allocate_on_gpu(struct gpu *gpu, gpu_address *whole)
{
    bool entered = gpu_enter(gpu);
    int status;

    gpu_agents_leave();
    status = gpu_mem_alloc(whole, WHOLE);
    gpu_leave(entered);
    return status == GPU_OK;
}

/* may_wait: as in domain_pin. */
static char *allocate_private(bool may_wait)
{
    void *at = mmap(NULL, PRIVATE_WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
    const struct gpu *gpu = gpu_first();
    bool entered;

    if (at == MAP_FAILED)
        return NULL;
    if (!gpu || !may_wait)
        return at;
    entered = gpu_enter(gpu);
    gpu_agents_leave();
    gpu_host_register(at, PRIVATE_WHOLE, GPU_REGISTER_PORTABLE);
    gpu_leave(entered);
    return at;
}

static void free_private(char *at)
{
    const struct gpu *gpu = gpu_first();

    if (gpu) {
        bool entered = gpu_enter(gpu);

        gpu_host_unregister(at);
        gpu_leave(entered);
    }
    munmap(at, PRIVATE_WHOLE);
}

static struct pool *make(struct domain *domain, struct gpu *gpu, int use, bool may_wait)
{
    struct pool *pool = calloc(1, sizeof *pool);
    gpu_address whole = 0;
    char *host = NULL;

    if (!pool)
        return NULL;
    if (gpu) {
        if (!may_wait || !allocate_on_gpu(gpu, &whole))
            whole = 0;
    } else if (domain) {
        if (segment_allocate_bounce(&domain->segment)) {
            domain_pin(domain, domain->segment.me, SEGMENT_BOUNCE);
            host = segment_bounce(&domain->segment, domain->segment.me);
        }
    } else {
        host = allocate_private(may_wait);
    }
    if (!whole && !host) {
        free(pool);
        return NULL;
    }
    *pool = (struct pool){pools, gpu, domain, use, {{0}}};
    for (int i = 0; i < BOUNCE_BUFFERS; i++) {
        uint64_t offset = (uint64_t)i * (use < 0 ? BOUNCE_BYTES : PRIVATE_BOUNCE_BYTES);

        pool->buffers[i] = (struct bounce_buffer){
            .gpu = gpu, .domain = domain, .offset = offset, .whole = whole};
        pool->buffers[i].host = host ? host + offset : NULL;
        pool->buffers[i].address = host ? (gpu_address)(uintptr_t)(host + offset) : whole + offset;
    }
    pools = pool;
    return pool;
}

static struct bounce_buffer *free_one(struct pool *pool)
{
    for (int i = 0; pool && i < BOUNCE_BUFFERS; i++)
        if (!pool->buffers[i].taken) {
            pool->buffers[i].taken = true;
            return &pool->buffers[i];
        }
    return NULL;
}

static void need(struct domain *domain, struct gpu *gpu, int use)
{
    if (!find(pools, domain, gpu, use))
        make(domain, gpu, use, true);
}

void bounce_pool_prepare(struct domain *domain, struct gpu *gpu)
{
    if (domain)
        need(domain, NULL, -1);
    if (gpu)
        need(NULL, gpu, -1);
    for (int use = BOUNCE_OF_SENDS; use <= BOUNCE_OF_RECEIVES && !domain && !gpu; use++)
        need(NULL, NULL, use);
}

struct bounce_buffer *bounce_take(struct domain *domain, struct gpu *gpu, bool *none)
{
    struct pool *pool = find(pools, gpu ? NULL : domain, gpu, -1);

    if (!pool)
        pool = make(gpu ? NULL : domain, gpu, -1, !gpu_is_guarded());
    *none = !pool;
    return free_one(pool);
}

struct bounce_buffer *bounce_take_private(enum bounce_use use, bool more)
{
    struct pool *pool = find(pools, NULL, NULL, use);
    struct bounce_buffer *bounce = NULL;

    more = more || !pool;
    for (; pool && !bounce; pool = find(pool->next, NULL, NULL, use))
        bounce = free_one(pool);
    return bounce || !more ? bounce : free_one(make(NULL, NULL, use, !gpu_is_guarded()));
}

void bounce_give(struct bounce_buffer *bounce)
{
    bounce->taken = false;
}

bool bounce_share(const struct bounce_buffer *bounce, struct memory_export *shared)
{
    struct memory memory;

    return memory_of((const void *)(uintptr_t)bounce->whole, &memory, NULL) == 0 &&
           memory_export_of(&memory, shared);
}

void bounce_pool_forget(const struct domain *domain)
{
    for (struct pool **link = &pools; *link;) {
        struct pool *pool = *link;

        if (pool->domain != domain) {
            link = &pool->next;
            continue;
        }
        *link = pool->next;
        free(pool);
    }
}

void bounce_pool_clear(void)
{
    while (pools) {
        struct pool *pool = pools;
        const struct bounce_buffer *first = &pool->buffers[0];

        pools = pool->next;
        if (pool->gpu) {
            gpu_free_now(pool->gpu, first->whole);
        } else if (!pool->domain) {
            free_private(first->host);
        }
        free(pool);
    }
}
