#include "mpi/p2p/send_shm.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/list.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/shm_inbox.h"
#include "mpi/transport/rndv_staged_shm.h"

/* How long a small message waits for a receiver that copies it in one go, rather
 * than through the eager buffer: two copies' time. */
#define EAGER_COPY_AFTER 20e-6

static struct descriptor *descriptor_of(const struct gpubind_operation *send)
{
    const struct segment *segment = &send->domain->segment;

    return segment_descriptor(segment, segment->me, send->descriptor);
}

static char *eager_buffer_of(const struct gpubind_operation *send)
{
    const struct segment *segment = &send->domain->segment;

    return segment_eager(segment, segment->me, send->eager_buffer);
}

static void fill_header(const struct gpubind_operation *send, struct msg_header *header)
{
    struct memory_export shared;
    const bool self = send->peer->domain_rank == send->domain->rank;

    msg_sign(header, MSG_RTS);
    header->flags = (uint8_t)((send->memory.gpu ? MSG_ON_GPU : 0) | (self ? MSG_SELF : 0) |
                              (send->on_stream ? MSG_ON_STREAM : 0));
    header->context = send->comm->context;
    header->source = send->comm->rank;
    header->tag = send->tag;
    header->type = send->type;
    header->nbytes = send->nbytes;
    header->sequence = send->peer->sent++;
    header->address = send->memory.address;
    header->operation = (uint64_t)(uintptr_t)send;
    if (send->memory.gpu && !self && memory_export_of(&send->memory, &shared)) {
        header->flags |= MSG_SHAREABLE;
        header->id = shared.id;
        header->start = shared.start;
        header->size = shared.size;
        memcpy(header->handle, &shared.handle, sizeof header->handle);
    }
}

static bool have_eager_buffers(struct domain *domain)
{
    if (domain->eager_buffers == 0)
        domain->eager_buffers = segment_allocate_eager(&domain->segment) ? 1 : -1;
    return domain->eager_buffers > 0;
}

/* An eager buffer for its data, which another descriptor lends it if need be. */
static bool take_eager_buffer(struct gpubind_operation *send)
{
    struct domain *domain = send->domain;

    if (send->eager_buffer < 0 && have_eager_buffers(domain)) {
        if (send->descriptor < domain->segment.neager)
            send->eager_buffer = send->descriptor;
        else if (domain->nfree_eager > 0)
            send->eager_buffer = domain_take_descriptor(domain, true);
    }
    return send->eager_buffer >= 0;
}

static bool may_be_eager(const struct gpubind_operation *send)
{
    return !send->release && !send->synchronous &&
           send->nbytes <= (send->memory.gpu ? (uint64_t)library_settings()->eager : EAGER_BYTES);
}

/* Host data that fit are given away at once. */
static bool goes_at_once(struct gpubind_operation *send)
{
    return !send->release && !send->synchronous && send->order != ORDER_DEFERRED &&
           (send->nbytes == 0 ||
            (!send->memory.gpu && send->nbytes <= EAGER_BYTES && take_eager_buffer(send)));
}

static int take_descriptor(struct domain *domain, struct peer *peer, bool with_eager)
{
    const int left = domain->segment.ndescriptors - domain->used, share = domain_share(domain);
    int number = -1;

    if (peer->used < share || left > domain->owed)
        number = domain_take_descriptor(domain, with_eager);
    if (number < 0)
        return -1;
    domain->owed -= peer->used++ < share;
    domain->used++;
    return number;
}

static void give_descriptor(struct gpubind_operation *send)
{
    struct domain *domain = send->domain;

    if (send->eager_buffer >= 0 && send->eager_buffer != send->descriptor)
        domain_give_descriptor(domain, send->eager_buffer);
    domain_give_descriptor(domain, send->descriptor);
    domain->owed += --send->peer->used < domain_share(domain);
    domain->used--;
}

static void fill_descriptor(const struct gpubind_operation *send, bool at_once)
{
    struct descriptor *descriptor = descriptor_of(send);
    const bool failed = send->result != MPI_SUCCESS; /* its packing */

    atomic_store_explicit(&descriptor->ready, send->order == ORDER_DONE || failed,
                          memory_order_relaxed);
    atomic_store_explicit(&descriptor->filled, 0, memory_order_relaxed);
    atomic_store_explicit(&descriptor->drained, 0, memory_order_relaxed);
    atomic_store_explicit(&descriptor->failed, failed, memory_order_relaxed);
    descriptor->mapped = 0;
    descriptor->eager_buffer = send->eager_buffer < 0 ? 0 : send->eager_buffer;
    atomic_store_explicit(&descriptor->state, at_once ? DESCRIPTOR_EAGER_READY : DESCRIPTOR_RTS,
                          memory_order_release);
}

/* It is small, and waits until its receiver has taken others out of their eager buffers. */
static bool has_no_eager_buffer(const struct gpubind_operation *send)
{
    return send->domain->nfree_eager == 0 && send->eager_buffer < 0 && send->nbytes > 0 &&
           may_be_eager(send);
}

/* A rank that has messages under way looks from time to time; one that has none sleeps
 * until it is asked for something, so that must not be missed. */
static void tell_of(const struct gpubind_operation *send)
{
    const bool request = send->release || (send->comm && send->comm->of) ||
                         has_no_eager_buffer(send);

    if (request)
        atomic_thread_fence(memory_order_seq_cst);
    inbox_ring(send->domain, send->peer, request ? WAKE_FOR_REQUESTS : WAKE_FOR_ALL);
}

/* false: no descriptor is free for it, or its receiver's ring is full. */
static bool publish(struct gpubind_operation *send)
{
    struct domain *domain = send->domain;
    struct msg_header header = {0};
    bool at_once;

    if (!inbox_has_room(domain, send->peer))
        return false;
    send->descriptor = take_descriptor(domain, send->peer, may_be_eager(send));
    if (send->descriptor < 0)
        return false;
    at_once = goes_at_once(send);
    if (send->release)
        release_fill(send->release, &header);
    else
        fill_header(send, &header);
    if (at_once)
        header.flags |= MSG_EAGER;
    descriptor_of(send)->header = header;
    if (at_once && send->nbytes > 0)
        memcpy(eager_buffer_of(send), send->buffer, send->nbytes);
    fill_descriptor(send, at_once);
    inbox_put(domain, send->peer, send->descriptor, INBOX_MESSAGE);
    tell_of(send);
    send->next = domain->sends;
    domain->sends = send;
    domain->look_again |= send->peer->gone;
    domain->unordered |= send->order == ORDER_OPEN;
    trace(TRACE_P2P, "send %u: announced in descriptor %d%s", send->number, send->descriptor,
          at_once ? ", with its data" : "");
    if (at_once)
        request_succeed(send);
    return true;
}

/* Its receiver is gone. true, as follow: nothing of it is under way any more. */
static bool abandon(struct gpubind_operation *send)
{
    if (send->packing || (send->staging && !staged_send_rests(send))) {
        send->domain->look_again = true;
        return false;
    }
    if (!send->done)
        request_complete(send, MPI_ERR_OTHER, "rank %d is gone", send->rank);
    staged_send_end(send);
    return true;
}

/* true: the descriptor is free again. */
static bool follow(struct gpubind_operation *send)
{
    struct descriptor *descriptor = descriptor_of(send);

    if (send->peer->gone)
        return abandon(send);
    switch (atomic_load_explicit(&descriptor->state, memory_order_acquire)) {
    case DESCRIPTOR_FIN:
        if (send->packing) { /* the buffer is read until then */
            send->domain->look_again = true;
            return false;
        }
        staged_send_end(send);
        if (descriptor->mapped)
            ipc_refs_note(send->domain, descriptor->header.id, send->peer->local);
        if (!send->done && atomic_load(&descriptor->failed))
            request_fail(send);
        else if (!send->done)
            request_succeed(send);
        return true;
    case DESCRIPTOR_CTS:
        if (!send->staging) {
            trace(TRACE_P2P, "send %u: to be staged through shared memory", send->number);
            staged_send_start(send, descriptor);
        }
        return false;
    default: /* a receiver that has left has closed its mappings, and takes nothing more */
        return (send->done || send->release) &&
               segment_has_left(&send->domain->segment, send->peer->local);
    }
}

static void follow_all(struct domain *domain)
{
    static bool busy; /* memory that is freed below may be announced as freed to others */
    struct gpubind_operation **link = &domain->sends, *send;

    if (busy) {
        domain->look_again = true;
        return;
    }
    busy = true;
    while ((send = *link)) {
        if (!follow(send)) {
            link = &send->next;
            continue;
        }
        *link = send->next;
        give_descriptor(send);
        if (send->release)
            release_answered(send->release);
        request_release(send);
    }
    busy = false;
}

/* What receivers have given back. */
static void reclaim(struct domain *domain)
{
    const uint64_t acks = atomic_load_explicit(
        &segment_rank_ctrl(&domain->segment, domain->segment.me)->acks, memory_order_acquire);

    if (acks == domain->acks_seen && !domain->look_again)
        return;
    domain->acks_seen = acks;
    domain->look_again = false;
    follow_all(domain);
}

static void queue(struct gpubind_operation *send)
{
    struct domain *domain = send->domain;
    struct peer *peer = send->peer;

    if (QUEUE_EMPTY(&peer->queued)) {
        peer->next_queued = domain->queued;
        domain->queued = peer;
    }
    trace(TRACE_P2P, "send %u: waits for a descriptor, or room in the ring", send->number);
    QUEUE_PUSH(&peer->queued, send, next);
}

/* Its receiver is gone, and it was not announced. */
static void refuse(struct gpubind_operation *send)
{
    if (!send->done)
        request_complete(send, MPI_ERR_OTHER, "rank %d is gone", send->rank);
    if (send->release)
        release_answered(send->release);
    request_release(send);
}

void send_shm(struct gpubind_operation *send)
{
    struct domain *domain = send->domain;

    send->held = true;
    if (send->peer->gone && !send->packing) {
        refuse(send);
        return;
    }
    if (domain->nfree_eager == 0 && may_be_eager(send))
        reclaim(domain);
    if (!QUEUE_EMPTY(&send->peer->queued) || !publish(send))
        queue(send);
}

static bool is_refused(struct gpubind_operation *send)
{
    if (!send->peer->gone || send->packing)
        return false;
    refuse(send);
    return true;
}

/* It comes after work of the GPU. true: no more, or it has ended with an error, of which the
 * receiver is told. */
static bool come_in_order(struct gpubind_operation *send)
{
    struct descriptor *descriptor = descriptor_of(send);
    const int ordered = request_check_order(send);

    if (ordered < 0)
        atomic_store(&descriptor->failed, 1);
    if (ordered != 0)
        atomic_store_explicit(&descriptor->ready, 1, memory_order_release);
    return ordered != 0;
}

/* Also those that nobody waits for yet: their receivers do. */
static void order_sends(struct domain *domain)
{
    domain->unordered = false;
    for (struct gpubind_operation *send = domain->sends; send; send = send->next)
        if (send->order == ORDER_OPEN && !send->done && !come_in_order(send))
            domain->unordered = true;
}

/* In their order, for each rank. */
static void publish_queued(struct domain *domain)
{
    struct peer **link = &domain->queued, *peer;

    while ((peer = *link)) {
        struct gpubind_operation *send;

        while ((send = peer->queued.first)) {
            struct gpubind_operation *next = send->next; /* publish links it elsewhere */

            if (!is_refused(send) && !publish(send))
                break;
            peer->queued.first = next;
        }
        if (send)
            link = &peer->next_queued;
        else
            *link = peer->next_queued;
    }
}

void send_shm_progress(struct domain *domain)
{
    if (!domain->segment.base)
        return;
    reclaim(domain);
    if (domain->queued)
        publish_queued(domain);
    if (domain->unordered)
        order_sends(domain);
}

static void copy_to_eager(struct gpubind_operation *send, struct descriptor *descriptor)
{
    const struct copy copy = {.to = (gpu_address)(uintptr_t)eager_buffer_of(send),
                              .from = send->memory.address,
                              .nbytes = send->nbytes,
                              .ends = COPY_TO_HOST};
    uint32_t sent = DESCRIPTOR_RTS;
    struct gpubind_error err;

    if (!atomic_compare_exchange_strong(&descriptor->state, &sent, DESCRIPTOR_EAGER_COPY))
        return;
    descriptor->eager_buffer = send->eager_buffer;
    if (send->memory.gpu && send->nbytes > 0)
        domain_pin(send->domain, send->domain->segment.me, SEGMENT_EAGER);
    if (!send->memory.gpu) {
        memcpy(eager_buffer_of(send), send->buffer, send->nbytes);
    } else if (send->nbytes > 0 && copy_now(send->memory.gpu, GPU_OUT, &copy, &err) < 0) {
        /* The receiver still can take it, or fails itself. */
        request_complete(send, MPI_ERR_OTHER, "%s", err.text);
        atomic_store(&descriptor->failed, 1);
    }
    atomic_store_explicit(&descriptor->state, DESCRIPTOR_EAGER_READY, memory_order_release);
    inbox_put(send->domain, send->peer, send->descriptor, INBOX_EAGER_READY);
    trace(TRACE_P2P, "send %u: not taken yet, its data are in eager buffer %d", send->number,
          send->eager_buffer);
    request_succeed(send);
}

void send_shm_ready(struct gpubind_operation *send, bool good)
{
    struct descriptor *descriptor;

    if (send->descriptor < 0)
        return;
    descriptor = descriptor_of(send);
    if (!good)
        atomic_store(&descriptor->failed, 1);
    atomic_store_explicit(&descriptor->ready, 1, memory_order_release);
}

void send_shm_nudge(struct gpubind_operation *send)
{
    struct descriptor *descriptor;

    if (send->descriptor < 0 || send->done || send->order == ORDER_DEFERRED)
        return;
    descriptor = descriptor_of(send);
    if (send->order != ORDER_DONE && (!come_in_order(send) || send->done))
        return;
    if (may_be_eager(send) &&
        atomic_load_explicit(&descriptor->state, memory_order_relaxed) == DESCRIPTOR_RTS &&
        clock_seconds() - send->started > EAGER_COPY_AFTER &&
        inbox_has_room(send->domain, send->peer) && take_eager_buffer(send))
        copy_to_eager(send, descriptor);
}
