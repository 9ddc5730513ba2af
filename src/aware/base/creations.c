#include "aware/base/creations.h"

#include <pthread.h>

#include "aware/base/next.h"
#include "aware/base/start.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t may_begin = PTHREAD_COND_INITIALIZER;
static int ncreations, nown;

bool creation_begin(void)
{
    if (is_behind || !aware_is_on())
        return false;
    pthread_mutex_lock(&lock);
    while (nown > 0)
        pthread_cond_wait(&may_begin, &lock);
    ncreations++;
    pthread_mutex_unlock(&lock);
    return true;
}

void creation_end(const bool *counts)
{
    if (!*counts)
        return;
    pthread_mutex_lock(&lock);
    ncreations--;
    pthread_mutex_unlock(&lock);
}

bool creation_own_begin(void)
{
    bool begins;

    pthread_mutex_lock(&lock);
    begins = ncreations == 0;
    nown += begins;
    pthread_mutex_unlock(&lock);
    return begins;
}

void creation_own_end(void)
{
    pthread_mutex_lock(&lock);
    if (--nown == 0)
        pthread_cond_broadcast(&may_begin);
    pthread_mutex_unlock(&lock);
}
