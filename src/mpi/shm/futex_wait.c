#include "mpi/shm/futex_wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void bell_ring(struct bell *bell)
{
    atomic_fetch_add(&bell->rung, 1);
    syscall(SYS_futex, &bell->rung, FUTEX_WAKE, 1, NULL, NULL, 0);
}

uint32_t bell_lie_down(struct bell *bell)
{
    const uint32_t heard = atomic_load(&bell->rung);

    atomic_store(&bell->asleep, 1);
    return heard;
}

void bell_sleep(struct bell *bell, uint32_t heard, double seconds)
{
    const struct timespec limit = {(time_t)seconds,
                                   (long)(1e9 * (seconds - (double)(time_t)seconds))};

    syscall(SYS_futex, &bell->rung, FUTEX_WAIT, heard, seconds > 0 ? &limit : NULL, NULL, 0);
    bell_stay_up(bell);
}

void bell_stay_up(struct bell *bell)
{
    atomic_store(&bell->asleep, 0);
}
