/* The thread that makes steps of progress where no thread of the application does: for what
 * streams were given, for windows, and while the application is in calls of MPI that block
 * (or, with GPUBIND_PROGRESS_THREAD=1, anywhere else). */
#include "mpi/core/progress_thread.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <time.h>

#include "gpu/copy/copy_agent.h"
#include "gpu/core/gpu_context.h"
#include "mpi/base/modules.h"
#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/core/request.h"
#include "mpi/shm/futex_wait.h"

#define ON_ITS_WAY 0.3 /* seconds, of a message */

/* With work, but nothing happening: how long a pause between two looks is (0: it gives
 * way to others), by the time since something happened. What a look finds late costs a
 * message that much; a look costs a microsecond or two. */
static const struct {
    double until; /* seconds */
    long pause;   /* nanoseconds */
} pauses[] = {{200e-6, 0}, {10e-3, 10000}, {1e9, 50000}};

/* For messages without streams: then it sleeps so long, unless another rank of the node
 * wakes it, which what comes by MPI cannot. */
#define AWAKE 10e-3
#define NAP 1e-3
#define NAP_WITH_MPI 50e-6
/* Where streams wait for other GPUs, somebody has to look whether their processes live. */
#define WATCH_EACH 0.1

static enum { NOT_YET, RUNNING, FAILED } state;
static atomic_bool stopping;
static pthread_t thread;
static struct futex_waiter own_waiter;
static struct futex_waiter *waiter = &own_waiter; /* or one in shared memory */
static bool one_bell;                             /* all ranks of the node have it */
static int level;
static bool always;        /* it helps wherever the application is */
static _Atomic int inside; /* threads of the application in calls of MPI that block */

static bool may_help(void)
{
    return always || inside > 0;
}

/* Somebody who has the lock makes the same steps, or is out soon. */
static void step(void)
{
    if (!library_try_lock()) {
        agents_unblock();
        return;
    }
    gpu_suspend_capture(); /* the application may have loaded CUDA since the thread began */
    progress_step();
    library_unlock();
}

/* All work there is moves by itself: a thread that looks all the time would only keep the application's threads
 * from the lock. */
static bool can_wait(void)
{
    for_each_module (at)
        if ((*at)->has_work && (*at)->has_work() && !((*at)->can_wait && (*at)->can_wait()))
            return false;
    return !may_help();
}

static void rest(double since)
{
    int i = can_wait() ? 1 : 0;

    while (since > pauses[i].until)
        i++;
    if (pauses[i].pause == 0)
        sched_yield();
    else
        nanosleep(&(struct timespec){0, pauses[i].pause}, NULL);
}

static bool has_work(void)
{
    for_each_module (at)
        if ((*at)->has_work && (*at)->has_work())
            return true;
    return false;
}

/* Processes of other ranks may end, and somebody has to see it. */
static bool watches(void)
{
    for_each_module (at)
        if ((*at)->watches && (*at)->watches())
            return true;
    return false;
}

static unsigned count_events(void)
{
    unsigned events = progress_count();

    for_each_module (at)
        if ((*at)->events)
            events += (*at)->events();
    return events;
}

/* How long it may sleep: 0: without end; less: not at all. */
static double sleeps(void)
{
    bool waits;

    if (stopping || has_work())
        return -1;
    if (!may_help())
        return watches() ? WATCH_EACH : 0;
    if (!library_try_lock())
        return NAP;
    waits = progress_inbox_waits();
    library_unlock();
    if (waits)
        return -1;
    if (progress_busy())
        return progress_thread_has_mpi() ? NAP_WITH_MPI : NAP;
    if (!one_bell)
        return NAP;
    return watches() ? WATCH_EACH : 0;
}

/* true: it was woken. */
static bool sleep_on(void)
{
    const uint32_t heard = futex_waiter_begin(waiter);
    const double seconds = sleeps();

    if (seconds < 0)
        futex_waiter_cancel(waiter);
    else
        futex_waiter_sleep(waiter, heard, seconds);
    return atomic_load(&waiter->rung) != heard;
}

static void *serve(void *unused)
{
    double happened = clock_seconds();
    unsigned events = count_events();

    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1000ul);
    library_help();
    library_keep_from_mpi(level < MPI_THREAD_MULTIPLE);
    while (!stopping) {
        const double since = clock_seconds() - happened;

        if (!has_work() && !(may_help() && progress_busy() && since < AWAKE))
            happened = sleep_on() ? clock_seconds() - pauses[0].until : happened;
        else
            rest(since);
        if (has_work() || may_help() || watches())
            step();
        if (count_events() != events) {
            events = count_events();
            happened = clock_seconds();
        }
    }
    return NULL;
}

static void find_bell(void)
{
    const struct domain *domain = domain_oldest();

    if (domain && domain->segment.base)
        waiter = &segment_rank_ctrl(&domain->segment, domain->segment.me)->waiter;
}

static bool start_thread(void)
{
    sigset_t all, before;

    if (state != NOT_YET)
        return state == RUNNING;
    PMPI_Query_thread(&level);
    find_bell();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    state = pthread_create(&thread, NULL, serve, NULL) == 0 ? RUNNING : FAILED;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return state == RUNNING;
}

int progress_thread_start(struct gpubind_error *err)
{
    if (state != FAILED)
        library_share();
    return start_thread() ? 0 : error_set(err, "no thread can be made to serve streams");
}

int progress_thread_help_always(struct gpubind_error *err)
{
    if (progress_thread_start(err) < 0)
        return -1;
    always = true;
    waiter->use = WAKE_FOR_ALL;
    return 0;
}

/* The application's thread has the library. What others ask from here on rings; what they
 * asked before is served first. */
void progress_thread_enter(void)
{
    int mode;

    one_bell = !domain_first() || !domain_first()->next;
    if (!start_thread())
        return;
    inside++;
    atomic_store(&waiter->use, always || progress_busy() ? WAKE_FOR_ALL : WAKE_FOR_REQUESTS);
    if (!progress_busy() && !progress_inbox_waits())
        return;
    mode = gpu_suspend_capture();
    progress_step();
    gpu_resume_capture(mode);
    if (!progress_busy())
        return;
    atomic_store(&waiter->use, WAKE_FOR_ALL);
    progress_thread_wake();
}

void progress_thread_leave(void)
{
    if (state == RUNNING && --inside == 0 && !always)
        atomic_store_explicit(&waiter->use, WAKE_FOR_NOTHING, memory_order_relaxed);
}

void progress_thread_look(void)
{
    if (may_help() && progress_busy())
        progress_thread_wake();
}

void progress_thread_wake(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&waiter->asleep, memory_order_relaxed))
        futex_waiter_wake(waiter);
}

bool progress_thread_has_mpi(void)
{
    return level == MPI_THREAD_MULTIPLE;
}

static bool is_over(const void *unused)
{
    (void)unused;
    for_each_module (at)
        if ((*at)->give_up && (*at)->has_work())
            return false;
    return true;
}

void progress_thread_stop(void)
{
    if (state != RUNNING)
        return;
    while (!progress_wait_for(is_over, NULL, ON_ITS_WAY))
        for_each_module (at)
            if ((*at)->give_up)
                (*at)->give_up();
    state = FAILED;
    stopping = true;
    futex_waiter_wake(waiter);
    library_unlock();
    pthread_join(thread, NULL);
    library_lock();
    waiter = &own_waiter;
    for_each_module (at)
        if ((*at)->thread_ended)
            (*at)->thread_ended();
}
