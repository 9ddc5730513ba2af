#include "mpi/local_send.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/bell.h"
#include "mpi/library.h"
#include "mpi/shares.h"
#include "mpi/stage.h"

/* How long a small message waits for a receiver that copies it in one go, rather
 * than through the slot: two copies' time. */
#define STASH_AFTER 20e-6

static struct descriptor *descriptor_of(const struct gpubind_operation *send)
{
    const struct segment *segment = &send->domain->segment;

    return segment_descriptor(segment, segment->me, send->descriptor);
}

static char *slot_of(const struct gpubind_operation *send)
{
    const struct segment *segment = &send->domain->segment;

    return segment_slot(segment, segment->me, send->descriptor);
}

void local_acknowledge(struct domain *domain, struct peer *peer, struct descriptor *descriptor,
                       enum descriptor_state state)
{
    atomic_store_explicit(&descriptor->state, state, memory_order_release);
    if (peer->unacked)
        return;
    peer->unacked = true;
    peer->next_unacked = domain->unacked;
    domain->unacked = peer;
}

static void ring(const struct domain *domain, const struct peer *peer, enum bell_use use)
{
    struct bell *bell = &segment_station(&domain->segment, peer->local)->bell;

    if (atomic_load_explicit(&bell->use, memory_order_relaxed) >= (uint32_t)use &&
        atomic_load_explicit(&bell->asleep, memory_order_relaxed))
        bell_ring(bell);
}

void local_tell_peers(struct domain *domain)
{
    while (domain->unacked) {
        struct peer *peer = domain->unacked;

        domain->unacked = peer->next_unacked;
        peer->unacked = false;
        atomic_fetch_add(&segment_station(&domain->segment, peer->local)->acks, 1);
        ring(domain, peer, BELL_FOR_ALL);
    }
}

/* The receiver's inbox takes every descriptor there is, so there is always room. */
static _Atomic uint64_t *reserve_in_inbox(const struct domain *domain, const struct peer *peer)
{
    const struct segment *segment = &domain->segment;
    uint64_t at = atomic_fetch_add(&segment_station(segment, peer->local)->tail, 1);

    return &segment_inbox(segment, peer->local)[at & (segment->inbox_entries - 1)];
}

static void fill_header(const struct gpubind_operation *send, struct wire_header *header)
{
    struct memory_export shared;
    const bool self = send->peer->domain_rank == send->domain->rank;

    wire_sign(header, WIRE_MESSAGE);
    header->flags = (uint8_t)((send->memory.gpu ? WIRE_ON_GPU : 0) | (self ? WIRE_SELF : 0) |
                              (send->on_stream ? WIRE_ON_STREAM : 0));
    header->context = send->comm->context;
    header->source = send->comm->rank;
    header->tag = send->tag;
    header->type = send->type;
    header->nbytes = send->nbytes;
    header->sequence = send->peer->sent++;
    header->address = send->memory.address;
    if (send->memory.gpu && !self && memory_share(&send->memory, &shared)) {
        header->flags |= WIRE_SHAREABLE;
        header->id = shared.id;
        header->start = shared.start;
        header->size = shared.size;
        memcpy(header->handle, &shared.handle, sizeof header->handle);
    }
}

static bool have_slots(struct domain *domain)
{
    if (domain->slots == 0)
        domain->slots = segment_reserve_slots(&domain->segment) ? 1 : -1;
    return domain->slots > 0;
}

static bool has_slot(const struct gpubind_operation *send)
{
    return send->descriptor < send->domain->segment.nslots && have_slots(send->domain);
}

static bool may_be_stashed(const struct gpubind_operation *send)
{
    return (send->memory.gpu || send->on_stream) &&
           send->nbytes <= (uint64_t)library_settings()->eager;
}

/* Host data that fit are given away at once. */
static bool goes_at_once(const struct gpubind_operation *send)
{
    return !send->release && send->order != ORDER_GATED &&
           (send->nbytes == 0 ||
            (!send->memory.gpu && has_slot(send) && send->nbytes <= EAGER_BYTES));
}

/* A rank that has messages under way looks from time to time; one that has none sleeps
 * until it is asked for something, so that must not be missed. */
static void tell_of(const struct gpubind_operation *send)
{
    const bool request = send->release || (send->comm && send->comm->of);

    if (request)
        atomic_thread_fence(memory_order_seq_cst);
    ring(send->domain, send->peer, request ? BELL_FOR_REQUESTS : BELL_FOR_ALL);
}

/* false: no descriptor is free. */
static bool publish(struct gpubind_operation *send)
{
    struct domain *domain = send->domain;
    struct descriptor *descriptor;
    struct wire_header header = {0};
    _Atomic uint64_t *place;
    const bool failed = send->result != MPI_SUCCESS; /* its packing */
    bool at_once;

    send->descriptor = domain_take_descriptor(domain, may_be_stashed(send) ||
                                                          (!send->memory.gpu &&
                                                           send->nbytes <= EAGER_BYTES));
    if (send->descriptor < 0)
        return false;
    at_once = goes_at_once(send);
    if (send->release)
        release_fill(send->release, &header);
    else
        fill_header(send, &header);
    if (at_once)
        header.flags |= WIRE_EAGER;
    /* Others' messages wait behind a reserved place; and reserving waits for all that
     * was written to shared memory before. So between the two. */
    place = reserve_in_inbox(domain, send->peer);
    descriptor = descriptor_of(send);
    descriptor->header = header;
    atomic_store_explicit(&descriptor->ready, send->order == ORDER_DONE || failed,
                          memory_order_relaxed);
    atomic_store_explicit(&descriptor->filled, 0, memory_order_relaxed);
    atomic_store_explicit(&descriptor->drained, 0, memory_order_relaxed);
    atomic_store_explicit(&descriptor->failed, failed, memory_order_relaxed);
    descriptor->mapped = 0;
    if (at_once && send->nbytes > 0)
        memcpy(slot_of(send), send->buffer, send->nbytes);
    atomic_store_explicit(&descriptor->state, at_once ? DESCRIPTOR_STASHED : DESCRIPTOR_SENT,
                          memory_order_release);
    atomic_store_explicit(place, (uint64_t)(domain->segment.me + 1) << 32 |
                                     (uint64_t)send->descriptor, memory_order_release);
    tell_of(send);
    send->next = domain->sends;
    domain->sends = send;
    if (at_once)
        operation_good(send);
    return true;
}

void local_send(struct gpubind_operation *send)
{
    struct domain *domain = send->domain;

    send->held = true;
    if (!domain->queued && publish(send))
        return;
    send->next = NULL;
    *domain->queued_end = send;
    domain->queued_end = &send->next;
}

/* true: the descriptor is free again. */
static bool follow(struct gpubind_operation *send)
{
    struct descriptor *descriptor = descriptor_of(send);

    switch (atomic_load_explicit(&descriptor->state, memory_order_acquire)) {
    case DESCRIPTOR_DONE:
        if (send->packing) { /* the buffer is read until then */
            send->domain->look_again = true;
            return false;
        }
        stage_send_end(send);
        if (descriptor->mapped)
            shares_note(send->domain, descriptor->header.id, send->peer->local);
        if (atomic_load(&descriptor->failed) && !send->done)
            operation_failed(send);
        send->done = true;
        return true;
    case DESCRIPTOR_STAGE:
        if (!send->staging)
            stage_send_start(send, descriptor);
        return false;
    default:
        return false;
    }
}

void local_sends_progress(struct domain *domain)
{
    struct gpubind_operation **link = &domain->sends, *send;
    uint64_t acks;

    if (!domain->segment.base)
        return;
    acks = atomic_load_explicit(&segment_station(&domain->segment, domain->segment.me)->acks,
                                memory_order_acquire);
    if (acks != domain->acks_seen || domain->look_again) {
        domain->acks_seen = acks;
        domain->look_again = false;
        while ((send = *link)) {
            if (!follow(send)) {
                link = &send->next;
                continue;
            }
            *link = send->next;
            domain_give_descriptor(domain, send->descriptor);
            if (send->release)
                release_answered(send->release);
            operation_let_go(send);
        }
    }
    while (domain->queued && (domain->nslotted > 0 || domain->nplain > 0)) {
        send = domain->queued;
        domain->queued = send->next;
        if (!domain->queued)
            domain->queued_end = &domain->queued;
        publish(send);
    }
}

static void stash(struct gpubind_operation *send, struct descriptor *descriptor)
{
    struct copy copy = {.to = (cuda_address)(uintptr_t)slot_of(send),
                        .from = send->memory.address, .nbytes = send->nbytes};
    uint32_t sent = DESCRIPTOR_SENT;
    struct gpubind_error err;

    if (!atomic_compare_exchange_strong(&descriptor->state, &sent, DESCRIPTOR_STASHING))
        return;
    if (send->memory.gpu && send->nbytes > 0)
        domain_pin(send->domain, send->domain->segment.me);
    if (!send->memory.gpu) {
        memcpy(slot_of(send), send->buffer, send->nbytes);
    } else if (send->nbytes > 0 && copy_now(send->memory.gpu, GPU_OUT, &copy, &err) < 0) {
        /* The receiver still can take it, or fails itself. */
        operation_end(send, MPI_ERR_OTHER, "%s", err.text);
        atomic_store(&descriptor->failed, 1);
    }
    atomic_store_explicit(&descriptor->state, DESCRIPTOR_STASHED, memory_order_release);
    operation_good(send);
}

void local_send_ready(struct gpubind_operation *send, bool good)
{
    struct descriptor *descriptor;

    if (send->descriptor < 0)
        return;
    descriptor = descriptor_of(send);
    if (!good)
        atomic_store(&descriptor->failed, 1);
    atomic_store_explicit(&descriptor->ready, 1, memory_order_release);
}

void local_send_nudge(struct gpubind_operation *send)
{
    struct descriptor *descriptor;

    if (send->descriptor < 0 || send->done || send->order == ORDER_GATED)
        return;
    descriptor = descriptor_of(send);
    if (send->order != ORDER_DONE) {
        if (operation_ordered(send) < 0) { /* it ends with an error; the receiver too */
            atomic_store(&descriptor->failed, 1);
            atomic_store_explicit(&descriptor->ready, 1, memory_order_release);
        }
        if (send->order != ORDER_DONE)
            return;
        atomic_store_explicit(&descriptor->ready, 1, memory_order_release);
    }
    if (may_be_stashed(send) &&
        atomic_load_explicit(&descriptor->state, memory_order_relaxed) == DESCRIPTOR_SENT &&
        operation_clock() - send->started > STASH_AFTER && has_slot(send))
        stash(send, descriptor);
}
