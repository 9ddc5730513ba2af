#include "aware/memory/gpu_pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "aware/base/setting.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/pointer_query.h"

/* Blocks have sizes of powers of 2, and are kept: to free GPU memory waits for all streams, and one may wait
 * for a message. */
#define LEAST ((size_t)1 << 16)
/* Bytes of all blocks, where GPUBIND_PACK_MEMORY does not say how many: */
#define ALWAYS ((size_t)64 << 20)
#define SHARE 64 /* of the GPU's memory, where that is more */

struct gpu_block {
    struct gpu_block *next;
    gpu_context context;
    unsigned long long id; /* of the context: one that was destroyed may have had its address */
    gpu_address at;
    size_t nbytes;
    bool taken;
};

static struct gpu_block *blocks;
static size_t ntaken; /* bytes of all blocks */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Bytes of all blocks. The context is current. */
static size_t limit(void)
{
    static _Atomic int known = SETTING_UNKNOWN;
    size_t nbytes = 0;
    int device;

    if (setting_mib("GPUBIND_PACK_MEMORY", 1048576, &known, &nbytes))
        return nbytes;
    if (gpu_context_device(&device) != GPU_OK || gpu_device_memory(&nbytes, device) != GPU_OK)
        nbytes = 0;
    return nbytes / SHARE > ALWAYS ? nbytes / SHARE : ALWAYS;
}

/* The smallest free one. The lock is held. */
static struct gpu_block *find(gpu_context context, unsigned long long id, size_t nbytes)
{
    struct gpu_block *found = NULL;

    for (struct gpu_block *block = blocks; block; block = block->next)
        if (!block->taken && block->context == context && block->id == id &&
            block->nbytes >= nbytes && (!found || block->nbytes < found->nbytes))
            found = block;
    return found;
}

/* The lock is held. */
static struct gpu_block *make(gpu_context context, unsigned long long id, size_t nbytes)
{
    struct gpu_block *block = ntaken + nbytes <= limit() ? calloc(1, sizeof *block) : NULL;

    if (block && gpu_mem_alloc(&block->at, nbytes) != GPU_OK) {
        free(block);
        block = NULL;
    }
    if (!block)
        return NULL;
    block->context = context;
    block->id = id;
    block->nbytes = nbytes;
    block->next = blocks;
    blocks = block;
    ntaken += nbytes;
    return block;
}

struct gpu_block *gpu_pool_take(gpu_context context, size_t nbytes)
{
    const unsigned long long id = context_number(context);
    struct gpu_block *block;
    size_t size = LEAST;

    while (size < nbytes)
        size *= 2;
    pthread_mutex_lock(&lock);
    block = find(context, id, size);
    if (!block)
        block = make(context, id, size);
    if (block)
        block->taken = true;
    pthread_mutex_unlock(&lock);
    return block;
}

void *gpu_pool_at(const struct gpu_block *block)
{
    return (void *)(uintptr_t)block->at; /* NOLINT(performance-no-int-to-ptr): one address space */
}

void gpu_pool_give(struct gpu_block *block)
{
    if (!block)
        return;
    pthread_mutex_lock(&lock);
    block->taken = false;
    pthread_mutex_unlock(&lock);
}
