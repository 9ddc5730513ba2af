#include "mpi/p2p/send_shm.h"

#include "core/base/list.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/shm_inbox.h"
#include "mpi/p2p/send_descriptor.h"
#include "mpi/transport/rndv_staged_shm.h"

/* How long a small message in GPU memory waits for a receiver that copies it directly, rather than
 * through an eager buffer: the time of two copies. */
#define EAGER_COPY_AFTER 20e-6

/* It is small, and waits until its receiver has taken others out of their eager buffers. */
static bool has_no_eager_buffer(const struct gpubind_operation *send)
{
    return send->domain->nfree_eager == 0 && send->eager_buffer < 0 && send->nbytes > 0 &&
           send_may_be_eager(send);
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
    bool with_data;

    if (!inbox_has_room(domain, send->peer) || !send_descriptor_take(send))
        return false;
    with_data = send_descriptor_fill(send);
    inbox_put(domain, send->peer, send->descriptor, INBOX_MESSAGE);
    tell_of(send);
    send->next = domain->sends;
    domain->sends = send;
    domain->look_again |= send->peer->gone;
    domain->unordered |= send->order == ORDER_OPEN;
    trace(TRACE_P2P, "send %u: announced in descriptor %d%s", send->number, send->descriptor,
          with_data ? ", with its data" : "");
    if (with_data)
        request_succeed(send);
    return true;
}

/* The application's buffer is being read, or will be, by packing or by the stream that copies it to an eager
 * buffer. */
static bool is_being_read(const struct gpubind_operation *send)
{
    return send->packing ||
           (send->order == ORDER_DEFERRED && send_descriptor_of(send)->eager_by_stream);
}

/* Its receiver is gone. true, as follow: nothing of it is under way any more. */
static bool abandon(struct gpubind_operation *send)
{
    if (is_being_read(send) || (send->staging && !staged_send_rests(send))) {
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
    struct descriptor *descriptor = send_descriptor_of(send);

    if (send->peer->gone)
        return abandon(send);
    switch (atomic_load_explicit(&descriptor->state, memory_order_acquire)) {
    case DESCRIPTOR_FIN:
        if (is_being_read(send)) {
            send->domain->look_again = true;
            return false;
        }
        staged_send_end(send);
        if (descriptor->mapped && !send->gate.came) /* else it was noted before */
            ipc_refs_note(send->domain, descriptor->header.id, descriptor->header.start,
                          descriptor->header.size, send->peer->local);
        if (!send->done && atomic_load(&descriptor->failed))
            request_fail(send);
        else if (!send->done)
            request_succeed(send);
        return true;
    case DESCRIPTOR_CTS:
        if (!send->staging) {
            trace(TRACE_P2P, "send %u: to be staged through shared memory", send->number);
            request_went(send, TRACE_STAGED);
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
        send_descriptor_give(send);
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
    if (domain->nfree_eager == 0 && send_may_be_eager(send))
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
    struct descriptor *descriptor = send_descriptor_of(send);
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

void send_shm_ready(struct gpubind_operation *send, bool good)
{
    struct descriptor *descriptor;

    if (send->descriptor < 0)
        return;
    descriptor = send_descriptor_of(send);
    if (!good)
        atomic_store(&descriptor->failed, 1);
    atomic_store_explicit(&descriptor->ready, 1, memory_order_release);
}

void send_shm_nudge(struct gpubind_operation *send)
{
    struct descriptor *descriptor;

    if (send->descriptor < 0 || send->done || send->order == ORDER_DEFERRED)
        return;
    descriptor = send_descriptor_of(send);
    if (send->order != ORDER_DONE && (!come_in_order(send) || send->done))
        return;
    if (send_may_be_eager(send) &&
        atomic_load_explicit(&descriptor->state, memory_order_relaxed) == DESCRIPTOR_RTS &&
        clock_seconds() - send->started > EAGER_COPY_AFTER &&
        inbox_has_room(send->domain, send->peer) && send_take_eager_buffer(send))
        send_copy_to_eager(send);
}
