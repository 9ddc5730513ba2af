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
    bool taken, for_long;
};

static struct gpu_block *blocks;
static size_t ntaken;   /* bytes of all blocks */
static size_t nforlong; /* and of those that are taken for long */
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

/* The smallest free one; for_long: of no more than that. The lock is held. */
static struct gpu_block *find(gpu_context context, unsigned long long id, size_t nbytes,
                              bool for_long)
{
    struct gpu_block *found = NULL;

    for (struct gpu_block *block = blocks; block; block = block->next)
        if (!block->taken && block->context == context && block->id == id &&
            (block->nbytes == nbytes || (block->nbytes > nbytes && !for_long)) &&
            (!found || block->nbytes < found->nbytes))
            found = block;
    return found;
}

/* Without the lock: the driver may let the call wait for another thread. */
static struct gpu_block *make(gpu_context context, unsigned long long id, size_t nbytes)
{
    struct gpu_block *block = calloc(1, sizeof *block);

    if (!block || gpu_mem_alloc(&block->at, nbytes) != GPU_OK) {
        free(block);
        return NULL;
    }
    block->context = context;
    block->id = id;
    block->nbytes = nbytes;
    return block;
}

/* A new one, for which there is room in ntaken and nforlong. */
static struct gpu_block *add(gpu_context context, unsigned long long id, size_t nbytes,
                             bool for_long)
{
    struct gpu_block *block = make(context, id, nbytes);

    pthread_mutex_lock(&lock);
    if (block) {
        block->taken = true;
        block->for_long = for_long;
        block->next = blocks;
        blocks = block;
    } else {
        ntaken -= nbytes;
        nforlong -= for_long ? nbytes : 0;
    }
    pthread_mutex_unlock(&lock);
    return block;
}

static struct gpu_block *take(gpu_context context, size_t nbytes, bool for_long)
{
    const unsigned long long id = context_number(context);
    const size_t most = limit();
    struct gpu_block *block = NULL;
    size_t size = LEAST;
    bool makes = false;

    while (size < nbytes)
        size *= 2;
    pthread_mutex_lock(&lock);
    if (!for_long || nforlong + size <= most / 2) {
        block = find(context, id, size, for_long);
        makes = !block && ntaken + size <= most;
    }
    if (block) {
        block->taken = true;
        block->for_long = for_long;
    }
    ntaken += makes ? size : 0;
    nforlong += for_long && (block || makes) ? size : 0;
    pthread_mutex_unlock(&lock);
    return makes ? add(context, id, size, for_long) : block;
}

struct gpu_block *gpu_pool_take(gpu_context context, size_t nbytes)
{
    return take(context, nbytes, false);
}

struct gpu_block *gpu_pool_take_for_long(gpu_context context, size_t nbytes)
{
    return take(context, nbytes, true);
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
    nforlong -= block->for_long ? block->nbytes : 0;
    block->taken = block->for_long = false;
    pthread_mutex_unlock(&lock);
}
