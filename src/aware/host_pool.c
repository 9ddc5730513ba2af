#include "aware/host_pool.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include "aware/gpu_buffer.h"
#include "gpu/core/gpu_calls.h"

/* Blocks of powers of 2. Page-locked ones are kept; others are not worth it. */
#define LEAST_LOG 12
#define CLASSES 48

struct unused { /* at its start */
    struct unused *next;
};

static const size_t limit = (size_t)32 << 20;
static size_t nlocked; /* bytes that are page-locked, in use or not */
static struct unused *unused[CLASSES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int class_of(size_t nbytes)
{
    int class = LEAST_LOG;

    while (class < CLASSES - 1 && ((size_t)1 << class) < nbytes)
        class ++;
    return class;
}

static bool page_lock(void *at, size_t nbytes, const void *gpu)
{
    static bool told;
    struct entered entered;
    int status;

    if (!buffer_enter(gpu, &entered))
        return false;
    status = gpu_host_register(at, nbytes, GPU_REGISTER_PORTABLE);
    buffer_leave(&entered);
    if (status != GPU_OK && !told) {
        told = true;
        fprintf(stderr, "gpubind: no page-locked memory could be had for the GPU buffers of MPI "
                        "calls; copies from and to the GPU are slower\n");
    }
    return status == GPU_OK;
}

static void page_unlock(void *at)
{
    gpu_host_unregister(at);
}

/* Memory that is not used makes room for a larger block. The lock is held. */
static void make_room(size_t nbytes)
{
    for (int class = CLASSES - 1; class >= 0; class --)
        while (unused[class] && nlocked + nbytes > limit) {
            struct unused *block = unused[class];

            unused[class] = block->next;
            nlocked -= (size_t)1 << class;
            page_unlock(block);
            munmap(block, (size_t)1 << class);
        }
}

/* Reserves nbytes of the limit. false: they are in use. */
static bool reserve(size_t nbytes)
{
    bool reserved;

    pthread_mutex_lock(&lock);
    if (nbytes <= limit)
        make_room(nbytes);
    reserved = nlocked + nbytes <= limit;
    nlocked += reserved ? nbytes : 0;
    pthread_mutex_unlock(&lock);
    return reserved;
}

static void unreserve(size_t nbytes)
{
    pthread_mutex_lock(&lock);
    nlocked -= nbytes;
    pthread_mutex_unlock(&lock);
}

static struct unused *take_unused(int class)
{
    struct unused *found;

    pthread_mutex_lock(&lock);
    found = unused[class];
    if (found)
        unused[class] = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

bool host_take(struct host_block *block, size_t nbytes, const void *gpu)
{
    const int class = class_of(nbytes);
    const size_t size = (size_t)1 << class;

    *block = (struct host_block){take_unused(class), size, true};
    if (block->at)
        return true;
    block->at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block->at == MAP_FAILED)
        return false;
    block->locked = reserve(size);
    if (block->locked && !page_lock(block->at, size, gpu)) {
        unreserve(size);
        block->locked = false;
    }
    return true;
}

void host_give(const struct host_block *block)
{
    struct unused *memory = block->at;
    const int class = class_of(block->nbytes);

    if (!block->locked) {
        munmap(memory, block->nbytes);
        return;
    }
    pthread_mutex_lock(&lock);
    memory->next = unused[class];
    unused[class] = memory;
    pthread_mutex_unlock(&lock);
}
