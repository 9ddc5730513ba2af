#include "gpu/core/mem_query.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/core/vmm.h"

/* Making an export takes some microseconds, so exports are cached: a hash table by the ID of the
 * allocation, open addressing. */
static struct memory_export **exports;
static unsigned capacity, nexports; /* capacity: a power of 2, more than twice nexports */
static bool added;

static struct memory_export **slot_of(uint64_t id)
{
    unsigned at = (unsigned)(id * 0x9e3779b97f4a7c15u >> 32) % capacity;

    while (exports[at] && exports[at]->id != id)
        at = (at + 1) % capacity;
    return &exports[at];
}

static bool has_export(uint64_t id)
{
    return capacity && *slot_of(id);
}

int memory_of(const void *pointer, struct memory *memory, struct gpubind_error *err)
{
    static int attributes[] = {
        CUDA_POINTER_MEMORY_TYPE, CUDA_POINTER_CONTEXT,     CUDA_POINTER_ORDINAL,
        CUDA_POINTER_BUFFER_ID,   CUDA_POINTER_START,       CUDA_POINTER_SIZE,
        CUDA_POINTER_IS_MANAGED,  CUDA_POINTER_IPC_CAPABLE, CUDA_POINTER_SYNC_MEMOPS};
    const struct cuda_driver *cuda = gpu_driver();
    unsigned type = 0, managed = 0, ipc_capable = 0, synchronous = 0;
    gpu_context context = NULL;
    int ordinal = 0;
    unsigned long long id = 0;
    void *values[] = {&type,         &context, &ordinal,     &id,         &memory->start,
                      &memory->size, &managed, &ipc_capable, &synchronous};

    memset(memory, 0, sizeof *memory);
    memory->address = (gpu_address)(uintptr_t)pointer;
    if (!cuda || !pointer)
        return 0;
    if (cuda->cuPointerGetAttributes(sizeof attributes / sizeof *attributes, attributes, values,
                                     memory->address) != GPU_OK ||
        (type != CUDA_MEMORY_DEVICE && !managed))
        return 0;
    memory->id = id;
    ipc_capable &= 0xff;
    memory->ipc_capable = ipc_capable && !managed;
    memory->shareable = (ipc_capable || has_export(id)) && !managed;
    /* Memory without a context may lie on a device that this process does not use. */
    memory->gpu = ipc_capable ? NULL : vmm_gpu(memory->address);
    if (!memory->gpu)
        memory->gpu = gpu_of_memory(context, ordinal, id, err);
    if (!memory->gpu)
        return -1;
    memory->synchronous = managed || memory->gpu->synchronous ||
                          (memory->ipc_capable && (synchronous & 0xff));
    return 0;
}

static bool reserve(void)
{
    struct memory_export **old = exports;
    const unsigned had = capacity;

    if (2 * (nexports + 1) < capacity)
        return true;
    capacity = had ? 2 * had : 256;
    exports = calloc(capacity, sizeof *exports);
    if (!exports) {
        exports = old;
        capacity = had;
        return false;
    }
    for (unsigned at = 0; at < had; at++)
        if (old[at])
            *slot_of(old[at]->id) = old[at];
    free(old);
    return true;
}

static bool make_export(const struct memory *memory, struct memory_export *shared)
{
    const struct cuda_driver *cuda = gpu_driver();
    bool entered = gpu_enter(memory->gpu);
    int status = cuda->cuIpcGetMemHandle(&shared->handle, memory->start);

    gpu_leave(entered);
    shared->id = memory->id;
    shared->start = memory->start;
    shared->size = memory->size;
    return status == GPU_OK;
}

static bool add_export(struct memory_export **slot, const struct memory_export *shared)
{
    *slot = malloc(sizeof **slot);
    if (!*slot)
        return false;
    **slot = *shared;
    nexports++;
    return true;
}

bool memory_export_of(const struct memory *memory, struct memory_export *shared)
{
    struct memory_export **slot;

    if (!reserve())
        return false;
    slot = slot_of(memory->id);
    if (*slot) {
        *shared = **slot;
        return true;
    }
    if (!memory->shareable || !make_export(memory, shared))
        return false;
    added = true;
    return add_export(slot, shared);
}

bool memory_has_handle(const struct memory_export *shared)
{
    static const gpu_ipc_handle none;

    return memcmp(&shared->handle, &none, sizeof none) != 0;
}

void memory_add_export(const struct memory_export *shared)
{
    struct memory_export **slot = reserve() ? slot_of(shared->id) : NULL;

    if (slot && !*slot)
        add_export(slot, shared);
}

bool memory_exports_added(void)
{
    bool was = added;

    added = false;
    return was;
}

static bool exists(const struct memory_export *shared)
{
    static int attribute[] = {CUDA_POINTER_BUFFER_ID};
    unsigned long long id = 0;
    void *values[] = {&id};

    return gpu_driver()->cuPointerGetAttributes(1, attribute, values, shared->start) == GPU_OK &&
           id == shared->id;
}

/* Entries that follow in the probe sequence are inserted again. */
static void remove_at(unsigned at)
{
    free(exports[at]);
    exports[at] = NULL;
    nexports--;
    for (at = (at + 1) % capacity; exports[at]; at = (at + 1) % capacity) {
        struct memory_export *moved = exports[at];

        exports[at] = NULL;
        *slot_of(moved->id) = moved;
    }
}

bool memory_next_stale(uint64_t *id)
{
    for (unsigned at = 0; at < capacity; at++)
        if (exports[at] && !exists(exports[at])) {
            *id = exports[at]->id;
            remove_at(at);
            return true;
        }
    return false;
}

void memory_forget(uint64_t id)
{
    struct memory_export **slot = capacity ? slot_of(id) : NULL;

    if (slot && *slot)
        remove_at((unsigned)(slot - exports));
}

void memory_forget_all(void)
{
    for (unsigned at = 0; at < capacity; at++)
        free(exports[at]);
    free(exports);
    exports = NULL;
    capacity = nexports = 0;
}
