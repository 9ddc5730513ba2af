/* Flags for stream memory operations, allocated in chunks and kept in a free list. */
#include "mpi/stream/stream_flag.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "gpu/core/gpu_calls.h"
#include "gpu/core/page_locked.h"

#define BYTES ((size_t)STREAM_FLAGS * STREAM_FLAG_BYTES) /* of a chunk */

static struct stream_flag *unused;
static int nused; /* of all */

/* The first chunk is in the shared memory of the oldest domain, which is MPI_COMM_WORLD's. */
static struct {
    bool tried;
    uint64_t domain; /* its name; 0: none */
    int n;           /* ranks */
    char **areas;    /* their flags, mapped here and page-locked; NULL: not that */
    bool *refused;   /* the driver does not page-lock them */
} shared;

static char *map_locked(const struct domain *domain, int local)
{
    char *at = segment_map_flags(&domain->segment, local);

    gpu_agents_leave();
    if (!at || gpu_host_register(at, BYTES, GPU_REGISTER_PORTABLE) == GPU_OK)
        return at;
    munmap(at, BYTES);
    return NULL;
}

/* NULL: the flags will be this process's alone. */
static char *share(void)
{
    const struct domain *domain = domain_oldest();
    char *at = NULL;

    if (shared.tried)
        return NULL;
    shared.tried = true;
    if (!domain || !domain->segment.base || !segment_allocate_flags(&domain->segment))
        return NULL;
    shared.areas = calloc((size_t)domain->segment.n, sizeof *shared.areas);
    shared.refused = calloc((size_t)domain->segment.n, sizeof *shared.refused);
    if (shared.areas && shared.refused)
        at = map_locked(domain, domain->segment.me);
    if (!at)
        return NULL;
    shared.domain = domain->name;
    shared.n = domain->segment.n;
    shared.areas[domain->segment.me] = at;
    return at;
}

/* Flags are never freed: see page_locked.h. */
static bool make_flags(struct gpubind_error *err)
{
    struct stream_flag *flags = calloc(STREAM_FLAGS, sizeof *flags);
    char *at = flags ? share() : NULL;
    const bool named = at;

    if (!flags)
        error_set(err, "out of memory");
    else if (!at)
        at = page_locked(BYTES, err);
    if (!at) {
        free(flags);
        return false;
    }
    for (unsigned i = 0; i < STREAM_FLAGS; i++) {
        flags[i].at = (_Atomic uint32_t *)(void *)(at + (size_t)i * STREAM_FLAG_BYTES);
        flags[i].name = named ? i + 1 : 0;
        nused++; /* until it is given */
        stream_flag_give(&flags[i]);
    }
    return true;
}

void stream_flags_unpinned(void)
{
    unused = NULL;
    shared.domain = 0;
}

void stream_flags_prepare(const struct domain *domain, int local, const struct gpu *gpu)
{
    bool entered;

    if (shared.domain != domain->name || !shared.domain || shared.areas[local] ||
        shared.refused[local])
        return;
    entered = gpu_enter(gpu);
    shared.areas[local] = map_locked(domain, local);
    shared.refused[local] = !shared.areas[local];
    gpu_leave(entered);
}

_Atomic uint32_t *stream_flag_of(const struct domain *domain, int local, uint32_t name)
{
    if (name == 0 || name > STREAM_FLAGS || shared.domain != domain->name || !shared.areas[local])
        return NULL;
    return (_Atomic uint32_t *)(void *)(shared.areas[local] +
                                        (size_t)(name - 1) * STREAM_FLAG_BYTES);
}

struct stream_flag *stream_flag_take(struct gpubind_error *err)
{
    struct stream_flag *flag;

    if (!unused && !make_flags(err))
        return NULL;
    flag = unused;
    unused = flag->next;
    nused++;
    return flag;
}

bool stream_flags_are_plenty(void)
{
    return nused < STREAM_FLAGS / 2;
}

void stream_flag_give(struct stream_flag *flag)
{
    nused--;
    flag->next = unused;
    unused = flag;
}

void stream_flag_set(struct stream_flag *flag)
{
    atomic_store_explicit(flag->at, flag->value, memory_order_release);
}

bool stream_flag_has(const struct stream_flag *flag, uint32_t value)
{
    return (int32_t)(atomic_load_explicit(flag->at, memory_order_acquire) - value) >= 0;
}
