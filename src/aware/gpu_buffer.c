#include "aware/gpu_buffer.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "aware/next.h"
#include "aware/start.h"
#include "gpu/core/driver.h"

/* ---- whose memory */

/* The heap of brk, where the driver never maps GPU memory. Asking the driver takes 0.1 us. */
static bool is_in_heap(const void *buf)
{
    static const char *start;
    const char *end = sbrk(0);

    if (!start)
        start = end; /* the driver is asked about what lies before */
    return (const char *)buf >= start && (const char *)buf < end;
}

static bool is_on_stack(const void *buf)
{
    const char *here = __builtin_frame_address(0), *at = buf;

    return at >= here && at < here + (64 << 10);
}

/* NULL: the process has not started CUDA. */
static const struct cuda_driver *driver(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const struct cuda_driver *cuda;

    if (gpu_driver_is_known())
        return gpu_driver();
    pthread_mutex_lock(&lock);
    cuda = gpu_driver();
    pthread_mutex_unlock(&lock);
    return cuda;
}

bool gpu_is_in_use(void)
{
    return !is_behind && aware_is_on() && driver();
}

bool buffer_is_on_gpu(const void *buf)
{
    const struct cuda_driver *cuda = aware_is_on() ? driver() : NULL;
    int attributes[] = {CUDA_POINTER_MEMORY_TYPE, CUDA_POINTER_IS_MANAGED};
    unsigned type = 0, managed = 0;
    void *values[] = {&type, &managed};

    return cuda && buf && !is_on_stack(buf) && !is_in_heap(buf) &&
           cuda->cuPointerGetAttributes(2, attributes, values, (cuda_address)(uintptr_t)buf) ==
               GPU_OK &&
           type == CUDA_MEMORY_DEVICE && !managed;
}

/* ---- copies */

/* The context that the memory belongs to. Memory of a pool has none: then the current one, if it is
 * of that device, else the primary one. */
static struct CUctx_st *context_of(const struct cuda_driver *cuda, const void *gpu)
{
    int attributes[] = {CUDA_POINTER_CONTEXT, CUDA_POINTER_ORDINAL};
    struct CUctx_st *context = NULL;
    int ordinal = 0, current;
    void *values[] = {&context, &ordinal};

    if (cuda->cuPointerGetAttributes(2, attributes, values, (cuda_address)(uintptr_t)gpu) !=
            GPU_OK ||
        context)
        return context;
    if (cuda->cuCtxGetCurrent(&context) == GPU_OK && context &&
        cuda->cuCtxGetDevice(&current) == GPU_OK && current == ordinal)
        return context;
    /* Retained for good; the application uses it. */
    return cuda->cuDevicePrimaryCtxRetain(&context, ordinal) == GPU_OK ? context : NULL;
}

bool buffer_enter(const void *gpu)
{
    struct CUctx_st *context = context_of(driver(), gpu);

    return context && driver()->cuCtxPushCurrent_v2(context) == GPU_OK;
}

void buffer_leave(void)
{
    struct CUctx_st *context;

    driver()->cuCtxPopCurrent_v2(&context);
}

static int copy(const void *gpu, void *host, size_t nbytes, bool to_host)
{
    const struct cuda_driver *cuda = driver();
    const cuda_address address = (cuda_address)(uintptr_t)gpu;
    struct gpubind_error err;
    int status;

    if (nbytes == 0)
        return 0;
    if (!buffer_enter(gpu)) {
        fprintf(stderr, "gpubind: a buffer of an MPI call: there is no GPU memory at %p\n", gpu);
        return -1;
    }
    status = to_host ? cuda->cuMemcpyDtoHAsync_v2(host, address, nbytes, NULL)
                     : cuda->cuMemcpyHtoDAsync_v2(address, host, nbytes, NULL);
    if (status == GPU_OK)
        status = cuda->cuStreamSynchronize(NULL);
    buffer_leave();
    if (status == GPU_OK)
        return 0;
    gpu_error(status, to_host ? "a copy to the host" : "a copy to the GPU", &err);
    fprintf(stderr, "gpubind: a buffer of an MPI call, %zu bytes of GPU memory at %p: %s\n", nbytes,
            gpu, err.text);
    return -1;
}

int buffer_to_host(void *host, const void *gpu, size_t nbytes)
{
    return copy(gpu, host, nbytes, true);
}

int buffer_to_gpu(void *gpu, const void *host, size_t nbytes)
{
    return copy(gpu, (void *)(uintptr_t)host, nbytes, false);
}
