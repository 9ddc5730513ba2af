#include "mpi/engine.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "mpi/gated_sends.h"
#include "mpi/library.h"
#include "mpi/local_send.h"
#include "mpi/notice.h"
#include "mpi/offers.h"
#include "mpi/on_stream.h"
#include "mpi/persistent.h"
#include "mpi/receive.h"
#include "mpi/remote.h"
#include "mpi/shares.h"
#include "mpi/stage.h"
#include "mpi/transfers.h"
#include "mpi/window_remote.h"

#define SPINS_BEFORE_YIELD 2000
#define SPINS_PER_MPI_CALL 500
#define NUDGES 4 /* of a long list; both of a sendrecv */
#define LONELY_AFTER 10.0 /* seconds until a send says that nobody receives it */

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

static void arrive(struct domain *domain, int local, int number)
{
    struct descriptor *descriptor = segment_descriptor(&domain->segment, local, number);
    struct peer *peer = &domain->peers[domain->of_local[local]];
    struct arrival arrival = {.domain = domain, .peer = peer, .from = descriptor};

    operation_moved();
    if (wire_kind(&descriptor->header) == WIRE_RELEASE) {
        close_mapping(domain, peer, descriptor);
        return;
    }
    arrival.header = descriptor->header;
    offer_before(peer, arrival.header.sequence);
    peer->received++;
    match_arrival(&arrival);
}

static void read_inbox(struct domain *domain)
{
    const struct segment *segment = &domain->segment;
    _Atomic uint64_t *inbox;

    if (!segment->base)
        return;
    inbox = segment_inbox(segment, segment->me);
    for (;;) {
        _Atomic uint64_t *place = &inbox[domain->inbox_read & (segment->inbox_entries - 1)];
        uint64_t entry = atomic_load_explicit(place, memory_order_acquire);

        if (entry == 0)
            return;
        atomic_store_explicit(place, 0, memory_order_relaxed);
        domain->inbox_read++;
        arrive(domain, (int)(entry >> 32) - 1, (int)(entry & 0xffffffff));
    }
}

void engine_read_inboxes(void)
{
    for (struct domain *domain = domain_first(); domain; domain = domain->next)
        read_inbox(domain);
}

void engine_progress(void)
{
    const bool mpi = library_may_call_mpi();
    bool remote = false; /* there are ranks that only MPI reaches */

    on_streams_begin();
    gated_sends_progress(mpi);
    for (struct domain *domain = domain_first(); domain; domain = domain->next) {
        remote |= domain->nremote > 0;
        read_inbox(domain);
        local_sends_progress(domain);
        if (mpi && (domain->nremote > 0 || remote_busy()))
            remote_progress(domain);
    }
    receives_progress();
    stage_sends_progress();
    if (mpi && transfers_busy())
        transfers_progress();
    if ((mpi || !remote) && persistent_busy()) /* it may start messages to other nodes */
        persistent_progress();
    window_serve_progress();
    if (closings)
        close_mappings();
    gpu_free_laters();
    on_streams_end();
    engine_tell_peers();
}

bool engine_busy(void)
{
    return operations_live() > 0 || nclosings > 0;
}

static bool inbox_waits(const struct domain *domain)
{
    const struct segment *segment = &domain->segment;

    return segment->base &&
           atomic_load_explicit(&segment_inbox(segment, segment->me)
                                    [domain->inbox_read & (segment->inbox_entries - 1)],
                                memory_order_acquire) != 0;
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

bool engine_is_gone(const struct domain *domain, const struct peer *peer)
{
    const struct station *its = segment_station(&domain->segment, peer->local);
    const struct station *mine = segment_station(&domain->segment, domain->segment.me);

    return its->pid_space == mine->pid_space && its->pid > 0 && kill(its->pid, 0) < 0 &&
           errno == ESRCH;
}

bool engine_peer_is_gone(const struct gpubind_operation *operation)
{
    const struct peer *peer = operation->peer;

    return peer && peer->local >= 0 && engine_is_gone(operation->domain, peer);
}

void engine_look_after(struct gpubind_operation *operation)
{
    if (engine_peer_is_gone(operation) && operation->pair) {
        persistent_abandon(operation);
        return;
    }
    if (engine_peer_is_gone(operation)) {
        if (operation->packing) /* its buffer is being read */
            return;
        match_withdraw(operation);
        offer_withdraw(operation);
        operation_end(operation, MPI_ERR_OTHER, "rank %d is gone", operation->rank);
        return;
    }
    if (operation->kind == OPERATION_SEND && operation->comm &&
        operation_clock() - operation->started > LONELY_AFTER)
        notice_once(NOTICE_WAITING, "a message to rank %d with tag %d waits since %.0f s for "
                    "MPI_GPURecv or another receive of gpubind", operation->rank, operation->tag,
                    LONELY_AFTER);
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

void engine_test(struct gpubind_operation *operation)
{
    engine_progress();
    if (operation->started == 0)
        operation->started = operation_clock();
    if (!operation->done)
        nudge(operation);
}

struct pause {
    int spins;
    double looked;
};

/* Between two looks: lets other threads and processes run. */
static void breathe(struct pause *pause)
{
    library_breathe(++pause->spins > SPINS_BEFORE_YIELD);
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

void engine_wait(struct gpubind_operation *const *operations, int n, bool any)
{
    struct pause pause = {0, operation_clock()};

    for (int i = 0; i < n; i++)
        if (operations[i]) {
            operations[i]->waited = true;
            operations[i]->started = pause.looked;
        }
    for (;;) {
        int done = count_done(operations, n, any);

        if (any ? done > 0 : done == n)
            return;
        engine_progress();
        breathe(&pause);
        if (pause.spins % 1024 || operation_clock() - pause.looked < 0.1)
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

static bool is_settled(const void *gpu)
{
    return !(gpu_is_held() || window_may_be_asked()) || gpu_legacy_is_idle(gpu, NULL) != 0;
}

static bool is_served(const void *gpu)
{
    return !gpu_is_awaited() || gpu_legacy_is_idle(gpu, NULL) != 0;
}

void engine_settle(const struct gpu *gpu, bool blocking)
{
    bool (*done)(const void *) = blocking ? is_settled : is_served;

    while (!done(gpu))
        engine_wait_for(done, gpu, 3600);
}
