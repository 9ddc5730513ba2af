#include "mpi/p2p/rndv_staged_shm.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/core/context.h"
#include "mpi/core/shm_inbox.h"
#include "mpi/core/trace.h"
#include "mpi/core/transport.h"
#include "mpi/p2p/bounce_pool.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/send_shm.h"

#define AHEAD_MOST 24

struct staging {
    struct staging *next;
    struct gpubind_operation *operation;
    struct descriptor *descriptor;
    const struct peer *peer;
    struct bounce_buffer *bounce;                /* the sender's; NULL: waits for one, or it has */
    bool reserve;                       /* the small one that its receiver alone gets */
    double since;                     /* when it began to wait */
    char *chunks;                     /* where the bounce buffer lies for this process, */
    cuda_address bounce_address;        /* also as an address for copies */
    struct mapping *mapping;          /* of a bounce buffer on the sender's GPU */
    uint64_t nchunks, started, ended; /* copies of this side */
    struct flight flights[AHEAD_MOST];
    bool failed, over;
};

static struct staging *sends, *receives;

/* Measured on two H200 without peer access, page-locked: 256 KiB chunks serve 1 MiB
 * best, 2 MiB and more 16 MiB and above. */
static const struct {
    uint64_t below;
    size_t chunk;
} chunks[] = {{256u << 10, 256u << 10}, {4u << 20, 256u << 10}, {24u << 20, 1u << 20},
              {UINT64_MAX, 2u << 20}};

size_t stage_chunk(uint64_t nbytes)
{
    int i = 0;

    while (nbytes > chunks[i].below)
        i++;
    return chunks[i].chunk;
}

static struct staging *add(struct staging **list, struct gpubind_operation *operation,
                            struct descriptor *descriptor)
{
    struct staging *staging = calloc(1, sizeof *staging), **end = list;

    if (!staging)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    staging->operation = operation;
    staging->peer = operation->peer;
    staging->descriptor = descriptor;
    while (*end) /* first come, first served with bounce buffers */
        end = &(*end)->next;
    *end = staging;
    return staging;
}

static size_t chunk_nbytes(const struct staging *staging, uint64_t chunk, uint64_t total)
{
    uint64_t from = chunk * staging->descriptor->chunk_bytes, left = total - from;

    return (size_t)(left < staging->descriptor->chunk_bytes ? left
                                                             : staging->descriptor->chunk_bytes);
}

static uint64_t place_in_bounce(const struct staging *staging, uint64_t chunk)
{
    return chunk % staging->descriptor->chunks_ahead * staging->descriptor->chunk_bytes;
}

/* Copies the next chunk between buffer and bounce buffer. */
static void start_chunk(struct staging *staging, struct gpu *gpu, uint64_t total, bool out)
{
    struct gpubind_operation *operation = staging->operation;
    const uint64_t skip = staging->started * staging->descriptor->chunk_bytes;
    const uint64_t place = place_in_bounce(staging, staging->started);
    const size_t nbytes = chunk_nbytes(staging, staging->started, total);
    const cuda_address buffer = operation->memory.address + skip,
                       bounce = staging->bounce_address + place;
    struct copy copy = {out ? bounce : buffer, out ? buffer : bounce, nbytes, false};
    struct flight *flight = &staging->flights[staging->started % AHEAD_MOST];
    char *host = (char *)operation->buffer + skip;

    operation_moved();
    staging->started++;
    if (gpu) {
        if (copies_start(gpu, out ? GPU_OUT : GPU_IN, &copy, 1, flight, &operation->error) < 0)
            staging->failed = true;
    } else if (out) {
        memcpy(staging->chunks + place, host, nbytes);
    } else {
        memcpy(host, staging->chunks + place, nbytes);
    }
}

/* Counts the copies that have ended, in order. */
static void land(struct staging *staging)
{
    while (staging->ended < staging->started) {
        struct flight *flight = &staging->flights[staging->ended % AHEAD_MOST];

        if (flight->gpu) {
            struct gpubind_error *err = staging->over ? NULL : &staging->operation->error;
            int landed = flight_landed(flight, err);

            if (landed == 0)
                break;
            if (landed < 0)
                staging->failed = true;
        }
        staging->ended++;
    }
}

/* ---- the sender */

void stage_send_start(struct gpubind_operation *send, struct descriptor *descriptor)
{
    struct staging *staging = add(&sends, send, descriptor);

    send->staging = staging;
    staging->nchunks = (send->nbytes + descriptor->chunk_bytes - 1) / descriptor->chunk_bytes;
}

/* Another message to the same rank has one: a rank that stays away holds no more. */
static bool peer_has_bounce(const struct staging *staging)
{
    for (const struct staging *other = sends; other && other != staging; other = other->next)
        if ((other->bounce || other->reserve) && other->peer == staging->peer)
            return true;
    return false;
}

/* Lanes whose receivers stay away from the library must not stop the others. */
#define PATIENCE 10e-3

static void take_spare(struct staging *staging)
{
    struct gpubind_operation *send = staging->operation;
    const struct segment *segment = &send->domain->segment;
    struct descriptor *descriptor = staging->descriptor;

    if (staging->since == 0)
        staging->since = operation_clock();
    if (operation_clock() - staging->since < PATIENCE ||
        !segment_allocate_reserve_bounce(segment, send->peer->local, &descriptor->bounce_offset))
        return;
    staging->reserve = true;
    descriptor->bounce_on_gpu = 0;
    descriptor->chunks_ahead = RESERVE_BOUNCE_BYTES / descriptor->chunk_bytes;
    staging->chunks = segment_bounce(segment, segment->me) + descriptor->bounce_offset;
    staging->bounce_address = (cuda_address)(uintptr_t)staging->chunks;
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
    if (bounce && gpu && !bounce_share(bounce, &shared)) {
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
            take_spare(staging);
        return;
    }
    staging->bounce = bounce;
    staging->chunks = bounce->host;
    staging->bounce_address = bounce->address;
    descriptor->bounce_offset = bounce->offset;
    if (gpu) {
        descriptor->bounce_id = shared.id;
        descriptor->bounce_start = shared.start;
        descriptor->bounce_size = shared.size;
        memcpy(descriptor->bounce_handle, &shared.handle, sizeof descriptor->bounce_handle);
    }
}

static void pump(struct staging *staging)
{
    struct descriptor *descriptor = staging->descriptor;
    const struct gpubind_operation *send = staging->operation;
    const uint64_t drained = atomic_load_explicit(&descriptor->drained, memory_order_acquire);

    while (!staging->failed && staging->started < staging->nchunks &&
           staging->started < drained + descriptor->chunks_ahead)
        start_chunk(staging, send->memory.gpu, send->nbytes, true);
    land(staging);
    if (staging->failed) /* before the chunk that failed counts as filled */
        atomic_store(&descriptor->failed, 1);
    atomic_store_explicit(&descriptor->filled, staging->ended, memory_order_release);
}

static void sends_move(void)
{
    for (struct staging **link = &sends; *link;) {
        struct staging *staging = *link;

        if (!staging->bounce && !staging->reserve && !staging->over && !staging->failed)
            take_bounce(staging);
        if (staging->over) /* its descriptor and operation serve others by now */
            land(staging);
        else if (staging->bounce || staging->reserve)
            pump(staging);
        if (!staging->over || staging->ended < staging->started) {
            link = &staging->next;
            continue;
        }
        *link = staging->next;
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

bool stage_busy(const struct domain *domain)
{
    return has_any(sends, domain) || has_any(receives, domain);
}

bool stage_send_rests(const struct gpubind_operation *send)
{
    return send->staging->ended == send->staging->started;
}

/* Copies that a failed receiver no longer wants may still be under way. */
void stage_send_end(struct gpubind_operation *send)
{
    if (send->staging)
        send->staging->over = true;
    send->staging = NULL;
}

/* ---- the receiver */

bool rndv_staged_shm_get(struct gpubind_operation *receive, const struct wire_header *header)
{
    struct descriptor *from = receive->from;

    (void)header;
    if (!from)
        return false;
    if (!receive_unpacks_later(receive))
        return true;
    trace(TRACE_P2P, "receive %u: staged through shared memory", receive->number);
    add(&receives, receive, from);
    from->chunk_bytes = stage_chunk(receive->got_bytes);
    from->chunks_ahead = BOUNCE_BYTES / from->chunk_bytes;
    from->bounce_on_gpu = from->header.flags & WIRE_ON_GPU && receive->memory.gpu &&
                        receive->peer->ipc_works &&
                        transport_reaches(TRANSPORT_IPC, receive->domain, receive->peer);
    inbox_acknowledge(receive->domain, receive->peer, from, DESCRIPTOR_STAGE);
    return true;
}

/* When the first chunk is there, the sender has said where. -1: it cannot be reached. */
static int find_bounce(struct staging *staging)
{
    struct gpubind_operation *receive = staging->operation;
    const struct descriptor *from = staging->descriptor;
    struct memory_export shared = {from->bounce_id, from->bounce_start, from->bounce_size, {{0}}};

    if (!from->bounce_on_gpu) {
        domain_pin(receive->domain, receive->peer->local, SEGMENT_BOUNCE);
        staging->chunks = segment_bounce(&receive->domain->segment, receive->peer->local) +
                           from->bounce_offset;
        staging->bounce_address = (cuda_address)(uintptr_t)staging->chunks;
        return 0;
    }
    memcpy(&shared.handle, from->bounce_handle, sizeof shared.handle);
    staging->mapping = mapping_open(receive->peer, &shared, receive->memory.gpu,
                                     &receive->error);
    receive->peer->no_ipc = !staging->mapping; /* the next one goes through host memory */
    if (!staging->mapping)
        return -1;
    staging->bounce_address = mapping_address(staging->mapping, from->bounce_start +
                                                                      from->bounce_offset);
    return 0;
}

static void drain(struct staging *staging)
{
    struct gpubind_operation *receive = staging->operation;
    struct descriptor *from = staging->descriptor;
    const uint64_t filled = atomic_load_explicit(&from->filled, memory_order_acquire);

    if (atomic_load_explicit(&from->failed, memory_order_acquire)) {
        error_set(&receive->error, "the sender's copy failed");
        staging->failed = true;
    }
    if (filled > 0 && staging->started == 0 && !staging->failed)
        staging->failed = find_bounce(staging) < 0;
    while (!staging->failed && staging->started < filled)
        start_chunk(staging, receive->memory.gpu, receive->got_bytes, false);
    land(staging);
    atomic_store_explicit(&from->drained, staging->ended, memory_order_release);
}

bool stage_receive_abandon(const struct gpubind_operation *receive)
{
    for (struct staging *staging = receives; staging; staging = staging->next)
        if (staging->operation == receive) {
            error_set(&staging->operation->error, "rank %d is gone", receive->source);
            staging->failed = true;
            return true;
        }
    return false;
}

static void receives_move(void)
{
    for (struct staging **link = &receives; *link;) {
        struct staging *staging = *link;
        struct gpubind_operation *receive = staging->operation;
        const struct descriptor *from = staging->descriptor;

        drain(staging);
        if (staging->ended < staging->started ||
            (!staging->failed &&
             staging->ended * from->chunk_bytes < receive->got_bytes)) {
            link = &staging->next;
            continue;
        }
        *link = staging->next;
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
