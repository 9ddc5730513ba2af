#include "mpi/p2p/stream_slots.h"

#include <string.h>

#include "mpi/p2p/rndv_put.h"
#include "mpi/p2p/send_descriptor.h"

/* ---- the receiver */

void stream_slots_grant(const struct gpubind_operation *receive)
{
    struct peer *peer = receive->peer;
    struct stream_receives *list = peer->stream_receives;
    struct memory_export shared;
    struct gpu_slot slot;
    uint32_t n = 0;

    if (peer->slots_gpu || peer->slots_over || !receive->slot.arena ||
        !gpu_slots_are_plenty(receive->landed.gpu))
        return;
    gpu_slot_export(&receive->slot, &shared);
    list->slots_id = shared.id;
    list->slots_start = shared.start;
    list->slots_size = shared.size;
    memcpy(list->slots_handle, &shared.handle, sizeof list->slots_handle);
    while (n < STREAM_SLOTS && gpu_slot_take(receive->landed.gpu, &slot))
        list->slots[n++] = slot.at;
    peer->slots_gpu = receive->landed.gpu;
    atomic_store_explicit(&list->nslots, n, memory_order_release);
}

void stream_slots_forget(const struct gpu *gpu)
{
    for (const struct domain *domain = domain_first(); domain; domain = domain->next)
        for (int i = 0; i < domain->size; i++) {
            struct peer *peer = &domain->peers[i];

            if (peer->slots_gpu != gpu)
                continue;
            atomic_store_explicit(&peer->stream_receives->nslots, 0, memory_order_release);
            peer->slots_gpu = NULL;
            peer->slots_over = true;
        }
}

gpu_address stream_slot_of(const struct peer *peer, const struct descriptor *from,
                           const struct gpu *gpu)
{
    return from->slot > 0 && from->slot <= STREAM_SLOTS && peer->slots_gpu == gpu
               ? peer->stream_receives->slots[from->slot - 1]
               : 0;
}

/* ---- the sender */

/* NULL: the receiver lets it use none. */
static const struct stream_receives *list_of(const struct gpubind_operation *send)
{
    const struct segment *segment = &send->domain->segment;
    struct peer *peer = send->peer;
    const struct stream_receives *list;
    uint32_t n;

    if (!atomic_load_explicit(&segment_rtr(segment, peer->local, segment->me)->has_stream_receives,
                              memory_order_acquire))
        return NULL;
    list = segment_stream_receives(segment, peer->local, segment->me);
    n = atomic_load_explicit(&list->nslots, memory_order_acquire);
    if (n > 0 && peer->slots_seen == 0)
        peer->slots_free = (uint32_t)((UINT64_C(1) << n) - 1);
    peer->slots_seen = n > 0 ? n : peer->slots_seen;
    return n > 0 ? list : NULL;
}

void stream_slot_take(struct gpubind_operation *send, struct descriptor *descriptor)
{
    struct peer *peer = send->peer;

    descriptor->slot = 0;
    if (!send->launches || send->nbytes > GPU_SLOT_DATA || !rndv_may_copy(send) || !list_of(send) ||
        peer->slots_free == 0)
        return;
    descriptor->slot = (uint32_t)__builtin_ffs((int)peer->slots_free);
    descriptor->slot_value = ++peer->slots_used | GPU_SLOT_LENT;
    peer->slots_free &= ~(1u << (descriptor->slot - 1));
}

/* Unlike memory of the application's, it says nothing of other memory where it cannot be mapped. */
static gpu_address map(struct gpubind_operation *send, uint64_t address,
                       const struct memory_export *shared)
{
    struct gpubind_error unheard;

    if (mapping_possible(send->peer, shared, send->memory.gpu))
        send->mapping = mapping_open(send->peer, shared, send->memory.gpu, &unheard);
    return send->mapping ? mapping_address(send->mapping, address) : 0;
}

gpu_address stream_slot_map(struct gpubind_operation *send)
{
    const struct descriptor *descriptor = send_descriptor_of(send);
    const struct stream_receives *list = descriptor->slot > 0 ? list_of(send) : NULL;
    struct memory_export shared;

    if (!list)
        return 0;
    shared = (struct memory_export){list->slots_id, list->slots_start, list->slots_size, {{0}}};
    memcpy(&shared.handle, list->slots_handle, sizeof shared.handle);
    return map(send, list->slots[descriptor->slot - 1], &shared);
}

gpu_address stream_slot_map_landing(struct gpubind_operation *send)
{
    const struct stream_receive *entry = send->stream_receive;
    struct memory_export shared = {entry->id, entry->start, entry->size, {{0}}};

    memcpy(&shared.handle, entry->handle, sizeof shared.handle);
    return entry->has_slot && rndv_may_copy(send) ? map(send, entry->address, &shared) : 0;
}

/* Whoever has taken the data: the next ones have another value. */
void stream_slot_give(struct gpubind_operation *send)
{
    const struct descriptor *descriptor = send_descriptor_of(send);

    if (descriptor->slot > 0)
        send->peer->slots_free |= 1u << (descriptor->slot - 1);
}
