#include "aware/memory/attached.h"

#include <pthread.h>
#include <stdlib.h>

#include "aware/base/next.h"
#include "aware/memory/gpu_buffer.h"
#include "core/base/list.h"

struct attached {
    struct attached *next;
    void *user, *host;
};

static QUEUE_OF(struct attached) all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *attached_begin(void *user, size_t nbytes)
{
    struct attached *attached;

    if (!gpu_is_in_use() || !buffer_is_on_gpu(user))
        return user;
    attached = calloc(1, sizeof *attached);
    if (!attached)
        return NULL;
    attached->user = user;
    attached->host = malloc(nbytes);
    if (!attached->host) {
        free(attached);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    QUEUE_PUSH(&all, attached, next);
    pthread_mutex_unlock(&lock);
    return attached->host;
}

void *attached_end(void *host)
{
    struct attached *attached;
    void *user = host;

    if (is_behind)
        return host;
    pthread_mutex_lock(&lock);
    attached = all.first;
    while (attached && attached->host != host)
        attached = attached->next;
    if (attached)
        QUEUE_REMOVE(&all, attached, next);
    pthread_mutex_unlock(&lock);
    if (attached) {
        user = attached->user;
        free(attached->host);
        free(attached);
    }
    return user;
}
