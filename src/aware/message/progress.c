#include "aware/message/progress.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#include "aware/base/next.h"
#include "aware/message/direct_send.h"

static bool (*_Atomic pull_receives)(void);
static bool (*_Atomic receives_are_pullable)(void);

void progress_of_receives(bool (*pull)(void), bool (*is_pullable)(void))
{
    atomic_store(&pull_receives, pull);
    atomic_store(&receives_are_pullable, is_pullable); /* which the other functions look at first */
}

static bool are_pullable(void)
{
    bool (*is_pullable)(void) = atomic_load_explicit(&receives_are_pullable, memory_order_acquire);

    return is_pullable && is_pullable();
}

bool progress_is_pending(void)
{
    return !is_behind && (direct_sends_pending() > 0 || are_pullable());
}

void progress_step(void)
{
    if (!progress_is_pending())
        return;
    while (are_pullable() && atomic_load(&pull_receives)())
        ;
    direct_sends_poll();
}

void progress_idle(unsigned spins)
{
    progress_step();
    if (spins % PROGRESS_SPINS != 0)
        return;
    progress_of_mpi();
    sched_yield();
}
