#include "mpi/core/progress.h"

#include "mpi/base/modules.h"
#include "mpi/core/context.h"
#include "mpi/core/peer_alive.h"
#include "mpi/core/shm_inbox.h"
#include "mpi/shm/oversubscribed.h"

#define SPINS_BEFORE_YIELD 2000
#define SPINS_IN_A_CROWD 0 /* the same with more ranks than CPUs */
#define SPINS_PER_MPI_CALL 500
#define TESTS_PER_MPI_CALL 32
#define NUDGES 4 /* of a long list; both of a sendrecv */

#define LOOK_EACH 0.1 /* seconds */
#define STEPS_PER_CLOCK 128

/* At processes that may have ended, and at what waits for long. */
static void look_around(void)
{
    static unsigned steps;
    static double looked;
    double now;

    if (++steps % STEPS_PER_CLOCK)
        return;
    now = clock_seconds();
    if (now - looked < LOOK_EACH)
        return;
    looked = now;
    peers_check();
    for_each_module (at)
        if ((*at)->look_around)
            (*at)->look_around();
}

void progress_step(void)
{
    const bool mpi = library_may_call_mpi();

    for_each_module (at)
        if ((*at)->progress)
            (*at)->progress(mpi);
    gpus_load_kernels();
    gpu_free_retry();
    for_each_module (at)
        if ((*at)->progress_end)
            (*at)->progress_end();
    progress_notify_peers();
    look_around();
    if (mpi)
        domains_sweep();
}

bool progress_busy(void)
{
    return requests_live() > 0;
}

bool progress_inbox_waits(void)
{
    for (const struct domain *domain = domain_first(); domain; domain = domain->next)
        if (inbox_waits(domain))
            return true;
    return false;
}

void progress_notify_peers(void)
{
    for (struct domain *domain = domain_first(); domain; domain = domain->next)
        if (domain->unacked)
            inbox_notify_peers(domain);
}

/* MPI's own messages need its calls: those of the application's other ranks too. */
static void call_mpi(void)
{
    int flag;
    struct domain *domain = domain_first();

    if (domain)
        PMPI_Iprobe(MPI_ANY_SOURCE, 0, domain->shadow, &flag, MPI_STATUS_IGNORE);
}

bool peer_is_gone(struct domain *domain, const struct peer *peer)
{
    return peer_check(domain, peer);
}

bool request_peer_is_gone(const struct gpubind_operation *operation)
{
    return operation->peer && peer_check(operation->domain, operation->peer);
}

void progress_poll(void)
{
    static unsigned calls;

    progress_step();
    if (++calls % TESTS_PER_MPI_CALL == 0)
        call_mpi();
}

static void test(struct gpubind_operation *operation)
{
    if (operation->started == 0)
        operation->started = clock_seconds();
    operation->ops->nudge(operation);
    if (!operation->done && clock_seconds() - operation->looked > LOOK_EACH) {
        operation->looked = clock_seconds();
        operation->ops->look_after(operation);
    }
}

void progress_test(struct gpubind_operation *const *operations, int n)
{
    progress_poll();
    for (int i = 0; i < n; i++)
        if (operations[i] && !operations[i]->inactive && !operations[i]->done)
            test(operations[i]);
}

struct pause {
    unsigned spins;
    double looked;
};

/* Between two looks: lets other threads and processes run. */
static void breathe(struct pause *pause)
{
    library_yield(pause->spins > (is_oversubscribed() ? SPINS_IN_A_CROWD : SPINS_BEFORE_YIELD));
    if (++pause->spins % SPINS_PER_MPI_CALL == 0)
        call_mpi();
}

static int count_done(struct gpubind_operation *const *operations, int n, bool any)
{
    int done = 0, nudged = 0;

    for (int i = 0; i < n; i++) {
        struct gpubind_operation *operation = operations[i];

        if (operation && !operation->done) {
            operation->ops->nudge(operation);
            nudged++;
        }
        if (!operation || operation->inactive ? !any : operation->done)
            done++;
        else if (!any && nudged == NUDGES)
            break; /* the others' turn comes */
    }
    return done;
}

/* It is done, or nobody started it. */
static bool is_over(const struct gpubind_operation *operation)
{
    return !operation || operation->inactive || operation->done;
}

/* Some of them are over now: no pause before they are looked at. */
static bool has_news(struct gpubind_operation *const *operations, int n, bool any, int *first)
{
    const int before = *first;

    while (!any && *first < n && is_over(operations[*first]))
        ++*first;
    for (int i = 0; any && i < n; i++)
        if (operations[i] && !operations[i]->inactive && operations[i]->done)
            return true;
    return *first > before;
}

void progress_wait(struct gpubind_operation *const *operations, int n, bool any)
{
    struct pause pause = {0, clock_seconds()};
    int first = 0; /* of a wait for all: those before it are over */

    for (int i = 0; i < n; i++)
        if (operations[i]) {
            operations[i]->waited = true;
            operations[i]->started = pause.looked;
        }
    for (;;) {
        int done = first + count_done(operations + first, n - first, any);

        if (any ? done > 0 : done == n)
            return;
        progress_step();
        if (has_news(operations, n, any, &first))
            continue;
        breathe(&pause);
        if (pause.spins % STEPS_PER_CLOCK || clock_seconds() - pause.looked < LOOK_EACH)
            continue;
        pause.looked = clock_seconds();
        for (int i = 0; i < n; i++)
            if (operations[i] && !operations[i]->done)
                operations[i]->ops->look_after(operations[i]);
    }
}

bool progress_wait_for(bool (*done)(const void *), const void *argument, double seconds)
{
    const double until = clock_seconds() + seconds;
    struct pause pause = {0, 0};

    for (;;) {
        progress_step();
        if (done(argument))
            return true;
        if (clock_seconds() > until)
            return false;
        breathe(&pause);
    }
}
