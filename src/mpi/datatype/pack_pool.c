/* The pool of GPU buffers for packed data. */
#include "mpi/datatype/pack_pool.h"

#include <stdlib.h>

#include "gpu/core/gpu_calls.h"
#include "mpi/core/ipc_refs.h"

#define LEAST (64u << 10)

static struct pack_buffer *kept; /* the latest first */
static uint64_t kept_bytes, most_bytes;

void pack_pool_limit(uint64_t nbytes)
{
    most_bytes = nbytes;
}

/* Rounds up to one of four sizes per doubling, so that messages of similar size share buffers. */
static size_t round_up(uint64_t nbytes)
{
    uint64_t step = LEAST / 4;

    if (nbytes <= LEAST)
        return LEAST;
    while (nbytes > 8 * step)
        step *= 2;
    return (nbytes + step - 1) / step * step;
}

void pack_pool_drop(struct pack_buffer *buffer)
{
    struct release *release = ipc_refs_release(buffer->memory.id, buffer->memory.start,
                                               buffer->memory.gpu);

    if (release)
        release_forget(release);
    free(buffer);
}

static struct pack_buffer *take_kept(const struct gpu *gpu, size_t size)
{
    struct pack_buffer **best = NULL, *buffer;

    for (struct pack_buffer **link = &kept; *link; link = &(*link)->next)
        if ((*link)->memory.gpu == gpu && (*link)->memory.size >= size &&
            (*link)->memory.size <= 2 * size &&
            (!best || (*link)->memory.size < (*best)->memory.size))
            best = link;
    if (!best)
        return NULL;
    buffer = *best;
    *best = buffer->next;
    kept_bytes -= buffer->memory.size;
    return buffer;
}

static int allocate(struct gpu *gpu, size_t size, gpu_address *address)
{
    bool entered = gpu_enter(gpu);
    int status;

    gpu_agents_leave();
    status = gpu_mem_alloc(address, size);
    if (status == GPU_OUT_OF_MEMORY && kept) {
        pack_pool_free();
        gpu_await_frees();
        status = gpu_mem_alloc(address, size);
    }
    gpu_leave(entered);
    return status;
}

struct pack_buffer *pack_pool_take(struct gpu *gpu, uint64_t nbytes, struct gpubind_error *err)
{
    const size_t size = round_up(nbytes);
    struct pack_buffer *buffer = take_kept(gpu, size);
    gpu_address address = 0;
    int status;

    if (buffer)
        return buffer;
    buffer = malloc(sizeof *buffer);
    status = buffer ? allocate(gpu, size, &address) : GPU_OUT_OF_MEMORY;
    if (status != GPU_OK) {
        free(buffer);
        gpu_error(status, "there is no GPU memory to pack strided data in", err);
        return NULL;
    }
    if (memory_of((const void *)(uintptr_t)address, &buffer->memory, NULL) < 0 ||
        !buffer->memory.gpu) /* then no other rank maps it */
        buffer->memory = (struct memory){.address = address, .start = address};
    buffer->memory.gpu = gpu;
    buffer->memory.size = size;
    return buffer;
}

void pack_pool_give(struct pack_buffer *buffer)
{
    buffer->next = kept;
    kept = buffer;
    kept_bytes += buffer->memory.size;
}

void pack_pool_trim(void)
{
    while (kept_bytes > most_bytes) { /* the last in the list is the least recently used */
        struct pack_buffer **last = &kept;

        while ((*last)->next)
            last = &(*last)->next;
        kept_bytes -= (*last)->memory.size;
        pack_pool_drop(*last);
        *last = NULL;
    }
}

void pack_pool_free(void)
{
    struct pack_buffer *buffer;

    while ((buffer = kept)) {
        kept = buffer->next;
        pack_pool_drop(buffer);
    }
    kept_bytes = 0;
}

void pack_pool_clear(void)
{
    struct pack_buffer *buffer;

    while ((buffer = kept)) {
        gpu_free_now(buffer->memory.gpu, buffer->memory.start);
        kept = buffer->next;
        free(buffer);
    }
    kept_bytes = 0;
}
