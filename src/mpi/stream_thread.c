#include "mpi/stream_thread.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <time.h>

#include "cuda/gpu.h"
#include "mpi/engine.h"
#include "mpi/gated_sends.h"
#include "mpi/library.h"
#include "mpi/on_stream.h"
#include "mpi/operation.h"
#include "mpi/pairs.h"
#include "mpi/window_remote.h"

#define ON_ITS_WAY 0.3 /* seconds, of a message */
#define WATCH_EACH 100000000 /* nanoseconds */

/* With work, but nothing happening: how long a pause between two looks is (0: it gives
 * way to others), by the time since something happened. What a look finds late costs a
 * message that much; a look costs a microsecond or two. */
static const struct {
    double until; /* seconds */
    long pause;   /* nanoseconds */
} pauses[] = {{200e-6, 0}, {10e-3, 10000}, {1e9, 50000}};

static enum { NOT_YET, RUNNING, FAILED } state;
static atomic_bool stopping;
static pthread_t thread;
static sem_t work;
static int level;

/* Somebody who has the lock makes the same steps, or is out soon. */
static void step(void)
{
    if (!library_try_lock())
        return;
    engine_progress();
    library_unlock();
}

static void rest(double since)
{
    int i = 0;

    while (since > pauses[i].until)
        i++;
    if (pauses[i].pause == 0)
        sched_yield();
    else
        nanosleep(&(struct timespec){0, pauses[i].pause}, NULL);
}

static bool has_work(void)
{
    return on_streams_busy() || window_may_be_asked() || gated_sends_pending();
}

static unsigned count_events(void)
{
    return on_streams_events() + window_serve_events();
}

/* Where streams wait for other GPUs, somebody has to look whether their processes live. */
static void wait_for_work(void)
{
    struct timespec until;

    if (!pairs_watched()) {
        sem_wait(&work);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WATCH_EACH;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    sem_timedwait(&work, &until);
}

static void *serve(void *unused)
{
    double happened = operation_clock();
    unsigned events = count_events();

    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1000ul);
    library_keep_from_mpi(level < MPI_THREAD_MULTIPLE);
    gpu_suspend_capture();
    while (!stopping) {
        if (!has_work())
            wait_for_work();
        step();
        if (count_events() != events) {
            events = count_events();
            happened = operation_clock();
        }
        rest(operation_clock() - happened);
    }
    return NULL;
}

int stream_thread_start(struct gpubind_error *err)
{
    sigset_t all, before;

    if (state == RUNNING)
        return 0;
    if (state == NOT_YET) {
        PMPI_Query_thread(&level);
        library_share();
        sem_init(&work, 0, 0);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        state = pthread_create(&thread, NULL, serve, NULL) == 0 ? RUNNING : FAILED;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return state == RUNNING ? 0 : error_set(err, "no thread can be made to serve streams");
}

void stream_thread_wake(void)
{
    int waiting = 0;

    if (sem_getvalue(&work, &waiting) == 0 && waiting <= 0)
        sem_post(&work);
}

bool stream_thread_has_mpi(void)
{
    return level == MPI_THREAD_MULTIPLE;
}

static bool is_over(const void *unused)
{
    (void)unused;
    return !on_streams_busy();
}

void stream_thread_stop(void)
{
    if (state != RUNNING)
        return;
    while (!engine_wait_for(is_over, NULL, ON_ITS_WAY))
        on_streams_give_up();
    state = FAILED;
    stopping = true;
    sem_post(&work);
    library_unlock();
    pthread_join(thread, NULL);
    library_lock();
    on_streams_clear();
}
