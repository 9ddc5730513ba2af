#include "mpi/engine.h"

#include <stdlib.h>

#include "mpi/crowd.h"
#include "mpi/freed.h"
#include "mpi/gated_sends.h"
#include "mpi/inbox.h"
#include "mpi/library.h"
#include "mpi/life.h"
#include "mpi/local_send.h"
#include "mpi/notice.h"
#include "mpi/offers.h"
#include "mpi/on_stream.h"
#include "mpi/patience.h"
#include "mpi/persistent.h"
#include "mpi/receive.h"
#include "mpi/remote.h"
#include "mpi/shares.h"
#include "mpi/stage.h"
#include "mpi/transfers.h"
#include "mpi/unexpected.h"
#include "mpi/window_remote.h"

#define SPINS_BEFORE_YIELD 2000
#define SPINS_IN_A_CROWD 0 /* the same with more ranks than CPUs */
#define SPINS_PER_MPI_CALL 500
#define TESTS_PER_MPI_CALL 32
#define NUDGES 4 /* of a long list; both of a sendrecv */

/* Mappings that a peer wants closed, but that a copy still uses. */
static struct closing {
    struct closing *next;
    struct domain *domain;
    struct peer *peer;
    struct descriptor *descriptor;
} *closings;
static _Atomic int nclosings;

static bool closed(const struct closing *closing)
{
    const uint64_t id = closing->descriptor->header.id;

    mappings_drop(closing->peer, id);
    if (mappings_hold(closing->peer, id))
        return false;
    local_acknowledge(closing->domain, closing->peer, closing->descriptor, DESCRIPTOR_DONE);
    return true;
}

static void close_mapping(struct domain *domain, struct peer *peer, struct descriptor *descriptor)
{
    struct closing *closing = malloc(sizeof *closing);

    if (!closing)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *closing = (struct closing){closings, domain, peer, descriptor};
    if (closed(closing)) {
        free(closing);
        return;
    }
    closings = closing;
    nclosings++;
}

bool engine_closes_for(const struct domain *domain)
{
    for (const struct closing *closing = closings; closing; closing = closing->next)
        if (closing->domain == domain)
            return true;
    return false;
}

static void close_mappings(void)
{
    struct closing **link = &closings;

    while (*link) {
        struct closing *closing = *link;

        if (!closed(closing)) {
            link = &closing->next;
            continue;
        }
        *link = closing->next;
        free(closing);
        nclosings--;
    }
}

static void arrive(struct domain *domain, struct peer *peer, int number, enum inbox_word word)
{
    struct descriptor *descriptor = segment_descriptor(&domain->segment, peer->local, number);
    struct arrival arrival = {.domain = domain, .peer = peer, .from = descriptor};

    operation_moved();
    if (word == INBOX_STASHED) {
        unexpected_stashed(peer, number);
        return;
    }
    if (wire_kind(&descriptor->header) == WIRE_RELEASE) {
        close_mapping(domain, peer, descriptor);
        return;
    }
    arrival.header = descriptor->header;
    offer_before(peer, arrival.header.sequence);
    peer->received++;
    match_arrival(&arrival);
}

void engine_read_inboxes(void)
{
    for (struct domain *domain = domain_first(); domain; domain = domain->next)
        inbox_read(domain, arrive);
}

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
    now = operation_clock();
    if (now - looked < LOOK_EACH)
        return;
    looked = now;
    life_look();
    patience_look_at_sent();
}

void engine_progress(void)
{
    const bool mpi = library_may_call_mpi();

    on_streams_begin();
    gated_sends_progress(mpi);
    for (struct domain *domain = domain_first(); domain; domain = domain->next) {
        inbox_read(domain, arrive);
        local_sends_progress(domain);
        if (mpi && (domain->nremote > 0 || remote_busy()))
            remote_progress(domain);
    }
    receives_progress();
    stage_sends_progress();
    if (mpi && transfers_busy())
        transfers_progress();
    if (persistent_busy())
        persistent_progress();
    window_serve_progress();
    freed_progress();
    if (closings)
        close_mappings();
    gpus_complete();
    gpu_free_laters();
    on_streams_end();
    engine_tell_peers();
    look_around();
    if (mpi)
        domains_sweep();
}

bool engine_busy(void)
{
    return operations_live() > 0 || nclosings > 0;
}

bool engine_inbox_waits(void)
{
    for (const struct domain *domain = domain_first(); domain; domain = domain->next)
        if (inbox_waits(domain))
            return true;
    return false;
}

void engine_tell_peers(void)
{
    for (struct domain *domain = domain_first(); domain; domain = domain->next)
        if (domain->unacked)
            local_tell_peers(domain);
}

/* MPI's own messages need its calls: those of the application's other ranks too. */
static void call_mpi(void)
{
    int flag;
    struct domain *domain = domain_first();

    if (domain)
        PMPI_Iprobe(MPI_ANY_SOURCE, 0, domain->shadow, &flag, MPI_STATUS_IGNORE);
}

bool engine_is_gone(struct domain *domain, const struct peer *peer)
{
    return life_is_over(domain, peer);
}

bool engine_peer_is_gone(const struct gpubind_operation *operation)
{
    return operation->peer && life_is_over(operation->domain, operation->peer);
}

/* Its peer is gone, which may have sent a message before. */
static void abandon(struct gpubind_operation *operation)
{
    engine_read_inboxes();
    if (operation->done || operation->packing) /* packing: its buffer is being read */
        return;
    if (operation->kind == OPERATION_RECEIVE)
        receive_abandon(operation);
    else if (operation->peer->local >= 0)
        local_sends_progress(operation->domain);
    else
        remote_abandon(operation);
}

/* A receive from any rank: each rank that is gone ends one, on each communicator, since nobody
 * knows whether it would have sent. */
static void look_after_any(struct gpubind_operation *receive)
{
    const int lost = receive->comm ? life_lost_rank(receive->comm) : -1;

    if (lost < 0)
        return;
    engine_read_inboxes();
    if (receive->done || !match_withdraw(receive))
        return;
    life_told(receive->comm, lost);
    operation_end(receive, MPI_ERR_OTHER, "rank %d is gone, while a message from any rank was "
                  "waited for", lost);
}

void engine_look_after(struct gpubind_operation *operation)
{
    if (operation->pair) {
        persistent_look_after(operation);
        return;
    }
    if (engine_peer_is_gone(operation))
        abandon(operation);
    else if (!operation->peer && operation->kind == OPERATION_RECEIVE)
        look_after_any(operation);
    if (!operation->done)
        patience_look(operation);
}

static void nudge(struct gpubind_operation *operation)
{
    if (operation->pair) {
        struct gpubind_operation *inner = persistent_nudge(operation);

        if (!inner)
            return;
        inner->waited = operation->waited;
        inner->started = operation->started;
        operation = inner;
    }
    if (operation->kind == OPERATION_SEND)
        local_send_nudge(operation);
    else
        offer_nudge(operation);
}

void engine_poll(void)
{
    static unsigned calls;

    engine_progress();
    if (++calls % TESTS_PER_MPI_CALL == 0)
        call_mpi();
}

static void test(struct gpubind_operation *operation)
{
    if (operation->started == 0)
        operation->started = operation_clock();
    nudge(operation);
    if (!operation->done && operation_clock() - operation->looked > LOOK_EACH) {
        operation->looked = operation_clock();
        engine_look_after(operation);
    }
}

void engine_test(struct gpubind_operation *const *operations, int n)
{
    engine_poll();
    for (int i = 0; i < n; i++)
        if (operations[i] && !operations[i]->inactive && !operations[i]->done)
            test(operations[i]);
}

struct pause {
    int spins;
    double looked;
};

/* Between two looks: lets other threads and processes run. */
static void breathe(struct pause *pause)
{
    library_breathe(++pause->spins > (crowd_is_here() ? SPINS_IN_A_CROWD : SPINS_BEFORE_YIELD));
    if (pause->spins % SPINS_PER_MPI_CALL == 0)
        call_mpi();
}

static int count_done(struct gpubind_operation *const *operations, int n, bool any)
{
    int done = 0, nudged = 0;

    for (int i = 0; i < n; i++) {
        struct gpubind_operation *operation = operations[i];

        if (operation && !operation->done) {
            nudge(operation);
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

void engine_wait(struct gpubind_operation *const *operations, int n, bool any)
{
    struct pause pause = {0, operation_clock()};
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
        engine_progress();
        if (has_news(operations, n, any, &first))
            continue;
        breathe(&pause);
        if (pause.spins % STEPS_PER_CLOCK || operation_clock() - pause.looked < LOOK_EACH)
            continue;
        pause.looked = operation_clock();
        for (int i = 0; i < n; i++)
            if (operations[i] && !operations[i]->done)
                engine_look_after(operations[i]);
    }
}

bool engine_wait_for(bool (*done)(const void *), const void *argument, double seconds)
{
    const double until = operation_clock() + seconds;
    struct pause pause = {0, 0};

    for (;;) {
        engine_progress();
        if (done(argument))
            return true;
        if (operation_clock() > until)
            return false;
        breathe(&pause);
    }
}
