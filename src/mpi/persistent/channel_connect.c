/* The connection of a channel: what each side tells the peer about its buffer and flags, and
 * maps of the peer's. */
#include "mpi/base/log.h"
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/transport.h"
#include "mpi/datatype/pack_pool.h"
#include "mpi/persistent/channel.h"

#include "gpu/core/gpu_calls.h"

#define STAGING_TRIES 64 /* buffers of the pack pool, each of which may be in the way, too */

static bool is_to_self(const struct gpubind_operation *request)
{
    return request->peer->domain_rank == request->domain->rank;
}

static bool is_self(const struct channel *channel)
{
    return is_to_self(channel->request);
}

static bool may_exchange(struct gpu *gpu)
{
    return exchange_has_kernel(gpu) || gpu_has_batched_memops();
}

/* Of a captured receive: as much as a small message can have. */
static uint32_t buffer_of(const struct channel *channel)
{
    const uint64_t most = (uint64_t)library_settings()->eager, room = channel->request->nbytes;

    return channel->of_capture && !channel_sends(channel) ? (uint32_t)(room < most ? room : most)
                                                          : 0;
}

static gpu_address buffer_at(const struct channel_endpoint *endpoint)
{
    return (endpoint->flags + EXCHANGE_FLAG * (gpu_address)endpoint->nflags + 15) / 16 * 16;
}

static bool may_connect(const struct gpubind_operation *request,
                        const struct strided_buffer *layout)
{
    struct gpu *gpu = request->memory.gpu;

    return gpu && layout && transport_allowed(TRANSPORT_IPC) && request->nbytes > 0 &&
           request->peer->local >= 0 && may_exchange(gpu);
}

static bool may_be_mapped(const struct pack_buffer *buffer, struct memory_export *shared)
{
    return memory_export_of(&buffer->memory, shared) && !ipc_refs_are_in_way(shared);
}

/* The peer may still map freed memory where the buffer lies now, and cannot map the buffer until it has closed that: not
 * while its streams wait, and a captured message may be what they wait for. Without a handle, memory is mapped by the
 * ranks of a window alone. */
static bool needs_staging(const struct channel *channel)
{
    const struct channel_endpoint *local = &channel->local;

    return channel->of_capture && !channel_sends(channel) && local->nbytes > local->buffer &&
           local->connectable && !is_self(channel) &&
           (!memory_has_handle(&local->memory) || ipc_refs_are_in_way(&local->memory));
}

static void take_staging(struct channel *channel)
{
    struct channel_endpoint *local = &channel->local;
    struct pack_buffer *buffer, *refused = NULL;
    struct gpubind_error unheard;

    for (int i = 0; i < STAGING_TRIES && !channel->staging; i++) {
        buffer = pack_pool_take(channel->request->memory.gpu, local->nbytes, &unheard);
        if (!buffer)
            break;
        if (may_be_mapped(buffer, &local->staging_memory)) {
            channel->staging = buffer;
            local->staging = buffer->memory.address;
        } else {
            buffer->next = refused;
            refused = buffer;
        }
    }
    while ((buffer = refused)) {
        refused = buffer->next;
        pack_pool_drop(buffer);
    }
}

void connection_describe(struct channel *channel, const struct strided_buffer *layout)
{
    const struct gpubind_operation *request = channel->request;
    struct channel_endpoint *local = &channel->local;
    struct gpu *gpu = request->memory.gpu;

    local->nbytes = request->nbytes;
    local->no_handshake = channel->no_handshake;
    local->gpu = (uint64_t)(uintptr_t)gpu;
    if (!may_connect(request, layout))
        return;
    local->kernel = exchange_has_kernel(gpu);
    if (channel->of_capture && !local->kernel)
        return;
    local->nflags = local->kernel ? exchange_parts(request->nbytes) : 1;
    local->buffer = buffer_of(channel);
    if (gpu_flags_take(gpu,
                       local->nflags + (local->buffer > 0) * (local->buffer / EXCHANGE_FLAG + 3),
                       &channel->flags, NULL) < 0)
        return;
    local->layout = *layout;
    local->layout.address += request->memory.address;
    local->flags = channel->flags.at;
    local->connectable = is_self(channel) ||
                         (memory_export_of(&request->memory, &local->memory) &&
                          gpu_flags_export(&channel->flags, &local->flags_memory));
    if (needs_staging(channel))
        take_staging(channel);
}

bool connection_possible(const struct channel *channel, const struct channel_endpoint *other)
{
    return channel->local.connectable && other->connectable &&
           (!is_self(channel) || channel->local.gpu == other->gpu);
}

/* Maps memory of the peer. Returns where the peer's address lies here; 0: not mapped, with refused: for good. */
static gpu_address reach(struct channel *channel, const struct memory_export *shared,
                         gpu_address owners, struct mapping **mapping, bool *refused,
                         struct gpubind_error *err)
{
    struct peer *peer = channel->request->peer;
    bool for_now;

    *refused = false;
    if (is_self(channel))
        return owners;
    if (peer->no_ipc || !mapping_possible(peer, shared, channel->request->memory.gpu))
        return 0;
    *mapping = mapping_open(peer, shared, channel->request->memory.gpu, &for_now, err);
    if (!*mapping) {
        *refused = !for_now;
        channel->in_way |= for_now;
        return 0;
    }
    peer->ipc_works |= memory_has_handle(shared);
    return mapping_address(*mapping, owners);
}

/* A refusal says nothing about other memory: what CONNECT tells of may be freed by now. */
static gpu_address reach_memory(struct channel *channel, const struct memory_export *shared,
                                gpu_address owners)
{
    struct gpubind_error unheard;
    bool refused;

    return reach(channel, shared, owners, &channel->memory_mapping, &refused, &unheard);
}

/* Flags are freed at the library's end. */
static gpu_address reach_flags(struct channel *channel, const struct channel_endpoint *other)
{
    struct peer *peer = channel->request->peer;
    struct gpubind_error err;
    bool refused;
    const gpu_address at = reach(channel, &other->flags_memory, other->flags,
                                 &channel->flags_mapping, &refused, &err);

    if (refused && !peer->ipc_works) {
        peer->no_ipc = true;
        warn_once(WARN_IPC, "%s (rank %d); messages to there go through host memory", err.text,
                  channel->request->rank);
    }
    return at;
}

static unsigned parts_of(const struct channel *channel, const struct channel_endpoint *other)
{
    const struct channel_endpoint *send = channel_sends(channel) ? &channel->local : other;
    unsigned parts = 1;

    if (channel->local.kernel && other->kernel && !channel->buffered)
        parts = exchange_parts(send->nbytes);
    parts = parts > other->nflags ? other->nflags : parts;
    return parts > channel->local.nflags ? channel->local.nflags : parts;
}

static struct strided_buffer contiguous(gpu_address address, uint64_t nbytes)
{
    return (struct strided_buffer){.address = address, .run = nbytes, .count = {1, 1, 1}};
}

struct strided_buffer connection_buffer(const struct channel *channel)
{
    return contiguous(channel->staged ? channel->local.staging : buffer_at(&channel->local),
                      channel->peer_nbytes);
}

void connection_free_staging(struct channel *channel)
{
    if (!channel->staging)
        return;
    pack_pool_give(channel->staging);
    pack_pool_trim();
    channel->staging = NULL;
}

void connection_stage(struct channel *channel, bool staged)
{
    if (!staged) {
        connection_free_staging(channel);
        return;
    }
    channel->buffered = channel->staged = true;
    channel->exchange.receive.parts = 1;
}

static bool open_send(struct channel *channel, const struct channel_endpoint *other)
{
    struct exchange_send *send = &channel->exchange.send;

    *send = (struct exchange_send){.from = channel->local.layout,
                                   .to = other->layout,
                                   .nbytes = channel->local.nbytes,
                                   .ready = channel->flags.at};
    if (channel->buffered)
        send->to = contiguous(reach_memory(channel, &other->flags_memory, buffer_at(other)),
                              send->nbytes);
    else
        send->to.address = reach_memory(channel, &other->memory, other->layout.address);
    if (!send->to.address && other->staging) {
        channel->buffered = channel->staged = true;
        send->to = contiguous(reach_memory(channel, &other->staging_memory, other->staging),
                              send->nbytes);
    }
    send->parts = parts_of(channel, other);
    send->done = reach_flags(channel, other);
    return send->to.address && send->done;
}

static bool open_receive(struct channel *channel, const struct channel_endpoint *other)
{
    struct exchange_receive *receive = &channel->exchange.receive;

    *receive = (struct exchange_receive){.done = channel->flags.at,
                                         .parts = parts_of(channel, other)};
    receive->ready = reach_flags(channel, other);
    return receive->ready;
}

static void note(const struct channel *channel, const struct memory_export *memory)
{
    const struct gpubind_operation *request = channel->request;

    ipc_refs_note(request->domain, memory->id, memory->start, memory->size, request->peer->local);
}

void connection_told(const struct channel *channel)
{
    if (!channel->local.connectable || is_self(channel))
        return;
    note(channel, &channel->local.flags_memory);
    if (!channel_sends(channel))
        note(channel, &channel->local.memory);
    if (channel->staging)
        note(channel, &channel->local.staging_memory);
}

bool connection_open(struct channel *channel, const struct channel_endpoint *other)
{
    bool open;

    channel->in_way = false;
    channel->no_handshake &= other->no_handshake;
    channel->buffered = channel_sends(channel) ? channel->local.nbytes <= other->buffer
                                               : other->nbytes <= channel->local.buffer;
    open = channel_sends(channel) ? open_send(channel, other) : open_receive(channel, other);
    if (!open)
        connection_close(channel);
    return open;
}

void connection_break_local(struct channel *channel)
{
    if (channel->was_connected &&
        gpu_flags_write(channel->request->memory.gpu, channel->flags.at, channel_parts(channel),
                        EXCHANGE_FLAG_BROKEN, NULL) < 0)
        channel->flags_stuck = true;
}

/* The peer's flags first: its exchange must not go on half done when this side's goes on. */
void connection_break(struct channel *channel)
{
    const gpu_address peer_flags = channel_sends(channel) ? channel->exchange.send.done
                                                          : channel->exchange.receive.ready;

    if (channel->state == CHANNEL_CONNECTED && channel->starts + channel->captured > 0 &&
        !channel->peer_detached)
        gpu_flags_write(channel->request->memory.gpu, peer_flags, channel_parts(channel),
                        EXCHANGE_FLAG_BROKEN, NULL);
    connection_break_local(channel);
}

void connection_close(struct channel *channel)
{
    if (channel->memory_mapping)
        mapping_done(channel->memory_mapping);
    if (channel->flags_mapping)
        mapping_done(channel->flags_mapping);
    channel->memory_mapping = channel->flags_mapping = NULL;
}
