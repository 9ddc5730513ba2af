/* Flags for stream memory operations, allocated in chunks and kept in a free list. */
#include "mpi/stream/stream_flag.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "gpu/core/gpu_calls.h"
#include "gpu/core/page_locked.h"

#define CHUNK (256u << 10)
#define STRIDE 64 /* a cache line each: the CPU writes some while GPUs read others */
#define FLAGS (CHUNK / STRIDE)

static struct stream_flag *unused;

/* Flags are never freed: see page_locked.h. */
static bool make_flags(struct gpubind_error *err)
{
    struct stream_flag *flags = calloc(FLAGS, sizeof *flags);
    char *at = flags ? page_locked(CHUNK, err) : NULL;

    if (!flags)
        error_set(err, "out of memory");
    if (!at) {
        free(flags);
        return false;
    }
    for (unsigned i = 0; i < FLAGS; i++) {
        flags[i].at = (_Atomic uint32_t *)(void *)(at + (size_t)i * STRIDE);
        stream_flag_give(&flags[i]);
    }
    return true;
}

void stream_flags_unpinned(void)
{
    unused = NULL;
}

struct stream_flag *stream_flag_take(struct gpubind_error *err)
{
    struct stream_flag *flag;

    if (!unused && !make_flags(err))
        return NULL;
    flag = unused;
    unused = flag->next;
    return flag;
}

void stream_flag_give(struct stream_flag *flag)
{
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

static gpu_address address(const struct stream_flag *flag)
{
    return (gpu_address)(uintptr_t)flag->at;
}

int stream_flag_queue_write(const struct stream_flag *flag, gpu_stream stream)
{
    return gpu_stream_write32(stream, address(flag), flag->value, 0);
}

int stream_flag_queue_wait(const struct stream_flag *flag, gpu_stream stream)
{
    return gpu_stream_wait32(stream, address(flag), flag->value, GPU_WAIT_GEQ);
}
