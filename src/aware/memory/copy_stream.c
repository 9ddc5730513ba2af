#include "aware/memory/copy_stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "aware/base/setting.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_stream.h"
#include "gpu/core/pointer_query.h"

struct context_stream {
    struct context_stream *next;
    gpu_context context;
    unsigned long long id; /* of the context: one that was destroyed may have had its address */
    gpu_stream ordered, unordered; /* NULL: not made yet */
};

static struct context_stream *streams;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool copies_are_ordered(void)
{
    static _Atomic int ordered = SETTING_UNKNOWN;

    return setting_switch("GPUBIND_ORDER", true, &ordered);
}

static struct context_stream *find(gpu_context context)
{
    struct context_stream *found = streams;

    while (found && found->context != context)
        found = found->next;
    return found;
}

static struct context_stream *add(gpu_context context)
{
    struct context_stream *added = calloc(1, sizeof *added);

    if (added) {
        added->next = streams;
        added->context = context;
        streams = added;
    }
    return added;
}

/* The lock is held. */
static gpu_stream find_or_make(gpu_context context, unsigned long long id, bool ordered)
{
    struct context_stream *found = find(context);
    gpu_stream *stream;

    if (!found)
        found = add(context);
    if (!found)
        return NULL;
    if (found->id != id)
        found->ordered = found->unordered = NULL;
    found->id = id;
    stream = ordered ? &found->ordered : &found->unordered;
    if (!*stream && gpu_stream_make(ordered && copies_are_ordered(), stream) != GPU_OK)
        *stream = NULL;
    return *stream;
}

static gpu_stream stream_of(gpu_context context, bool ordered)
{
    const unsigned long long id = context_number(context);
    gpu_stream stream;

    pthread_mutex_lock(&lock);
    stream = find_or_make(context, id, ordered);
    pthread_mutex_unlock(&lock);
    return stream;
}

gpu_stream copy_stream(gpu_context context)
{
    return stream_of(context, true);
}

gpu_stream copy_stream_unordered(gpu_context context)
{
    return stream_of(context, false);
}
