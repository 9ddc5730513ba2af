#include "mpi/p2p/stream_receive.h"

#include <string.h>

#include "core/base/list.h"
#include "mpi/base/trace.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/shm_inbox.h"
#include "mpi/p2p/rndv_put.h"
#include "mpi/p2p/send_descriptor.h"
#include "mpi/p2p/stream_slots.h"
#include "mpi/p2p/tag_match.h"

static struct stream_receive *at(struct stream_receives *list, uint64_t i)
{
    return &list->receives[i % STREAM_RECEIVES];
}

/* ---- the receiver */

/* NULL: there is no memory. */
static struct stream_receives *list_for(const struct domain *domain, struct peer *peer)
{
    const struct segment *segment = &domain->segment;
    struct rtr *rtr = segment_rtr(segment, segment->me, peer->local);

    if (peer->stream_receives)
        return peer->stream_receives;
    if (!segment_allocate_stream_receives(segment, peer->local))
        return NULL;
    peer->stream_receives = segment_stream_receives(segment, segment->me, peer->local);
    stream_receives_note(peer);
    atomic_store_explicit(&rtr->has_stream_receives, 1, memory_order_release);
    return peer->stream_receives;
}

void stream_receives_note(struct peer *peer)
{
    if (peer->stream_receives)
        atomic_store_explicit(&peer->stream_receives->received, peer->received,
                              memory_order_release);
}

/* A message of the peer could match none of those posted before it, but for advertised ones. */
static bool is_next(const struct gpubind_operation *receive)
{
    const struct gpubind_operation *posted = receive->comm->posted.first;

    for (; posted && posted != receive; posted = posted->next)
        if ((!posted->peer || posted->peer == receive->peer) && !posted->stream_receive)
            return false;
    return posted;
}

static void describe(gpu_address at, const struct memory_export *shared,
                     struct stream_receive *entry)
{
    entry->address = at;
    entry->id = shared->id;
    entry->start = shared->start;
    entry->size = shared->size;
    memcpy(entry->handle, &shared->handle, sizeof entry->handle);
}

static bool describe_memory(const struct gpubind_operation *receive, struct stream_receive *entry)
{
    struct memory_export shared;

    entry->has_slot = receive->slot.arena != NULL;
    if (entry->has_slot) {
        gpu_slot_export(&receive->slot, &shared);
        describe(receive->slot.at, &shared, entry);
        entry->slot_value = receive->slot.value;
    }
    if (receive->landed.gpu)
        return true;
    if (!rndv_may_copy(receive) || !memory_export_of(&receive->memory, &shared))
        return false;
    describe(receive->memory.address, &shared, entry);
    /* Its end may be seen here after the application has freed the memory. */
    ipc_refs_note(receive->domain, shared.id, shared.start, shared.size, receive->peer->local);
    return true;
}

void stream_receive_post(struct gpubind_operation *receive)
{
    struct stream_receives *list = list_for(receive->domain, receive->peer);
    struct stream_receive *entry;
    uint64_t end;

    if (!list || !is_next(receive))
        return;
    end = atomic_load_explicit(&list->end, memory_order_relaxed);
    entry = at(list, end);
    if (end - atomic_load_explicit(&list->first, memory_order_relaxed) == STREAM_RECEIVES ||
        !describe_memory(receive, entry))
        return;
    stream_slots_grant(receive);
    entry->context = receive->comm->context;
    entry->tag = receive->tag;
    entry->capacity = receive->nbytes;
    entry->gate = receive->gate;
    entry->landing = receive->landing;
    atomic_store_explicit(&entry->state, RTR_OPEN, memory_order_release);
    atomic_store_explicit(&list->end, end + 1, memory_order_release);
    receive->stream_receive = entry;
    trace(TRACE_P2P, "receive %u: advertised to the streams of rank %d", receive->number,
          receive->rank);
}

/* It is in the list no more; what is over before all others gives its room back. */
static void leave(struct gpubind_operation *receive)
{
    struct stream_receives *list = receive->peer->stream_receives;
    const uint64_t end = atomic_load_explicit(&list->end, memory_order_relaxed);
    uint64_t first = atomic_load_explicit(&list->first, memory_order_relaxed);

    atomic_store_explicit(&receive->stream_receive->state, RTR_NONE, memory_order_release);
    receive->stream_receive = NULL;
    while (first != end &&
           atomic_load_explicit(&at(list, first)->state, memory_order_relaxed) == RTR_NONE)
        first++;
    atomic_store(&list->first, first);
}

bool stream_receive_cancel(struct gpubind_operation *receive)
{
    uint32_t open = RTR_OPEN;

    if (!receive->stream_receive)
        return true;
    if (!atomic_compare_exchange_strong(&receive->stream_receive->state, &open, RTR_NONE))
        return false;
    leave(receive);
    return true;
}

void stream_receive_forget(struct gpubind_operation *receive)
{
    if (!receive->stream_receive)
        return;
    gpu_slot_retire(&receive->slot); /* its GPU may write there yet */
    leave(receive);
}

void stream_receive_progress(struct gpubind_operation *receive)
{
    const struct stream_receive *entry = receive->stream_receive;
    uint32_t state;

    if (!entry || receive->done)
        return;
    state = atomic_load_explicit(&entry->state, memory_order_acquire);
    if (state != RTR_DONE && state != RTR_FAILED)
        return;
    receive->source = receive->rank;
    receive->got_tag = entry->got_tag;
    receive->got_bytes = entry->nbytes;
    receive->got_type = entry->got_type;
    receive->got_on_gpu = true;
    match_withdraw(receive);
    leave(receive);
    if (state == RTR_FAILED)
        gpu_slot_retire(&receive->slot);
    if (state == RTR_DONE)
        request_succeed(receive);
    else
        request_complete(receive, MPI_ERR_OTHER, "the sender's copy failed");
}

/* ---- the sender */

static bool is_for(const struct gpubind_operation *send, const struct stream_receive *entry)
{
    return entry->context == send->comm->context &&
           (entry->tag == MPI_ANY_TAG || entry->tag == send->tag);
}

/* What comes to an eager buffer is copied from there whole. What goes to GPU memory waits for the receiver's
 * stream, which small sends and nonblocking ones do not. */
static bool has_room(const struct gpubind_operation *send, const struct stream_receive *entry)
{
    if (entry->landing >= 0 || entry->has_slot)
        return send->nbytes == entry->capacity && (entry->landing >= 0 || send->launches);
    return send->waited && send->nbytes <= entry->capacity && !send_may_be_eager(send) &&
           rndv_may_copy(send);
}

/* Fields read before may belong to two receives, and the entry to a later one than i: all is checked again. */
static bool take(const struct gpubind_operation *send, struct stream_receives *list, uint64_t i)
{
    struct stream_receive *entry = at(list, i);
    uint32_t open = RTR_OPEN;

    if (!atomic_compare_exchange_strong(&entry->state, &open, RTR_MATCHED))
        return false;
    if (atomic_load(&list->first) <= i && is_for(send, entry) && has_room(send, entry))
        return true;
    atomic_store_explicit(&entry->state, RTR_OPEN, memory_order_release);
    return false;
}

/* NULL: this rank's streams have been told of no receive there. */
static struct stream_receives *list_of(const struct gpubind_operation *send)
{
    const struct segment *segment = &send->domain->segment;
    const struct rtr *rtr = segment_rtr(segment, send->peer->local, segment->me);

    if (!atomic_load_explicit(&rtr->has_stream_receives, memory_order_acquire))
        return NULL;
    return segment_stream_receives(segment, send->peer->local, segment->me);
}

bool stream_receive_match(struct gpubind_operation *send)
{
    struct stream_receives *list = list_of(send);
    uint64_t end;

    if (!list || !QUEUE_EMPTY(&send->peer->queued) ||
        atomic_load_explicit(&list->received, memory_order_acquire) != send->peer->sent)
        return false;
    end = atomic_load_explicit(&list->end, memory_order_acquire);
    for (uint64_t i = atomic_load(&list->first); i < end; i++) {
        struct stream_receive *entry = at(list, i);

        if (atomic_load_explicit(&entry->state, memory_order_acquire) != RTR_OPEN ||
            !is_for(send, entry))
            continue;
        if (!has_room(send, entry) || !take(send, list, i))
            return false;
        send->stream_receive = entry;
        return true;
    }
    return false;
}

void stream_receive_reopen(struct gpubind_operation *send)
{
    atomic_store_explicit(&send->stream_receive->state, RTR_OPEN, memory_order_release);
    send->stream_receive = NULL;
}

void stream_receive_end(struct gpubind_operation *send, bool good)
{
    struct stream_receive *entry = send->stream_receive;

    entry->nbytes = send->nbytes;
    entry->got_tag = send->tag;
    entry->got_type = send->type;
    send->stream_receive = NULL;
    atomic_store_explicit(&entry->state, good ? RTR_DONE : RTR_FAILED, memory_order_release);
    inbox_ring(send->domain, send->peer, WAKE_FOR_ALL);
}
