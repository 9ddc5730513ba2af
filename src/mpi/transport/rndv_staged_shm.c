#include "mpi/transport/rndv_staged_shm.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/list.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/shm_inbox.h"
#include "mpi/core/transport.h"
#include "mpi/transport/bounce_pool.h"
#include "mpi/transport/chunk_ring.h"
#include "mpi/transport/receive_end.h"

struct staging {
    struct staging *next;
    struct gpubind_operation *operation;
    struct descriptor *descriptor;
    const struct peer *peer;
    struct bounce_buffer *bounce; /* the sender's; NULL: waits for one, or it has */
    bool reserve;                 /* the small one that its receiver alone gets */
    double since;                 /* when it began to wait */
    struct chunk_ring ring;
    struct mapping *mapping; /* of a bounce buffer on the sender's GPU */
    uint64_t started, ended; /* copies of this side */
    bool failed, over;
};

/* First come, first served with bounce buffers. */
static struct stagings {
    struct staging *first, **end;
} sends, receives;

static struct staging *add(struct stagings *stagings, struct gpubind_operation *operation,
                           struct descriptor *descriptor, uint64_t nbytes)
{
    struct staging *staging = calloc(1, sizeof *staging);

    if (!staging)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    staging->operation = operation;
    staging->peer = operation->peer;
    staging->descriptor = descriptor;
    chunk_ring_init(&staging->ring, operation, nbytes, descriptor->chunk_bytes,
                    descriptor->chunks_ahead);
    QUEUE_PUSH(stagings, staging, next);
    return staging;
}

static void start_chunk(struct staging *staging, bool out)
{
    progress_made();
    if (chunk_ring_copy(&staging->ring, staging->started++, out, &staging->operation->error) < 0)
        staging->failed = true;
}

static void bounce_at(struct staging *staging, char *host)
{
    staging->ring.bounce = host;
    staging->ring.address = (gpu_address)(uintptr_t)host;
}

/* Counts the copies that have ended, in order. */
static void land(struct staging *staging)
{
    struct gpubind_error *err = staging->over ? NULL : &staging->operation->error;
    int ended;

    while (staging->ended < staging->started &&
           (ended = chunk_ring_copied(&staging->ring, staging->ended, err)) != 0) {
        staging->failed |= ended < 0;
        staging->ended++;
    }
}

/* ---- the sender */

void staged_send_start(struct gpubind_operation *send, struct descriptor *descriptor)
{
    send->staging = add(&sends, send, descriptor, send->nbytes);
}

/* Another message to the same rank has one: a rank that stays away holds no more. */
static bool peer_has_bounce(const struct staging *staging)
{
    for (const struct staging *other = sends.first; other && other != staging; other = other->next)
        if ((other->bounce || other->reserve) && other->peer == staging->peer)
            return true;
    return false;
}

/* When all bounce buffers wait for receivers that make no call of the library, a message gets the
 * reserve one of its receiver after this time, seconds. */
#define BOUNCE_TIMEOUT 10e-3

static void take_reserve(struct staging *staging)
{
    struct gpubind_operation *send = staging->operation;
    const struct segment *segment = &send->domain->segment;
    struct descriptor *descriptor = staging->descriptor;

    if (staging->since == 0)
        staging->since = clock_seconds();
    if (clock_seconds() - staging->since < BOUNCE_TIMEOUT ||
        !segment_allocate_reserve_bounce(segment, send->peer->local, &descriptor->bounce_offset))
        return;
    staging->reserve = true;
    descriptor->bounce_on_gpu = 0;
    descriptor->chunks_ahead = RESERVE_BOUNCE_BYTES / descriptor->chunk_bytes;
    staging->ring.depth = descriptor->chunks_ahead;
    bounce_at(staging, segment_bounce(segment, segment->me) + descriptor->bounce_offset);
}

static void take_bounce(struct staging *staging)
{
    struct gpubind_operation *send = staging->operation;
    struct descriptor *descriptor = staging->descriptor;
    struct gpu *gpu = descriptor->bounce_on_gpu ? send->memory.gpu : NULL;
    struct memory_export shared;
    struct bounce_buffer *bounce;
    bool none = false;

    if (peer_has_bounce(staging))
        return;
    bounce = bounce_take(send->domain, gpu, &none);
    if (bounce && gpu && (!bounce_share(bounce, &shared) || ipc_refs_are_in_way(&shared))) {
        bounce_give(bounce);
        bounce = NULL;
        none = true;
    }
    if (none && gpu) { /* the receiver reads where it lies when there is a chunk in it */
        descriptor->bounce_on_gpu = 0;
        gpu = NULL;
        bounce = bounce_take(send->domain, NULL, &none);
    }
    if (none) {
        error_set(&send->error, "there is no memory to stage a message in");
        staging->failed = true;
        atomic_store(&descriptor->failed, 1);
    }
    if (!bounce) {
        if (!none)
            take_reserve(staging);
        return;
    }
    staging->bounce = bounce;
    staging->ring.bounce = bounce->host;
    staging->ring.address = bounce->address;
    descriptor->bounce_offset = bounce->offset;
    if (gpu) {
        descriptor->bounce_id = shared.id;
        descriptor->bounce_start = shared.start;
        descriptor->bounce_size = shared.size;
        memcpy(descriptor->bounce_handle, &shared.handle, sizeof descriptor->bounce_handle);
    }
}

/* Begins again in host memory, when the copies under way have ended. */
static void move_to_host(struct staging *staging)
{
    struct descriptor *descriptor = staging->descriptor;

    land(staging);
    if (staging->failed)
        atomic_store(&descriptor->failed, 1);
    if (staging->failed || staging->ended < staging->started)
        return;
    bounce_give(staging->bounce);
    staging->bounce = NULL;
    staging->started = staging->ended = 0;
    descriptor->bounce_on_gpu = 0;
    atomic_store_explicit(&descriptor->filled, 0, memory_order_relaxed);
    atomic_store_explicit(&descriptor->bounce_refused, 0, memory_order_release);
}

static void pump(struct staging *staging)
{
    struct descriptor *descriptor = staging->descriptor;
    const uint64_t drained = atomic_load_explicit(&descriptor->drained, memory_order_acquire);

    while (!staging->failed && staging->started < staging->ring.nchunks &&
           staging->started < drained + staging->ring.depth)
        start_chunk(staging, true);
    land(staging);
    if (staging->failed) /* before the chunk that failed counts as filled */
        atomic_store(&descriptor->failed, 1);
    atomic_store_explicit(&descriptor->filled, staging->ended, memory_order_release);
}

static void sends_move(void)
{
    for (struct staging **link = &sends.first; *link;) {
        struct staging *staging = *link;

        if (!staging->bounce && !staging->reserve && !staging->over && !staging->failed)
            take_bounce(staging);
        if (staging->over) /* its descriptor and operation serve others by now */
            land(staging);
        else if (atomic_load_explicit(&staging->descriptor->bounce_refused, memory_order_acquire))
            move_to_host(staging);
        else if (staging->bounce || staging->reserve)
            pump(staging);
        if (!staging->over || staging->ended < staging->started) {
            link = &staging->next;
            continue;
        }
        QUEUE_UNLINK(&sends, link, next);
        if (staging->bounce)
            bounce_give(staging->bounce);
        free(staging);
    }
}

static bool has_any(const struct staging *staging, const struct domain *domain)
{
    for (; staging; staging = staging->next)
        if (staging->peer >= domain->peers && staging->peer < domain->peers + domain->size)
            return true;
    return false;
}

bool staged_busy(const struct domain *domain)
{
    return has_any(sends.first, domain) || has_any(receives.first, domain);
}

bool staged_send_rests(const struct gpubind_operation *send)
{
    return send->staging->ended == send->staging->started;
}

/* Copies that a failed receiver no longer wants may still be under way. */
void staged_send_end(struct gpubind_operation *send)
{
    if (send->staging)
        send->staging->over = true;
    send->staging = NULL;
}

/* ---- the receiver */

bool rndv_staged_shm_get(struct gpubind_operation *receive, const struct msg_header *header)
{
    struct descriptor *from = receive->from;

    (void)header;
    if (!from)
        return false;
    if (!receive_make_dense(receive))
        return true;
    trace(TRACE_P2P, "receive %u: staged through shared memory", receive->number);
    from->chunk_bytes = chunk_bytes_of(receive->got_bytes);
    from->chunks_ahead = BOUNCE_BYTES / from->chunk_bytes;
    add(&receives, receive, from, receive->got_bytes);
    from->bounce_on_gpu = from->header.flags & MSG_ON_GPU && receive->memory.gpu &&
                          receive->peer->ipc_works &&
                          transport_reaches(TRANSPORT_IPC, receive->domain, receive->peer);
    inbox_acknowledge(receive->domain, receive->peer, from, DESCRIPTOR_CTS);
    return true;
}

/* When the first chunk is there, the sender has said where, and how many fit. false: this side cannot map it. */
static bool find_bounce(struct staging *staging)
{
    struct gpubind_operation *receive = staging->operation;
    struct descriptor *from = staging->descriptor;
    struct memory_export shared = {from->bounce_id, from->bounce_start, from->bounce_size, {{0}}};

    staging->ring.depth = from->chunks_ahead;
    if (!from->bounce_on_gpu) {
        domain_pin(receive->domain, receive->peer->local, SEGMENT_BOUNCE);
        bounce_at(staging, segment_bounce(&receive->domain->segment, receive->peer->local) +
                               from->bounce_offset);
        return true;
    }
    memcpy(&shared.handle, from->bounce_handle, sizeof shared.handle);
    staging->mapping = mapping_open(receive->peer, &shared, receive->memory.gpu, NULL,
                                    &receive->error);
    if (staging->mapping) {
        staging->ring.address = mapping_address(staging->mapping,
                                                from->bounce_start + from->bounce_offset);
        return true;
    }
    trace(TRACE_P2P, "receive %u: %s; it goes through host memory", receive->number,
          receive->error.text);
    atomic_store_explicit(&from->bounce_refused, 1, memory_order_release);
    return false;
}

static void drain(struct staging *staging)
{
    struct gpubind_operation *receive = staging->operation;
    struct descriptor *from = staging->descriptor;
    const bool refused = atomic_load_explicit(&from->bounce_refused, memory_order_acquire);
    uint64_t filled = refused ? 0 : atomic_load_explicit(&from->filled, memory_order_acquire);

    if (atomic_load_explicit(&from->failed, memory_order_acquire)) {
        error_set(&receive->error, "the sender's copy failed");
        staging->failed = true;
    }
    if (filled > 0 && staging->started == 0 && !staging->failed && !find_bounce(staging))
        filled = 0;
    while (!staging->failed && staging->started < filled)
        start_chunk(staging, false);
    land(staging);
    atomic_store_explicit(&from->drained, staging->ended, memory_order_release);
}

bool staged_receive_abandon(const struct gpubind_operation *receive)
{
    for (struct staging *staging = receives.first; staging; staging = staging->next)
        if (staging->operation == receive) {
            error_set(&staging->operation->error, "rank %d is gone", receive->source);
            staging->failed = true;
            return true;
        }
    return false;
}

static void receives_move(void)
{
    for (struct staging **link = &receives.first; *link;) {
        struct staging *staging = *link;
        struct gpubind_operation *receive = staging->operation;

        drain(staging);
        if (staging->ended < staging->started ||
            (!staging->failed && staging->ended < staging->ring.nchunks)) {
            link = &staging->next;
            continue;
        }
        QUEUE_UNLINK(&receives, link, next);
        if (staging->mapping)
            mapping_done(staging->mapping);
        receive_finish(receive, staging->failed ? -1 : 0, &receive->error);
        free(staging);
    }
}

void rndv_staged_shm_progress(void)
{
    receives_move();
    sends_move();
}
