#include "mpi/p2p/rndv_put.h"

#include <string.h>

#include "core/base/list.h"
#include "mpi/base/log.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/peer_alive.h"
#include "mpi/core/progress.h"
#include "mpi/core/transport.h"
#include "mpi/datatype/iov_advert.h"
#include "mpi/datatype/pack.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/send_descriptor.h"
#include "mpi/p2p/stream_receive.h"
#include "mpi/p2p/tag_match.h"

/* A sender polls this long for an RTR that is about to be advertised: its receiver may have come
 * from the same exchange. */
#define POLL_FOR 0.4e-6
/* Then it waits for earlier GPU work on either buffer, after this long with progress. */
#define POLL_FOR_ORDER 20e-6
#define POLLS_PER_CHECK 100000 /* while waiting for what the other rank does */

bool rndv_may_copy(const struct gpubind_operation *operation)
{
    return operation->memory.gpu && operation->memory.shareable && operation->peer &&
           transport_reaches(TRANSPORT_IPC, operation->domain, operation->peer);
}

/* The word rtr->state: an enum rtr_state, and above it the number of RTRs there have been, so that a sender that has
 * read the fields of one matches no later one. */
#define RTR_STATES 8u

static enum rtr_state state_of(uint32_t word)
{
    return (enum rtr_state)(word % RTR_STATES);
}

static uint32_t in_state(uint32_t word, enum rtr_state state)
{
    return word - word % RTR_STATES + (uint32_t)state;
}

/* By the rank whose turn it is: the receiver without an open RTR, or the sender that has matched it. */
static void set_state(struct rtr *rtr, enum rtr_state state)
{
    const uint32_t word = atomic_load_explicit(&rtr->state, memory_order_relaxed);

    atomic_store_explicit(&rtr->state, in_state(word, state), memory_order_release);
}

/* word: open, as it was read. false: the other rank, or a later receive, was first. */
static bool change_open(struct rtr *rtr, uint32_t word, enum rtr_state state)
{
    return atomic_compare_exchange_strong(&rtr->state, &word, in_state(word, state));
}

/* ---- the receiver */

static void open_rtr(struct rtr *rtr)
{
    const uint32_t word = atomic_load_explicit(&rtr->state, memory_order_relaxed);

    atomic_store_explicit(&rtr->state, in_state(word + RTR_STATES, RTR_OPEN), memory_order_release);
}

/* false: a sender has matched it. */
static bool take_back_rtr(struct rtr *rtr)
{
    const uint32_t word = atomic_load_explicit(&rtr->state, memory_order_relaxed);

    return change_open(rtr, in_state(word, RTR_OPEN), RTR_NONE);
}

void rtr_post(struct gpubind_operation *receive)
{
    const struct segment *segment = &receive->domain->segment;
    struct memory_export shared;
    struct strided_buffer layout = {.run = 0};
    struct rtr *rtr;

    /* Only when no other receive can match the next message of the peer. */
    if (!rndv_may_copy(receive) || receive->peer->rtr_receive ||
        receive->comm->posted.first != receive || receive->next ||
        !memory_export_of(&receive->memory, &shared))
        return;
    rtr = segment_rtr(segment, segment->me, receive->peer->local);
    rtr->iov_name = 0;
    if (receive->pack && !pack_layout(receive->pack, &layout) && !iov_advert_publish(receive, rtr))
        return;
    rtr->context = receive->comm->context;
    rtr->tag = receive->tag;
    rtr->sequence = receive->peer->received;
    rtr->capacity = receive->nbytes;
    rtr->strided = receive->pack != NULL;
    rtr->layout = layout;
    rtr->address = receive->memory.address;
    rtr->id = shared.id;
    rtr->start = shared.start;
    rtr->size = shared.size;
    memcpy(rtr->handle, &shared.handle, sizeof rtr->handle);
    rtr->mapped = 0;
    atomic_store_explicit(&rtr->ready, receive->order == ORDER_DONE, memory_order_relaxed);
    open_rtr(rtr);
    trace(TRACE_P2P, "receive %u: its buffer is advertised to rank %d", receive->number,
          receive->rank);
    receive->rtr = rtr;
    receive->peer->rtr_receive = receive;
    rtr_progress(receive);
}

static void close_rtr(struct gpubind_operation *receive)
{
    if (receive->rtr->mapped)
        ipc_refs_note(receive->domain, receive->rtr->id, receive->rtr->start, receive->rtr->size,
                      receive->peer->local);
    set_state(receive->rtr, RTR_NONE);
    iov_advert_withdraw(receive);
    receive->rtr = NULL;
    receive->peer->rtr_receive = NULL;
}

void rtr_withdraw(struct gpubind_operation *receive)
{
    if (receive->rtr)
        close_rtr(receive);
}

bool rtr_cancel(struct gpubind_operation *receive)
{
    if (!receive->rtr)
        return true;
    if (!take_back_rtr(receive->rtr))
        return false;
    close_rtr(receive);
    return true;
}

/* The sender has put a message into the buffer, or failed to. */
static void finish_receive(struct gpubind_operation *receive, bool good)
{
    const struct rtr *rtr = receive->rtr;

    receive->source = receive->rank;
    receive->got_tag = rtr->got_tag;
    receive->got_bytes = rtr->nbytes;
    receive->got_type = rtr->got_type;
    receive->got_on_gpu = true;
    receive->peer->received++;
    match_withdraw(receive);
    stream_receives_note(receive->peer);
    close_rtr(receive);
    if (good)
        request_succeed(receive);
    else
        request_complete(receive, MPI_ERR_OTHER, "the sender's copy failed");
}

void rtr_progress(struct gpubind_operation *receive)
{
    enum rtr_state state;

    if (!receive->rtr)
        return;
    state = state_of(atomic_load_explicit(&receive->rtr->state, memory_order_acquire));
    if (state == RTR_DONE || state == RTR_FAILED) {
        finish_receive(receive, state == RTR_DONE);
        return;
    }
    if (receive->order == ORDER_DONE)
        return;
    if (request_check_order(receive) < 0) { /* no sender may write to the buffer */
        receive->done = false;
        if (take_back_rtr(receive->rtr)) {
            receive->order =
                ORDER_OPEN; /* the receive fails when its message comes, whose sender waits */
            rtr_withdraw(receive);
            return;
        }
        receive->order = ORDER_DONE; /* matched: ready it was, or the sender reopens it */
    }
    if (receive->order == ORDER_DONE)
        atomic_store_explicit(&receive->rtr->ready, 1, memory_order_release);
}

void rtr_settle_before(struct peer *peer, uint64_t sequence)
{
    struct gpubind_operation *receive = peer->rtr_receive;
    unsigned polls = 0;

    /* The sequence number says that the RTR was matched; its copy ends soon. */
    while (receive && peer->rtr_receive == receive && sequence > peer->received) {
        rtr_progress(receive);
        if (peer->rtr_receive == receive && ++polls % POLLS_PER_CHECK == 0 &&
            peer_check(receive->domain, peer))
            receive_abandon(receive);
    }
}

/* ---- the sender */

/* With the iov kernel; a regular datatype of the sender may be too many blocks. */
static bool can_scatter(const struct gpubind_operation *send)
{
    uint64_t n = 0;
    int64_t extent;

    if (send->pack)
        pack_type_name(send->pack, &n, &extent);
    return n <= IOV_ADVERT_MAX && iov_copy_has_kernel(send->memory.gpu);
}

static bool is_ready(const struct rtr *rtr)
{
    return atomic_load_explicit(&rtr->ready, memory_order_acquire);
}

/* A small send does not wait for the receiver's GPU, whose work may wait for a later call of this rank. */
static bool fits(const struct gpubind_operation *send, const struct rtr *rtr)
{
    struct strided_buffer layout;

    return (is_ready(rtr) || !send_may_be_eager(send)) && rtr->sequence == send->peer->sent &&
           rtr->context == send->comm->context &&
           (rtr->tag == MPI_ANY_TAG || rtr->tag == send->tag) && rtr->capacity >= send->nbytes &&
           (rtr->iov_name ? can_scatter(send)
                          : !rtr->strided || !send->pack || pack_layout(send->pack, &layout));
}

/* The RTR, as its word says, is for this send. */
static bool is_open_for(const struct gpubind_operation *send, const struct rtr *rtr, uint32_t *word)
{
    *word = atomic_load_explicit(&rtr->state, memory_order_acquire);
    return state_of(*word) == RTR_OPEN && fits(send, rtr);
}

/* No other thread has sent to that rank since the RTR was read, or wants to. */
static bool is_next(const struct gpubind_operation *send, const struct rtr *rtr)
{
    return rtr->sequence == send->peer->sent && QUEUE_EMPTY(&send->peer->queued);
}

/* Earlier GPU work on both buffers is done, or has failed. It may itself wait for other messages between the two ranks,
 * and a receiver whose RTR is matched reads none before this one has come: so it is not matched yet, and other threads
 * may go first. false: one has, or the RTR is taken back, or the receiver gone. */
static bool come_in_order(struct gpubind_operation *send, const struct rtr *rtr, uint32_t word)
{
    const double soon = clock_seconds() + POLL_FOR_ORDER;
    unsigned polls = 0;

    while (request_check_order(send) == 0 || !is_ready(rtr)) {
        if (clock_seconds() > soon)
            progress_step();
        library_yield(false);
        if (atomic_load_explicit(&rtr->state, memory_order_relaxed) != word ||
            !is_next(send, rtr) ||
            (++polls % POLLS_PER_CHECK == 0 && peer_check(send->domain, send->peer)))
            return false;
    }
    return true;
}

static bool match_rtr(struct gpubind_operation *send, struct rtr *rtr)
{
    const double until = clock_seconds() + POLL_FOR;
    uint32_t word;

    while (!is_open_for(send, rtr, &word))
        if (clock_seconds() > until)
            return false;
    return come_in_order(send, rtr, word) && change_open(rtr, word, RTR_MATCHED);
}

struct mapping *rndv_map(const struct gpubind_operation *send, const struct memory_export *shared)
{
    struct gpubind_error err;
    struct mapping *mapping;
    bool for_now;

    if (!mapping_possible(send->peer, shared, send->memory.gpu))
        return NULL;
    mapping = mapping_open(send->peer, shared, send->memory.gpu, &for_now, &err);
    if (for_now)
        return NULL;
    if (mapping)
        send->peer->ipc_works |= memory_has_handle(shared);
    else if (!send->peer->ipc_works) {
        send->peer->no_ipc = true;
        warn_once(WARN_IPC, "%s (rank %d); messages to there go through host memory", err.text,
                  send->rank);
    }
    return mapping;
}

static struct mapping *map_receiver(const struct gpubind_operation *send, const struct rtr *rtr)
{
    struct memory_export shared = {rtr->id, rtr->start, rtr->size, {{0}}};

    memcpy(&shared.handle, rtr->handle, sizeof shared.handle);
    return rndv_map(send, &shared);
}

/* Strided data at either end, or both. */
static int copy_strided(struct gpubind_operation *send, const struct rtr *rtr,
                        const struct mapping *mapping, struct iov_table *table,
                        struct gpubind_error *err)
{
    const struct iov_end there = {table, mapping_address(mapping, rtr->address)};
    struct strided_buffer from = {
        .address = send->memory.address, .run = send->nbytes, .count = {1, 1, 1}};
    struct strided_buffer to = rtr->layout;
    struct gpu *gpu = send->memory.gpu;
    int status;

    to.address = mapping_address(mapping, to.address);
    if (table)
        status = pack_gather_to(send, &there, err);
    else if (rtr->strided && (!send->pack || pack_layout(send->pack, &from)))
        status = strided_copy(gpu, gpu->streams[GPU_OUT], &to, &from, send->nbytes, err);
    else
        status = pack_gather(send, there.address, err);
    if (copies_wait(gpu, GPU_OUT, status == 0 ? err : NULL) < 0)
        status = -1;
    return status;
}

static int copy_to(struct gpubind_operation *send, struct rtr *rtr, const struct mapping *mapping,
                   bool in_pieces, struct gpubind_error *err)
{
    struct iov_table *table = NULL;
    struct copy copy = {mapping_address(mapping, rtr->address), send->memory.address, send->nbytes,
                        COPY_IN_GPU};

    if (send->result != MPI_SUCCESS) {
        *err = send->error;
        return -1;
    }
    if (in_pieces) { /* another advertised iov may have replaced this one meanwhile */
        table = iov_advert_read(send->domain, send->peer, rtr);
        if (!table)
            return error_set(err, "there is no memory for the receiver's datatype");
    }
    if (rtr->strided || send->pack)
        return copy_strided(send, rtr, mapping, table, err);
    return copy_now(send->memory.gpu, GPU_OUT, &copy, err);
}

/* The RTR is matched: copies the message to the advertised buffer. */
static void put_message(struct gpubind_operation *send, struct rtr *rtr, struct mapping *mapping)
{
    struct gpubind_error err;
    int status;

    send->peer->sent++;
    status = copy_to(send, rtr, mapping, rtr->iov_name != 0, &err);
    rtr->nbytes = send->nbytes;
    rtr->got_tag = send->tag;
    rtr->got_type = send->type;
    set_state(rtr, status < 0 ? RTR_FAILED : RTR_DONE);
    mapping_done(mapping);
    if (status < 0)
        request_complete(send, MPI_ERR_OTHER, "%s", err.text);
    else
        request_succeed(send);
}

bool rndv_put(struct gpubind_operation *send)
{
    const struct segment *segment = &send->domain->segment;
    struct mapping *mapping;
    struct rtr *rtr;

    if (!rndv_may_copy(send) || send->nbytes == 0 || !QUEUE_EMPTY(&send->peer->queued))
        return false;
    rtr = segment_rtr(segment, send->peer->local, segment->me);
    if (!match_rtr(send, rtr))
        return false;
    mapping = map_receiver(send, rtr);
    rtr->mapped = mapping != NULL;
    if (mapping && rtr->iov_name && !iov_advert_read(send->domain, send->peer, rtr)) {
        mapping_done(mapping);
        mapping = NULL;
    }
    if (mapping) {
        trace(TRACE_P2P, "send %u: copies to the buffer that rank %d advertised", send->number,
              send->rank);
        put_message(send, rtr, mapping);
    } else { /* reopened; the message takes another transport, which reports the error */
        set_state(rtr, RTR_OPEN);
    }
    return mapping;
}
