/* Sleeping on a futex in shared memory. */
#include "mpi/shm/futex_wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void futex_waiter_wake(struct futex_waiter *waiter)
{
    atomic_fetch_add(&waiter->rung, 1);
    syscall(SYS_futex, &waiter->rung, FUTEX_WAKE, 1, NULL, NULL, 0);
}

uint32_t futex_waiter_begin(struct futex_waiter *waiter)
{
    const uint32_t heard = atomic_load(&waiter->rung);

    atomic_store(&waiter->asleep, 1);
    return heard;
}

void futex_waiter_sleep(struct futex_waiter *waiter, uint32_t heard, double seconds)
{
    const struct timespec limit = {(time_t)seconds,
                                   (long)(1e9 * (seconds - (double)(time_t)seconds))};

    syscall(SYS_futex, &waiter->rung, FUTEX_WAIT, heard, seconds > 0 ? &limit : NULL, NULL, 0);
    futex_waiter_cancel(waiter);
}

void futex_waiter_cancel(struct futex_waiter *waiter)
{
    atomic_store(&waiter->asleep, 0);
}
