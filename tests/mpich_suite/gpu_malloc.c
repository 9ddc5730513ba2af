/* Memory of the simulated driver, which lets the host access it (GPUBIND_SIM_OPEN). */
#define GPU_MALLOC
#include "gpu_malloc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define SLOTS 4096

typedef unsigned long long address;

static struct {
    int (*cuInit)(unsigned flags);
    int (*cuDeviceGetCount)(int *n);
    int (*cuDevicePrimaryCtxRetain)(void **context, int device);
    int (*cuCtxSetCurrent)(void *context);
    int (*cuMemAlloc_v2)(address *at, size_t nbytes);
    int (*cuMemFree_v2)(address at);
} cu;

static struct block {
    struct block *next;
    address at;
    size_t nbytes;
} * blocks[SLOTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum { UNKNOWN, HOST, GPU } state;
static void *context;

static void fail(const char *what)
{
    fprintf(stderr, "gpu_malloc: %s\n", what);
    exit(1);
}

static int local_rank(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");

    rank = rank ? rank : getenv("PMI_RANK");
    return rank ? atoi(rank) : 0;
}

static void load_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int n = 0;

    if (!library)
        fail(dlerror());
#define LOAD(name) *(void **)&cu.name = dlsym(library, #name)
    LOAD(cuInit);
    LOAD(cuDeviceGetCount);
    LOAD(cuDevicePrimaryCtxRetain);
    LOAD(cuCtxSetCurrent);
    LOAD(cuMemAlloc_v2);
    LOAD(cuMemFree_v2);
    if (cu.cuInit(0) || cu.cuDeviceGetCount(&n) || n == 0 ||
        cu.cuDevicePrimaryCtxRetain(&context, local_rank() % n))
        fail("there is no GPU");
}

/* The lock is held. */
static bool is_on_gpu(void)
{
    if (state == UNKNOWN) {
        state = getenv("TEST_GPU_MALLOC") ? GPU : HOST;
        if (state == GPU)
            load_driver();
    }
    return state == GPU && cu.cuCtxSetCurrent(context) == 0;
}

static struct block **find(address at)
{
    struct block **found = &blocks[at / 4096 % SLOTS];

    while (*found && (*found)->at != at)
        found = &(*found)->next;
    return found;
}

void *gpu_malloc(size_t nbytes)
{
    struct block *block = malloc(sizeof *block);

    pthread_mutex_lock(&lock);
    if (!block || !is_on_gpu() || cu.cuMemAlloc_v2(&block->at, nbytes ? nbytes : 1)) {
        pthread_mutex_unlock(&lock);
        free(block);
        return state == GPU ? NULL : malloc(nbytes);
    }
    block->nbytes = nbytes;
    block->next = NULL;
    *find(block->at) = block;
    pthread_mutex_unlock(&lock);
    return (void *)block->at;
}

void *gpu_calloc(size_t n, size_t nbytes)
{
    void *memory = gpu_malloc(n * nbytes);

    return memory ? memset(memory, 0, n * nbytes) : NULL;
}

/* What libc allocates for a program, as strdup does, is its own. */
void gpu_free(void *memory)
{
    struct block **found, *block;

    pthread_mutex_lock(&lock);
    found = find((address)memory);
    block = *found;
    if (block) {
        *found = block->next;
        if (!is_on_gpu() || cu.cuMemFree_v2(block->at))
            fail("a free has failed");
    }
    pthread_mutex_unlock(&lock);
    free(block ? (void *)block : memory);
}

void *gpu_realloc(void *old, size_t nbytes)
{
    struct block *block;
    void *memory;

    if (!old)
        return gpu_malloc(nbytes);
    pthread_mutex_lock(&lock);
    block = *find((address)old);
    pthread_mutex_unlock(&lock);
    if (!block)
        return realloc(old, nbytes);
    memory = gpu_malloc(nbytes);
    if (memory) {
        memcpy(memory, old, block->nbytes < nbytes ? block->nbytes : nbytes);
        gpu_free(old);
    }
    return memory;
}
