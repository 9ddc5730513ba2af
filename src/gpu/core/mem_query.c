#include "gpu/core/mem_query.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/core/vmm.h"

/* An export costs the driver some microseconds, so they are kept by the number of
 * the allocation, open addressing. */
static struct memory_export **kept;
static unsigned room, nkept; /* room: a power of 2, more than twice nkept */
static bool anew;

static struct memory_export **place_of(uint64_t id)
{
    unsigned at = (unsigned)(id * 0x9e3779b97f4a7c15u >> 32) % room;

    while (kept[at] && kept[at]->id != id)
        at = (at + 1) % room;
    return &kept[at];
}

static bool is_kept(uint64_t id)
{
    return room && *place_of(id);
}

int memory_of(const void *pointer, struct memory *memory, struct gpubind_error *err)
{
    static int attributes[] = {
        CUDA_POINTER_MEMORY_TYPE, CUDA_POINTER_CONTEXT,     CUDA_POINTER_ORDINAL,
        CUDA_POINTER_BUFFER_ID,   CUDA_POINTER_START,       CUDA_POINTER_SIZE,
        CUDA_POINTER_IS_MANAGED,  CUDA_POINTER_IPC_CAPABLE, CUDA_POINTER_SYNC_MEMOPS};
    const struct cuda_driver *cuda = gpu_driver();
    unsigned type = 0, managed = 0, capable = 0, synchronous = 0;
    gpu_context context = NULL;
    int ordinal = 0;
    unsigned long long id = 0;
    void *values[] = {&type,         &context, &ordinal, &id,         &memory->start,
                      &memory->size, &managed, &capable, &synchronous};

    memset(memory, 0, sizeof *memory);
    memory->address = (gpu_address)(uintptr_t)pointer;
    if (!cuda || !pointer)
        return 0;
    if (cuda->cuPointerGetAttributes(sizeof attributes / sizeof *attributes, attributes, values,
                                     memory->address) != GPU_OK ||
        (type != CUDA_MEMORY_DEVICE && !managed))
        return 0;
    memory->id = id;
    capable &= 0xff;
    memory->capable = capable && !managed;
    memory->shareable = (capable || is_kept(id)) && !managed;
    /* Memory without a context may lie on a device that this process does not use. */
    memory->gpu = capable ? NULL : vmm_gpu(memory->address);
    if (!memory->gpu)
        memory->gpu = gpu_of_memory(context, ordinal, id, err);
    if (!memory->gpu)
        return -1;
    memory->synchronous = managed || memory->gpu->synchronous ||
                          (memory->capable && (synchronous & 0xff));
    return 0;
}

static bool make_room(void)
{
    struct memory_export **old = kept;
    const unsigned had = room;

    if (2 * (nkept + 1) < room)
        return true;
    room = had ? 2 * had : 256;
    kept = calloc(room, sizeof *kept);
    if (!kept) {
        kept = old;
        room = had;
        return false;
    }
    for (unsigned at = 0; at < had; at++)
        if (old[at])
            *place_of(old[at]->id) = old[at];
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

static bool keep(struct memory_export **place, const struct memory_export *shared)
{
    *place = malloc(sizeof **place);
    if (!*place)
        return false;
    **place = *shared;
    nkept++;
    return true;
}

bool memory_export_of(const struct memory *memory, struct memory_export *shared)
{
    struct memory_export **place;

    if (!make_room())
        return false;
    place = place_of(memory->id);
    if (*place) {
        *shared = **place;
        return true;
    }
    if (!memory->shareable || !make_export(memory, shared))
        return false;
    anew = true;
    return keep(place, shared);
}

bool memory_has_handle(const struct memory_export *shared)
{
    static const gpu_ipc_handle none;

    return memcmp(&shared->handle, &none, sizeof none) != 0;
}

void memory_show(const struct memory_export *shared)
{
    struct memory_export **place = make_room() ? place_of(shared->id) : NULL;

    if (place && !*place)
        keep(place, shared);
}

bool memory_shared_anew(void)
{
    bool was = anew;

    anew = false;
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

/* Whoever follows in the chain is put in again. */
static void remove_at(unsigned at)
{
    free(kept[at]);
    kept[at] = NULL;
    nkept--;
    for (at = (at + 1) % room; kept[at]; at = (at + 1) % room) {
        struct memory_export *moved = kept[at];

        kept[at] = NULL;
        *place_of(moved->id) = moved;
    }
}

bool memory_next_stale(uint64_t *id)
{
    for (unsigned at = 0; at < room; at++)
        if (kept[at] && !exists(kept[at])) {
            *id = kept[at]->id;
            remove_at(at);
            return true;
        }
    return false;
}

void memory_forget(uint64_t id)
{
    struct memory_export **place = room ? place_of(id) : NULL;

    if (place && *place)
        remove_at((unsigned)(place - kept));
}

void memory_forget_all(void)
{
    for (unsigned at = 0; at < room; at++)
        free(kept[at]);
    free(kept);
    kept = NULL;
    room = nkept = 0;
}
