#include "mpi/p2p/rndv_put.h"

#include <string.h>

#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/log.h"
#include "mpi/core/peer_alive.h"
#include "mpi/core/progress.h"
#include "mpi/core/trace.h"
#include "mpi/core/transport.h"
#include "mpi/datatype/iov_advert.h"
#include "mpi/datatype/pack.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/tag_match.h"

/* A sender looks this long for an offer that is about to be made: its receiver may
 * have come from the same exchange. */
#define LOOK_FOR 0.4e-6
#define LOOKS_AT_LIFE 100000 /* of a wait for a copy that its sender has begun */

static bool may_copy(const struct gpubind_operation *operation)
{
    return operation->memory.gpu && operation->memory.shareable && operation->peer &&
           transport_reaches(TRANSPORT_IPC, operation->domain, operation->peer);
}

/* ---- the receiver */

void offer_make(struct gpubind_operation *receive)
{
    const struct segment *segment = &receive->domain->segment;
    struct memory_export shared;
    struct layout layout = {.run = 0};
    struct offer *offer;

    /* Nobody else may want the peer's next message. */
    if (!may_copy(receive) || receive->peer->offering || receive->comm->posted != receive ||
        receive->next || !memory_share(&receive->memory, &shared))
        return;
    offer = segment_offer(segment, segment->me, receive->peer->local);
    offer->iov_name = 0;
    if (receive->pack && !pack_layout(receive->pack, &layout) &&
        !iov_advert_publish(receive, offer))
        return;
    offer->context = receive->comm->context;
    offer->tag = receive->tag;
    offer->sequence = receive->peer->received;
    offer->capacity = receive->nbytes;
    offer->strided = receive->pack != NULL;
    offer->layout = layout;
    offer->address = receive->memory.address;
    offer->id = shared.id;
    offer->start = shared.start;
    offer->size = shared.size;
    memcpy(offer->handle, &shared.handle, sizeof offer->handle);
    offer->mapped = 0;
    atomic_store_explicit(&offer->ready, receive->order == ORDER_DONE, memory_order_relaxed);
    atomic_store_explicit(&offer->state, OFFER_OPEN, memory_order_release);
    trace(TRACE_P2P, "receive %u: its buffer is advertised to rank %d", receive->number,
          receive->rank);
    receive->offer = offer;
    receive->peer->offering = receive;
    offer_nudge(receive);
}

static void close_offer(struct gpubind_operation *receive)
{
    if (receive->offer->mapped)
        shares_note(receive->domain, receive->offer->id, receive->peer->local);
    atomic_store_explicit(&receive->offer->state, OFFER_NONE, memory_order_release);
    iov_advert_withdraw(receive);
    receive->offer = NULL;
    receive->peer->offering = NULL;
}

void offer_withdraw(struct gpubind_operation *receive)
{
    if (receive->offer)
        close_offer(receive);
}

bool offer_take_back(struct gpubind_operation *receive)
{
    uint32_t open = OFFER_OPEN;

    if (!receive->offer)
        return true;
    if (!atomic_compare_exchange_strong(&receive->offer->state, &open, OFFER_NONE))
        return false;
    close_offer(receive);
    return true;
}

/* The sender has put a message into the buffer, or failed to. */
static void take_message(struct gpubind_operation *receive, bool good)
{
    const struct offer *offer = receive->offer;

    receive->source = receive->rank;
    receive->got_tag = offer->got_tag;
    receive->got_bytes = offer->nbytes;
    receive->got_type = offer->got_type;
    receive->got_on_gpu = true;
    receive->peer->received++;
    match_withdraw(receive);
    close_offer(receive);
    if (good)
        operation_good(receive);
    else
        operation_end(receive, MPI_ERR_OTHER, "the sender's copy failed");
}

void offer_nudge(struct gpubind_operation *receive)
{
    uint32_t state;

    if (!receive->offer)
        return;
    state = atomic_load_explicit(&receive->offer->state, memory_order_acquire);
    if (state == OFFER_DONE || state == OFFER_FAILED) {
        take_message(receive, state == OFFER_DONE);
        return;
    }
    if (receive->order == ORDER_DONE)
        return;
    if (operation_ordered(receive) < 0) { /* nobody may write to the buffer */
        receive->done = false;
        state = OFFER_OPEN;
        if (atomic_compare_exchange_strong(&receive->offer->state, &state, OFFER_NONE)) {
            receive->order = ORDER_OPEN; /* it ends with its message, whose sender waits */
            offer_withdraw(receive);
            return;
        }
        receive->order = ORDER_DONE; /* taken: the sender waits for us to be ready */
    }
    if (receive->order == ORDER_DONE)
        atomic_store_explicit(&receive->offer->ready, 1, memory_order_release);
}

void offer_before(struct peer *peer, uint64_t sequence)
{
    struct gpubind_operation *receive = peer->offering;
    unsigned looks = 0;

    /* The number says that the offer was taken; its copy ends soon. */
    while (receive && peer->offering == receive && sequence > peer->received) {
        offer_nudge(receive);
        if (peer->offering == receive && ++looks % LOOKS_AT_LIFE == 0 &&
            life_is_over(receive->domain, peer))
            receive_abandon(receive);
    }
}

/* ---- the sender */

/* A kernel finds its way at both ends; the sender's regular ones may be very many pieces. */
static bool can_place(const struct gpubind_operation *send)
{
    uint64_t n = 0;
    int64_t extent;

    if (send->pack)
        pack_type_name(send->pack, &n, &extent);
    return n <= IOV_ADVERT_MAX && gather_has_kernel(send->memory.gpu);
}

static bool fits(const struct gpubind_operation *send, const struct offer *offer)
{
    struct layout layout;

    return offer->sequence == send->peer->sent && offer->context == send->comm->context &&
           (offer->tag == MPI_ANY_TAG || offer->tag == send->tag) &&
           offer->capacity >= send->nbytes &&
           (offer->iov_name ? can_place(send)
                          : !offer->strided || !send->pack || pack_layout(send->pack, &layout));
}

/* What is read before it is taken may be half of one offer and half of the next. */
static bool take(const struct gpubind_operation *send, struct offer *offer)
{
    uint32_t open = OFFER_OPEN;

    if (atomic_load_explicit(&offer->state, memory_order_acquire) != OFFER_OPEN ||
        !fits(send, offer) ||
        !atomic_compare_exchange_strong(&offer->state, &open, OFFER_TAKEN))
        return false;
    if (fits(send, offer))
        return true;
    atomic_store_explicit(&offer->state, OFFER_OPEN, memory_order_release);
    return false;
}

static struct mapping *map_offer(const struct gpubind_operation *send, const struct offer *offer)
{
    struct memory_export shared = {offer->id, offer->start, offer->size, {{0}}};
    struct gpubind_error err;
    struct mapping *mapping;

    memcpy(&shared.handle, offer->handle, sizeof shared.handle);
    if (!mapping_possible(send->peer, &shared, send->memory.gpu))
        return NULL;
    mapping = mapping_open(send->peer, &shared, send->memory.gpu, &err);
    if (memory_has_handle(&shared))
        send->peer->ipc_works = mapping;
    if (!mapping) {
        send->peer->no_ipc = true;
        warn_once(WARN_IPC, "%s (rank %d); messages to there go through host memory", err.text,
                  send->rank);
    }
    return mapping;
}

/* Strided data at either end, or both. */
static int copy_strided(struct gpubind_operation *send, const struct offer *offer,
                        const struct mapping *mapping, struct gather *pieces,
                        struct gpubind_error *err)
{
    const struct gather_end there = {pieces, mapping_address(mapping, offer->address)};
    struct layout from = {.address = send->memory.address, .run = send->nbytes,
                          .count = {1, 1, 1}};
    struct layout to = offer->layout;
    struct gpu *gpu = send->memory.gpu;
    int status;

    to.address = mapping_address(mapping, to.address);
    if (pieces)
        status = pack_gather_to(send, &there, err);
    else if (offer->strided && (!send->pack || pack_layout(send->pack, &from)))
        status = layout_copy(gpu, gpu->streams[GPU_OUT], &to, &from, send->nbytes, err);
    else
        status = pack_gather(send, there.address, err);
    if (copies_wait(gpu, GPU_OUT, status == 0 ? err : NULL) < 0)
        status = -1;
    return status;
}

static bool is_ready(const void *offer)
{
    return atomic_load_explicit(&((const struct offer *)offer)->ready, memory_order_acquire);
}

static int copy_to(struct gpubind_operation *send, struct offer *offer,
                   const struct mapping *mapping, bool in_pieces, struct gpubind_error *err)
{
    struct gather *pieces = NULL;
    struct copy copy = {mapping_address(mapping, offer->address), send->memory.address,
                        send->nbytes, true};

    while (!is_ready(offer) && !progress_wait_for(is_ready, offer, 0.1)) /* work that may need another message */
        if (life_is_over(send->domain, send->peer))
            return error_set(err, "rank %d is gone", send->rank);
    while (operation_ordered(send) == 0) {
        progress_step();
        library_breathe(false);
    }
    if (send->result != MPI_SUCCESS) {
        *err = send->error;
        return -1;
    }
    if (in_pieces) { /* others may have had theirs in place of these meanwhile */
        pieces = iov_advert_read(send->domain, send->peer, offer);
        if (!pieces)
            return error_set(err, "there is no memory for the receiver's datatype");
    }
    if (offer->strided || send->pack)
        return copy_strided(send, offer, mapping, pieces, err);
    return copy_now(send->memory.gpu, GPU_OUT, &copy, err);
}

/* The offer is ours: the message is its. */
static void push(struct gpubind_operation *send, struct offer *offer, struct mapping *mapping)
{
    struct gpubind_error err;
    int status;

    send->peer->sent++;
    status = copy_to(send, offer, mapping, offer->iov_name != 0, &err);
    offer->nbytes = send->nbytes;
    offer->got_tag = send->tag;
    offer->got_type = send->type;
    atomic_store_explicit(&offer->state, status < 0 ? OFFER_FAILED : OFFER_DONE,
                          memory_order_release);
    mapping_done(mapping);
    if (status < 0)
        operation_end(send, MPI_ERR_OTHER, "%s", err.text);
    else
        operation_good(send);
}

bool offer_use(struct gpubind_operation *send)
{
    const struct segment *segment = &send->domain->segment;
    struct mapping *mapping;
    struct offer *offer;
    double until;

    if (!may_copy(send) || send->nbytes == 0 || send->peer->queued)
        return false;
    offer = segment_offer(segment, send->peer->local, segment->me);
    until = operation_clock() + LOOK_FOR;
    while (!take(send, offer))
        if (operation_clock() > until)
            return false;
    mapping = map_offer(send, offer);
    offer->mapped = mapping != NULL;
    if (mapping && offer->iov_name && !iov_advert_read(send->domain, send->peer, offer)) {
        mapping_done(mapping);
        mapping = NULL;
    }
    if (mapping) {
        trace(TRACE_P2P, "send %u: copies to the buffer that rank %d advertised", send->number,
              send->rank);
        push(send, offer, mapping);
    } else { /* as if it had never been seen; the other way says what is wrong */
        atomic_store_explicit(&offer->state, OFFER_OPEN, memory_order_release);
    }
    return mapping;
}
