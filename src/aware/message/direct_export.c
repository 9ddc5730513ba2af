#include "aware/message/direct_export.h"

#include <pthread.h>

#include "aware/memory/gpu_buffer.h"
#include "gpu/core/gpu_calls.h"

#define EXPORTS 256

static struct direct_export exports[EXPORTS]; /* by the allocation's number; id 0: none */
static pthread_mutex_t exports_lock = PTHREAD_MUTEX_INITIALIZER;

static bool exists(const struct direct_export *shared)
{
    struct allocation now;

    return pointer_allocation((const void *)(uintptr_t)shared->start, &now) && now.id == shared->id;
}

/* Peers close their mappings of it. */
static void tell_stale(struct direct_export *shared)
{
    struct direct_segment *own = direct_own();
    const uint64_t n = own ? atomic_load(&own->nstale) : 0;

    if (own) {
        atomic_store(&own->stale[n % DIRECT_STALE], shared->id);
        atomic_store(&own->nstale, n + 1);
    }
    shared->id = 0;
}

static bool make_export(const void *gpu, const struct allocation *allocation,
                        struct direct_export *shared)
{
    struct entered entered;
    int status;

    for (int i = 0; i < EXPORTS; i++)
        if (exports[i].id && !exists(&exports[i]))
            tell_stale(&exports[i]);
    if (shared->id)
        tell_stale(shared);
    if (!buffer_enter(gpu, &entered))
        return false;
    status = gpu_ipc_export(&shared->handle, allocation->start);
    buffer_leave(&entered);
    if (status != GPU_OK)
        return false;
    shared->id = allocation->id;
    shared->start = allocation->start;
    shared->nbytes = allocation->nbytes;
    return true;
}

bool direct_export(const void *gpu, size_t nbytes, const struct allocation *allocation,
                   struct direct_export *shared)
{
    struct direct_export *cached;
    bool there;

    if (!allocation->ipc_capable ||
        (uintptr_t)gpu + nbytes > allocation->start + allocation->nbytes)
        return false;
    pthread_mutex_lock(&exports_lock);
    cached = &exports[allocation->id % EXPORTS];
    there = cached->id == allocation->id || make_export(gpu, allocation, cached);
    if (there)
        *shared = *cached;
    pthread_mutex_unlock(&exports_lock);
    return there;
}
