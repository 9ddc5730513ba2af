#include "aware/gpu_buffer.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/core/mem_query.h"

/* ---- whose memory */

/* The heap of brk: the driver never maps GPU memory there. Asking the driver takes 0.1 us. */
static bool is_in_heap(const void *buf)
{
    static const char *start;
    const char *end = sbrk(0);

    if (!start)
        start = end; /* what lies before is asked for, at worst */
    return (const char *)buf >= start && (const char *)buf < end;
}

static bool is_on_stack(const void *buf)
{
    const char *here = __builtin_frame_address(0), *at = buf;

    return at >= here && at < here + (64 << 10);
}

static bool left_to_mpi;

void buffers_leave_to_mpi(void)
{
    left_to_mpi = true;
}

bool buffer_is_on_gpu(const void *buf)
{
    const struct cuda_driver *cuda = left_to_mpi ? NULL : gpu_driver();
    int attributes[] = {CUDA_POINTER_MEMORY_TYPE, CUDA_POINTER_IS_MANAGED};
    unsigned type = 0, managed = 0;
    void *values[] = {&type, &managed};

    return cuda && buf && !is_on_stack(buf) && !is_in_heap(buf) &&
           cuda->cuPointerGetAttributes(2, attributes, values, (gpu_address)(uintptr_t)buf) ==
               GPU_OK &&
           type == CUDA_MEMORY_DEVICE && !managed;
}

/* ---- copies */

static int notice(const char *what, const struct gpubind_error *err)
{
    fprintf(stderr, "gpubind: %s: %s\n", what, err->text);
    return -1;
}

static int copy(const void *gpu_side, void *host, size_t nbytes, bool to_host)
{
    const struct cuda_driver *cuda = gpu_driver();
    struct gpubind_error err;
    struct memory memory;
    bool entered;
    int status;

    if (nbytes == 0)
        return 0;
    if (memory_of(gpu_side, &memory, &err) < 0)
        return notice("a GPU buffer of an MPI call", &err);
    entered = gpu_enter(memory.gpu);
    status = to_host ? cuda->cuMemcpyDtoHAsync_v2(host, memory.address, nbytes, NULL)
                     : cuda->cuMemcpyHtoDAsync_v2(memory.address, host, nbytes, NULL);
    if (status == GPU_OK)
        status = cuda->cuStreamSynchronize(NULL);
    gpu_leave(entered);
    if (status == GPU_OK)
        return 0;
    gpu_error(status, to_host ? "a copy to the host" : "a copy to the GPU", &err);
    return notice("a GPU buffer of an MPI call", &err);
}

int buffer_to_host(void *host, const void *gpu, size_t nbytes)
{
    return copy(gpu, host, nbytes, true);
}

int buffer_to_gpu(void *gpu, const void *host, size_t nbytes)
{
    return copy(gpu, (void *)(uintptr_t)host, nbytes, false);
}

/* ---- host memory: blocks of powers of 2, kept for the next call up to KEPT_MOST bytes */

#define LEAST_LOG 12
#define CLASSES 40
#define KEPT_MOST ((size_t)32 << 20)

struct block {
    struct block *next;
};

static struct block *kept[CLASSES];
static size_t nkept; /* bytes */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int class_of(size_t nbytes)
{
    int class = LEAST_LOG;

    while (((size_t)1 << class) < nbytes)
        class ++;
    return class;
}

/* A block that is not kept is not page-locked either: that takes longer than the copy. */
static void *make(size_t nbytes)
{
    void *at = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    if (nbytes <= KEPT_MOST)
        gpu_driver()->cuMemHostRegister_v2(at, nbytes, GPU_REGISTER_PORTABLE);
    return at;
}

void *host_take(size_t nbytes)
{
    const int class = class_of(nbytes);
    const size_t size = (size_t)1 << class;
    struct block *block;

    pthread_mutex_lock(&lock);
    block = kept[class];
    if (block) {
        kept[class] = block->next;
        nkept -= size;
    }
    pthread_mutex_unlock(&lock);
    return block ? (void *)block : make(size);
}

void host_give(void *memory, size_t nbytes)
{
    const int class = class_of(nbytes);
    const size_t size = (size_t)1 << class;
    struct block *block = memory;
    bool keep;

    pthread_mutex_lock(&lock);
    keep = nkept + size <= KEPT_MOST;
    if (keep) {
        block->next = kept[class];
        kept[class] = block;
        nkept += size;
    }
    pthread_mutex_unlock(&lock);
    if (keep)
        return;
    if (size <= KEPT_MOST)
        gpu_driver()->cuMemHostUnregister(memory);
    munmap(memory, size);
}
