/* Who is in the library: one thread at a time. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "mpi/core/context.h"
#include "mpi/shm/oversubscribed.h"

#define TRIES_BEFORE_YIELD 100 /* 2 to 3 us */
#define ROUNDS_BEFORE_SLEEP 16

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/* Threads that want the lock, and how often it was taken. */
static _Atomic unsigned waiting, turns;
static atomic_bool alone;       /* only one thread calls at a time */
static _Thread_local int depth; /* times that this thread has the lock */

/* While alone is true the mutex is unused: the calling thread owns the library, except
 * where it has lent it, around a call of MPI that may block; then the progress thread may
 * take it. A callback of MPI (of an attribute, of an error handler) recalls it. */
enum { OWNED, LENT, TAKEN };
static _Atomic unsigned owner;
static _Thread_local int recalled; /* times that this thread, which had lent it, wants it */
static _Thread_local bool helps;   /* this is the progress thread, */
static _Thread_local int taken;    /* and has it so many times */
static _Thread_local bool no_mpi;

static bool take_lent(void)
{
    unsigned lent = LENT;

    return atomic_compare_exchange_strong(&owner, &lent, TAKEN);
}

static void lock_alone(void)
{
    if (helps) {
        while (taken == 0 && !take_lent())
            sched_yield();
        taken++;
    } else if (recalled > 0) {
        recalled++;
    } else if (atomic_load_explicit(&owner, memory_order_relaxed) != OWNED) {
        library_take_back();
        recalled = 1;
    }
}

/* A thread has the lock for a few microseconds, mostly, and a sleep takes longer. The thread may have no other CPU
 * than this one. */
static void take(void)
{
    const int rounds = is_oversubscribed() ? 0 : ROUNDS_BEFORE_SLEEP;

    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < TRIES_BEFORE_YIELD; i++)
            if (pthread_mutex_trylock(&lock) == 0)
                return;
        sched_yield();
    }
    pthread_mutex_lock(&lock);
}

/* Below MPI_THREAD_MULTIPLE no two threads are in the library at once, and a locked
 * operation waits for all that was written to shared memory before it. */
void library_lock(void)
{
    if (alone) {
        lock_alone();
        return;
    }
    if (pthread_mutex_trylock(&lock) != 0) {
        atomic_fetch_add(&waiting, 1);
        take();
        atomic_fetch_sub(&waiting, 1);
    }
    atomic_fetch_add(&turns, 1);
    depth++;
}

void library_lend(void)
{
    if (alone)
        atomic_store(&owner, LENT);
}

void library_take_back(void)
{
    unsigned lent = LENT;

    while (!atomic_compare_exchange_strong(&owner, &lent, OWNED)) {
        if (lent == OWNED)
            return;
        lent = LENT;
        sched_yield();
    }
}

bool library_try_lock(void)
{
    if (alone && !helps)
        library_lock();
    if (alone && helps)
        taken += taken > 0 || take_lent();
    if (alone)
        return !helps || taken > 0;
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
    pthread_mutex_lock(&lock); /* before the progress thread may */
    depth++;
    recalled = 0;
    alone = false;
}

void library_keep_from_mpi(bool kept)
{
    no_mpi = kept;
}

void library_help(void)
{
    helps = true;
}

bool library_may_call_mpi(void)
{
    return !no_mpi;
}

void library_unlock(void)
{
    if (taken > 0) {
        if (--taken == 0)
            atomic_store(&owner, LENT);
        return;
    }
    if (recalled > 0 && --recalled == 0)
        library_lend();
    if (depth == 0)
        return;
    depth--;
    pthread_mutex_unlock(&lock);
}

/* The mutex alone would hardly ever let another thread in. */
void library_yield(bool for_long)
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
