/* Who is in the library: one thread at a time. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "mpi/library.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/* Threads that want the lock, and how often it was taken. */
static _Atomic unsigned waiting, turns;
static bool alone;              /* only one thread calls at a time */
static _Thread_local int depth; /* times that this thread has the lock */
static _Thread_local bool no_mpi;

/* Below MPI_THREAD_MULTIPLE no two threads are in the library at once, and a locked
 * operation waits for all that was written to shared memory before it. */
void library_lock(void)
{
    if (alone)
        return;
    atomic_fetch_add(&waiting, 1);
    pthread_mutex_lock(&lock);
    atomic_fetch_sub(&waiting, 1);
    atomic_fetch_add(&turns, 1);
    depth++;
}

bool library_try_lock(void)
{
    if (atomic_load(&waiting) > 0 || pthread_mutex_trylock(&lock) != 0)
        return false;
    atomic_fetch_add(&turns, 1);
    depth++;
    return true;
}

void library_unshare(bool one_thread)
{
    alone = one_thread;
}

void library_share(void)
{
    if (!alone)
        return;
    alone = false;
    library_lock();
}

void library_keep_from_mpi(bool kept)
{
    no_mpi = kept;
}

bool library_may_call_mpi(void)
{
    return !no_mpi;
}

void library_unlock(void)
{
    if (depth == 0)
        return;
    depth--;
    pthread_mutex_unlock(&lock);
}

/* The mutex alone would hardly ever let another thread in. */
void library_breathe(bool for_long)
{
    const unsigned before = atomic_load(&turns);

    if (alone) {
        if (for_long)
            sched_yield();
        return;
    }
    if (!for_long && atomic_load(&waiting) == 0)
        return;
    library_unlock();
    if (for_long)
        sched_yield();
    while (atomic_load(&waiting) > 0 && atomic_load(&turns) == before)
        sched_yield();
    library_lock();
}
