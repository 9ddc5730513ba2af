#include "gpu/core/context_kernels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/core/pointer_query.h"

struct loaded {
    struct loaded *next;
    gpu_context context;
    unsigned long long id; /* of the context: one that was destroyed may have had its address */
    const char *name;
    bool tried;
    unsigned asked;  /* whether the context is idle */
    gpu_event event; /* to ask by; NULL: none yet */
    struct context_kernel kernel;
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

/* No stream of the context has work. Where some always have, it is asked more and more seldom. */
static bool is_idle(struct loaded *loaded)
{
    const struct cuda_driver *cuda = gpu_driver();

    if (!cuda->cuCtxRecordEvent || gpu_legacy_work() != GPU_NO_WORK)
        return false;
    loaded->asked++;
    if ((loaded->asked & (loaded->asked - 1)) != 0)
        return false;
    if (!loaded->event && cuda->cuEventCreate(&loaded->event, GPU_EVENT_NO_TIMING) != GPU_OK)
        loaded->event = NULL;
    return loaded->event && cuda->cuCtxRecordEvent(loaded->context, loaded->event) == GPU_OK &&
           cuda->cuEventQuery(loaded->event) == GPU_OK;
}

static bool may_load(struct loaded *loaded, enum kernel_wait wait)
{
    if (loaded->tried || !kernels_are_allowed())
        return false;
    return wait == KERNEL_AFTER_ALL ? is_idle(loaded) : gpu_legacy_work() == GPU_NO_WORK;
}

static unsigned multiprocessors(void)
{
    int device, n = 0;

    if (gpu_driver()->cuCtxGetDevice(&device) != GPU_OK ||
        gpu_driver()->cuDeviceGetAttribute(&n, GPU_ATTRIBUTE_MULTIPROCESSORS, device) != GPU_OK)
        n = 0;
    return n > 0 ? (unsigned)n : 1;
}

static const struct context_kernel *kernel_in(const struct loaded *loaded)
{
    return loaded && loaded->kernel.function ? &loaded->kernel : NULL;
}

const struct context_kernel *context_kernel(gpu_context context, const struct kernel_entry *entry,
                                            enum kernel_wait wait, gpu_stream stream)
{
    struct loaded *loaded;

    pthread_mutex_lock(&lock); /* so that it is loaded once */
    loaded = find(context, entry->name);
    if (!loaded)
        loaded = add(context, entry->name);
    if (loaded && may_load(loaded, wait)) {
        loaded->tried = true;
        loaded->kernel.multiprocessors = multiprocessors();
        loaded->kernel.function = kernels_load_one(entry->name, entry->no_work, stream);
    }
    pthread_mutex_unlock(&lock);
    return kernel_in(loaded);
}

const struct context_kernel *context_kernel_loaded(gpu_context context, const char *name)
{
    const struct loaded *loaded;

    pthread_mutex_lock(&lock);
    loaded = find(context, name);
    pthread_mutex_unlock(&lock);
    return kernel_in(loaded);
}
