#include "mpi/core/shm_inbox.h"

#include "mpi/shm/futex_wait.h"

/* An entry is never 0, which a place without one has. */
static uint64_t entry_of(int descriptor, enum inbox_event word)
{
    return (uint64_t)(descriptor + 1) << 1 | (uint64_t)word;
}

static _Atomic uint64_t *place(const struct segment *segment, int receiver, int sender,
                               uint64_t number)
{
    return &segment_ring(segment, receiver, sender)[number & (segment->ring_entries - 1)];
}

bool inbox_has_room(const struct domain *domain, const struct peer *peer)
{
    const struct segment *segment = &domain->segment;

    return atomic_load_explicit(place(segment, peer->local, segment->me, peer->put),
                                memory_order_acquire) == 0;
}

void inbox_put(struct domain *domain, struct peer *peer, int descriptor, enum inbox_event word)
{
    const struct segment *segment = &domain->segment;
    _Atomic uint64_t *at = place(segment, peer->local, segment->me, peer->put);

    if (peer->put++ == 0) /* the receiver looks for an entry in this ring until it has one */
        atomic_fetch_add(&segment_rank_ctrl(segment, peer->local)->senders, 1);
    atomic_store_explicit(at, entry_of(descriptor, word), memory_order_release);
}

/* Ranks that have announced their first message since. One that was killed before its entry was
 * there is looked for from then on. */
static void find_senders(struct domain *domain)
{
    const struct segment *segment = &domain->segment;

    for (int local = 0; local < segment->n; local++) {
        struct peer *peer = &domain->peers[domain->of_local[local]];

        if (peer->sends || atomic_load(place(segment, segment->me, local, 0)) == 0)
            continue;
        peer->sends = true;
        peer->next_sender = domain->senders;
        domain->senders = peer;
        domain->nsenders++;
    }
}

/* At most as many entries as there are places: a sender that is faster than this rank must not
 * keep it from the others. */
static void read_ring(struct domain *domain, struct peer *peer,
                      void (*take)(struct domain *, struct peer *, int, enum inbox_event))
{
    const struct segment *segment = &domain->segment;

    for (uint64_t i = 0; i < segment->ring_entries; i++) {
        _Atomic uint64_t *at = place(segment, segment->me, peer->local, peer->got);
        const uint64_t entry = atomic_load_explicit(at, memory_order_acquire);

        if (entry == 0)
            return;
        atomic_store_explicit(at, 0, memory_order_release);
        peer->got++;
        take(domain, peer, (int)(entry >> 1) - 1, (enum inbox_event)(entry & 1));
    }
}

bool inbox_waits(const struct domain *domain)
{
    const struct segment *segment = &domain->segment;

    if (!segment->base)
        return false;
    if (atomic_load_explicit(&segment_rank_ctrl(segment, segment->me)->senders,
                             memory_order_acquire) > domain->nsenders)
        return true;
    for (const struct peer *peer = domain->senders; peer; peer = peer->next_sender)
        if (atomic_load_explicit(place(segment, segment->me, peer->local, peer->got),
                                 memory_order_acquire) != 0)
            return true;
    return false;
}

void inbox_read(struct domain *domain,
                void (*take)(struct domain *, struct peer *, int, enum inbox_event))
{
    const struct segment *segment = &domain->segment;

    if (!segment->base)
        return;
    if (atomic_load_explicit(&segment_rank_ctrl(segment, segment->me)->senders,
                             memory_order_acquire) > domain->nsenders)
        find_senders(domain);
    for (struct peer *peer = domain->senders; peer; peer = peer->next_sender)
        read_ring(domain, peer, take);
}

void inbox_acknowledge(struct domain *domain, struct peer *peer, struct descriptor *descriptor,
                       enum descriptor_state state)
{
    atomic_store_explicit(&descriptor->state, state, memory_order_release);
    if (peer->unacked)
        return;
    peer->unacked = true;
    peer->next_unacked = domain->unacked;
    domain->unacked = peer;
}

void inbox_ring(const struct domain *domain, const struct peer *peer, enum wake_use use)
{
    struct futex_waiter *waiter = &segment_rank_ctrl(&domain->segment, peer->local)->waiter;

    if (atomic_load_explicit(&waiter->use, memory_order_relaxed) >= (uint32_t)use &&
        atomic_load_explicit(&waiter->asleep, memory_order_relaxed))
        futex_waiter_wake(waiter);
}

void inbox_notify_peers(struct domain *domain)
{
    while (domain->unacked) {
        struct peer *peer = domain->unacked;

        domain->unacked = peer->next_unacked;
        peer->unacked = false;
        atomic_fetch_add(&segment_rank_ctrl(&domain->segment, peer->local)->acks, 1);
        inbox_ring(domain, peer, WAKE_FOR_ALL);
    }
}
