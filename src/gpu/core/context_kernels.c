#include "gpu/core/context_kernels.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu/core/pointer_query.h"

struct loaded {
    struct loaded *next;
    gpu_context context;
    unsigned long long id; /* of the context: one that was destroyed may have had its address */
    const char *name;
    bool tried;
    struct context_kernel kernel; /* does not change once it has a function */
};

static struct loaded *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock is held. */
static struct loaded *find(gpu_context context, const char *name)
{
    const unsigned long long id = context_number(context);
    struct loaded *found = all;

    while (found &&
           (found->context != context || found->id != id || strcmp(found->name, name) != 0))
        found = found->next;
    return found;
}

/* The lock is held. */
static struct loaded *add(gpu_context context, const char *name)
{
    struct loaded *added = calloc(1, sizeof *added);

    if (!added)
        return NULL;
    added->context = context;
    added->id = context_number(context);
    added->name = name;
    added->next = all;
    all = added;
    return added;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The work that streams of the context have now ends within that time. */
#define ENDS_WITHIN 0.03 /* seconds */

static bool becomes_idle(gpu_context context)
{
    const struct cuda_driver *cuda = gpu_driver();
    const double until = seconds() + ENDS_WITHIN;
    gpu_event event;
    int status;

    if (!cuda->cuCtxRecordEvent || cuda->cuEventCreate(&event, GPU_EVENT_NO_TIMING) != GPU_OK)
        return false;
    status = cuda->cuCtxRecordEvent(context, event);
    if (status == GPU_OK)
        while ((status = cuda->cuEventQuery(event)) == GPU_NOT_READY && seconds() < until)
            sched_yield();
    cuda->cuEventDestroy_v2(event);
    return status == GPU_OK;
}

/* This thread tries, once and for all; others do without it meanwhile. The lock is held. */
static bool claim(struct loaded *loaded, enum kernel_wait wait)
{
    enum gpu_work work;

    if (loaded->tried || !kernels_are_allowed())
        return false;
    work = gpu_legacy_work(); /* a microsecond or more */
    if (wait == KERNEL_AFTER_ALL ? work == GPU_CAPTURED : work != GPU_NO_WORK)
        return false;
    loaded->tried = true;
    return true;
}

static unsigned multiprocessors(void)
{
    int device, n = 0;

    if (gpu_driver()->cuCtxGetDevice(&device) != GPU_OK ||
        gpu_driver()->cuDeviceGetAttribute(&n, GPU_ATTRIBUTE_MULTIPROCESSORS, device) != GPU_OK)
        n = 0;
    return n > 0 ? (unsigned)n : 1;
}

/* Without the lock: the driver may wait for a stream that waits for a message of another thread. */
static void load(struct loaded *loaded, const struct kernel_entry *entry, enum kernel_wait wait,
                 gpu_stream stream)
{
    struct context_kernel kernel = {.multiprocessors = multiprocessors()};

    if (wait == KERNEL_AFTER_ALL && !becomes_idle(loaded->context))
        return;
    kernel.function = kernels_load_one(entry->name, entry->no_work, stream);
    pthread_mutex_lock(&lock);
    loaded->kernel = kernel;
    pthread_mutex_unlock(&lock);
}

const struct context_kernel *context_kernel(gpu_context context, const struct kernel_entry *entry,
                                            enum kernel_wait wait, gpu_stream stream)
{
    struct loaded *loaded;
    bool claimed;

    pthread_mutex_lock(&lock);
    loaded = find(context, entry->name);
    if (!loaded)
        loaded = add(context, entry->name);
    claimed = loaded && claim(loaded, wait);
    pthread_mutex_unlock(&lock);
    if (claimed)
        load(loaded, entry, wait, stream);
    return context_kernel_loaded(context, entry->name);
}

const struct context_kernel *context_kernel_loaded(gpu_context context, const char *name)
{
    const struct loaded *loaded;
    const struct context_kernel *kernel;

    pthread_mutex_lock(&lock);
    loaded = find(context, name);
    kernel = loaded && loaded->kernel.function ? &loaded->kernel : NULL;
    pthread_mutex_unlock(&lock);
    return kernel;
}
