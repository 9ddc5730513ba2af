#include "aware/message/direct_memory.h"

#include <pthread.h>
#include <stdlib.h>

#include "aware/memory/copy_stream.h"
#include "aware/memory/gpu_buffer.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_context.h"
#include "gpu/core/pointer_query.h"

/* ---- mappings of peers' memory */

#define MAPPINGS 256

struct direct_mapping {
    struct direct_mapping *next; /* the most recently used first */
    const struct direct_peer *peer;
    uint64_t id; /* of the peer's allocation; 0: it is no more */
    gpu_context context;
    unsigned long long number; /* of the context, with which the mapping goes */
    gpu_address at;
    int users;
};

static struct direct_mapping *mappings;
static int nmappings;
static bool any_left; /* of those with ID 0 */
static pthread_mutex_t mappings_lock = PTHREAD_MUTEX_INITIALIZER;

/* Closing waits for all work of the context (src/gpu/README.md). */
static bool may_close(gpu_context context)
{
    gpu_context ours;
    bool idle;

    if (gpu_context_push(context) != GPU_OK)
        return false;
    idle = gpu_legacy_work() == GPU_NO_WORK;
    gpu_context_pop(&ours);
    return idle;
}

static bool close_mapping(struct direct_mapping *mapping)
{
    const bool there = context_number(mapping->context) == mapping->number;
    gpu_context ours;

    if (mapping->users > 0 || (there && !may_close(mapping->context)))
        return false;
    if (there && gpu_context_push(mapping->context) == GPU_OK) {
        gpu_ipc_close(mapping->at);
        gpu_context_pop(&ours);
    }
    nmappings--;
    free(mapping);
    return true;
}

/* Forgets those of a peer's allocation; 0: of all. */
static void forget(const struct direct_peer *peer, uint64_t id)
{
    for (struct direct_mapping *mapping = mappings; mapping; mapping = mapping->next)
        if (mapping->peer == peer && (id == 0 || mapping->id == id))
            mapping->id = 0;
}

/* Closes those that were forgotten, and the last one where there are too many. */
static void tidy(void)
{
    struct direct_mapping **link = &mappings;

    any_left = false;
    while (*link) {
        struct direct_mapping *mapping = *link, *next = mapping->next;
        const bool last = !next && nmappings >= MAPPINGS;

        if ((mapping->id == 0 || last) && close_mapping(mapping)) {
            *link = next;
        } else {
            any_left |= mapping->id == 0;
            link = &mapping->next;
        }
    }
}

static void look_for_stale(struct direct_peer *peer)
{
    const uint64_t n = atomic_load_explicit(&peer->segment->nstale, memory_order_acquire);

    if (n == peer->nstale && nmappings < MAPPINGS && !any_left)
        return;
    if (n - peer->nstale > DIRECT_STALE / 2)
        forget(peer, 0);
    else
        for (uint64_t i = peer->nstale; i < n; i++)
            forget(peer, atomic_load(&peer->segment->stale[i % DIRECT_STALE]));
    peer->nstale = n;
    tidy();
}

bool direct_memory_in_way(const struct direct_peer *peer)
{
    bool in_way = false;

    pthread_mutex_lock(&mappings_lock);
    for (const struct direct_mapping *mapping = mappings; mapping; mapping = mapping->next)
        in_way |= mapping->peer == peer && mapping->id == 0;
    pthread_mutex_unlock(&mappings_lock);
    return in_way;
}

static struct direct_mapping *open_mapping(struct direct_peer *peer,
                                           const struct direct_export *shared, gpu_context context)
{
    const unsigned long long number = context_number(context);
    struct direct_mapping **link = &mappings, *mapping;

    look_for_stale(peer);
    while ((mapping = *link) && (mapping->peer != peer || mapping->id != shared->id ||
                                 mapping->context != context || mapping->number != number))
        link = &mapping->next;
    if (mapping) {
        *link = mapping->next;
    } else {
        mapping = calloc(1, sizeof *mapping);
        if (!mapping || gpu_ipc_open(&mapping->at, shared->handle, GPU_IPC_LAZY_PEER) != GPU_OK) {
            free(mapping);
            return NULL;
        }
        mapping->peer = peer;
        mapping->id = shared->id;
        mapping->context = context;
        mapping->number = number;
        nmappings++;
    }
    mapping->next = mappings;
    mappings = mapping;
    return mapping;
}

/* ---- copies */

/* In the memory's context, or, for host memory, in the current one of the thread or that which was
 * entered last. false: there is none, as in a process that does not use CUDA. */
static bool enter(const void *gpu, struct entered *entered)
{
    static _Atomic gpu_context last;

    if (!gpu_is_in_use())
        return false;
    if (gpu) {
        if (!buffer_enter(gpu, entered))
            return false;
        atomic_store_explicit(&last, entered->context, memory_order_relaxed);
        return true;
    }
    if (gpu_context_current(&entered->context) != GPU_OK || !entered->context)
        entered->context = atomic_load(&last);
    if (!entered->context || gpu_context_push(entered->context) != GPU_OK)
        return false;
    entered->capture = gpu_suspend_capture();
    return true;
}

/* Between direct_look_begin and direct_look_end the driver is asked once for a context. */
static __thread struct {
    int depth;
    gpu_context idle; /* its legacy stream had no work, or what it had is done */
} look __attribute__((tls_model("initial-exec")));

void direct_look_begin(void)
{
    look.depth++;
}

void direct_look_end(void)
{
    if (--look.depth == 0)
        look.idle = NULL;
}

int direct_look_hide(void)
{
    const int hidden = look.depth;

    look.depth = 0;
    look.idle = NULL;
    return hidden;
}

void direct_look_show(int hidden)
{
    look.depth = hidden;
    look.idle = NULL;
}

static void saw_idle(gpu_context context)
{
    if (look.depth > 0)
        look.idle = context;
}

/* The driver takes 1.6 us for the answer (H100, driver 580). */
static bool is_busy_here(const struct entered *entered)
{
    const bool busy = copies_are_ordered() && look.idle != entered->context &&
                      gpu_legacy_work() != GPU_NO_WORK;

    if (!busy)
        saw_idle(entered->context);
    buffer_leave(entered);
    return busy;
}

/* Work in the legacy stream of the memory's context is not complete. */
static bool is_busy(const void *gpu)
{
    struct entered entered;

    return enter(gpu, &entered) && is_busy_here(&entered);
}

bool direct_must_wait(const void *gpu)
{
    return is_busy(gpu);
}

int direct_settle(const void *gpu)
{
    char byte = 0;

    if (!is_busy(gpu))
        return 0;
    if (buffer_to_host(&byte, gpu, 1) < 0)
        return -1;
    saw_idle(pointer_context(gpu));
    return 0;
}

int direct_settle_allocation(const struct allocation *allocation, const void *gpu)
{
    struct entered entered;

    if (!allocation->context)
        return direct_settle(gpu);
    if (!buffer_enter_context(allocation->context, &entered))
        return 0;
    return is_busy_here(&entered) ? direct_settle(gpu) : 0;
}

/* In a stream of the context that was entered. */
static int copy_in(gpu_stream stream, void *to, const void *from, size_t nbytes)
{
    int status = gpu_copy_async((gpu_address)(uintptr_t)to, (gpu_address)(uintptr_t)from, nbytes,
                                stream);

    if (status == GPU_OK)
        status = gpu_stream_synchronize(stream);
    return status == GPU_OK ? 0 : -1;
}

static int copy_of(const void *gpu, void *to, const void *from, size_t nbytes)
{
    struct entered entered;
    int status;

    if (!enter(gpu, &entered))
        return -1;
    status = copy_in(copy_stream_unordered(entered.context), to, from, nbytes);
    buffer_leave(&entered);
    return status;
}

int direct_to_host(void *host, const void *gpu, size_t nbytes)
{
    return copy_of(gpu, host, gpu, nbytes);
}

int direct_from_host(void *gpu, const void *host, size_t nbytes)
{
    return copy_of(gpu, gpu, host, nbytes);
}

static void let_go(struct direct_mapping *mapping)
{
    pthread_mutex_lock(&mappings_lock);
    if (mapping)
        mapping->users--;
    pthread_mutex_unlock(&mappings_lock);
}

/* Where an address of the peer's lies here, in a context that was entered. 0: it cannot be mapped. */
static gpu_address find(struct direct_mapping **mapping, gpu_context context,
                        struct direct_peer *peer, const struct direct_export *memory,
                        uint64_t address)
{
    *mapping = NULL;
    if (peer->segment == direct_own())
        return address;
    pthread_mutex_lock(&mappings_lock);
    *mapping = open_mapping(peer, memory, context);
    if (*mapping)
        (*mapping)->users++;
    pthread_mutex_unlock(&mappings_lock);
    return *mapping ? (*mapping)->at + (address - memory->start) : 0;
}

bool direct_copy_start(struct direct_copy *copy, struct direct_peer *peer,
                       const struct direct_slot *slot, void *to, bool to_gpu, size_t nbytes)
{
    struct entered entered;
    gpu_address source;
    bool started;

    if (!enter(to_gpu ? to : NULL, &entered))
        return false;
    copy->context = entered.context;
    copy->stream = to_gpu ? copy_stream(entered.context) : copy_stream_unordered(entered.context);
    source = find(&copy->mapping, entered.context, peer, &slot->memory, slot->address);
    started = source &&
              gpu_copy_async((gpu_address)(uintptr_t)to, source, nbytes, copy->stream) == GPU_OK;
    buffer_leave(&entered);
    if (!started)
        let_go(copy->mapping);
    return started;
}

bool direct_copy_start_own(struct direct_copy *copy, const void *from, void *to, size_t nbytes)
{
    struct entered entered;
    bool started;

    if (direct_settle(from) < 0 || direct_settle(to) < 0 || !enter(to, &entered))
        return false;
    copy->context = entered.context;
    copy->mapping = NULL;
    copy->stream = copy_stream(entered.context);
    started = gpu_copy_async((gpu_address)(uintptr_t)to, (gpu_address)(uintptr_t)from, nbytes,
                             copy->stream) == GPU_OK;
    buffer_leave(&entered);
    return started;
}

int direct_copy_wait(struct direct_copy *copy)
{
    struct entered entered = {.context = copy->context};
    int status = gpu_context_push(copy->context);

    if (status == GPU_OK) {
        entered.capture = gpu_suspend_capture();
        status = gpu_stream_synchronize(copy->stream);
        buffer_leave(&entered);
    }
    let_go(copy->mapping);
    return status == GPU_OK ? 0 : -1;
}

/* ---- memory of peers that is accessed where it lies */

void *direct_map(struct direct_map *map, struct direct_peer *peer,
                 const struct direct_export *memory, uint64_t address, const void *beside)
{
    const bool own = peer->segment == direct_own();
    struct entered entered;
    gpu_address at = 0;

    map->mapping = NULL;
    if (!enter(own ? (const void *)(uintptr_t)address : beside, &entered))
        return NULL;
    map->context = entered.context;
    /* The copy stream of this context knows of no other's legacy stream. */
    if (own && beside && pointer_context(beside) != entered.context && direct_settle(beside) < 0) {
        buffer_leave(&entered);
        return NULL;
    }
    if (own || memory->id)
        at = find(&map->mapping, entered.context, peer, memory, address);
    buffer_leave(&entered);
    return (void *)(uintptr_t)at; /* NOLINT(performance-no-int-to-ptr): one address space */
}

void direct_unmap(const struct direct_map *map)
{
    let_go(map->mapping);
}

int direct_map_copy(const struct direct_map *map, void *to, const void *from, size_t nbytes)
{
    struct entered entered = {.context = map->context};
    int status;

    if (gpu_context_push(map->context) != GPU_OK)
        return -1;
    entered.capture = gpu_suspend_capture();
    status = copy_in(copy_stream(map->context), to, from, nbytes);
    buffer_leave(&entered);
    return status;
}
