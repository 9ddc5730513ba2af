#include "mpi/p2p/stream_slots.h"

#include <string.h>

#include "mpi/base/trace.h"
#include "mpi/core/transport.h"
#include "mpi/datatype/pack.h"
#include "mpi/p2p/send_descriptor.h"
#include "mpi/transport/receive_end.h"

static const struct {
    uint64_t nbytes;
    int first, n; /* of all */
} sizes[] = {{GPU_SLOT_SMALL, 0, 32}, {64 << 10, 32, 8}, {GPU_SLOT_LARGEST, 40, 2}};
#define SIZES 3
#define SENDS_WITHOUT 100 /* after a slot could not be mapped */

/* ---- the receiver */

/* Large messages are nowhere else. While a stream of another GPU waits for one, nothing but the driver could copy it
 * from here, and not while a thread of the application is in it (src/gpu/README.md). */
static bool may_lend(const struct gpu *gpu, uint64_t nbytes)
{
    return gpu_slots_are_plenty(gpu, nbytes) &&
           (nbytes <= GPU_SLOT_SMALL || (gpu_first() == gpu && !gpu->next));
}

void stream_slots_grant(const struct gpubind_operation *receive)
{
    struct peer *peer = receive->peer;
    struct stream_receives *list = peer->stream_receives;
    struct memory_export shared;
    struct gpu_slot slot;

    if (peer->slots_gpu || peer->slots_over || !receive->slot.arena ||
        !gpu_slots_are_plenty(receive->landed.gpu, GPU_SLOT_SMALL))
        return;
    gpu_slot_export(&receive->slot, &shared);
    list->slots_id = shared.id;
    list->slots_start = shared.start;
    list->slots_size = shared.size;
    memcpy(list->slots_handle, &shared.handle, sizeof list->slots_handle);
    for (int size = 0; size < SIZES; size++)
        for (int i = 0; i < sizes[size].n; i++)
            list->slots[sizes[size].first + i] = may_lend(receive->landed.gpu,
                                                          sizes[size].nbytes) &&
                                                         gpu_slot_take(receive->landed.gpu,
                                                                       sizes[size].nbytes, &slot)
                                                     ? slot.at
                                                     : 0;
    peer->slots_gpu = receive->landed.gpu;
    atomic_store_explicit(&list->have_slots, 1, memory_order_release);
}

void stream_slots_forget(const struct gpu *gpu)
{
    for (const struct domain *domain = domain_first(); domain; domain = domain->next)
        for (int i = 0; i < domain->size; i++) {
            struct peer *peer = &domain->peers[i];

            if (peer->slots_gpu != gpu)
                continue;
            atomic_store_explicit(&peer->stream_receives->have_slots, 0, memory_order_release);
            peer->slots_gpu = NULL;
            peer->slots_over = true;
        }
}

gpu_address stream_slot_of(const struct peer *peer, const struct descriptor *from,
                           const struct gpu *gpu)
{
    return from->slot > 0 && from->slot <= STREAM_SLOTS && peer->slots_gpu &&
                   (!gpu || peer->slots_gpu == gpu)
               ? peer->stream_receives->slots[from->slot - 1]
               : 0;
}

static int copy_out(struct gpubind_operation *receive, gpu_address data, struct gpubind_error *err)
{
    struct gpu *gpu = receive->peer->slots_gpu;
    const enum copy_ends ends = !receive->memory.gpu         ? COPY_TO_HOST
                                : receive->memory.gpu == gpu ? COPY_IN_GPU
                                                             : COPY_BY_DRIVER;
    const struct copy copy = {receive->memory.address, data, receive->got_bytes, ends};

    return copy_now(gpu, GPU_OUT, &copy, err);
}

void stream_slot_receive(struct gpubind_operation *receive)
{
    const gpu_address slot = stream_slot_of(receive->peer, receive->from, NULL);
    struct gpubind_error err;
    int status = -1;

    trace(TRACE_P2P, "receive %u: from slot %u", receive->number, receive->from->slot);
    request_went(receive, TRACE_BUFFERED);
    if (!slot)
        error_set(&err, "the context of the GPU that had the data is gone");
    else if (!receive_make_dense(receive))
        return;
    else
        status = copy_out(receive, slot + SIGNAL_KERNEL_SLOT_DATA, &err);
    receive_finish(receive, status, &err);
}

/* ---- the sender */

static bool reaches(const struct gpubind_operation *send)
{
    return transport_reaches(TRANSPORT_IPC, send->domain, send->peer);
}

/* NULL: the receiver lets it use none. */
static const struct stream_receives *list_of(const struct gpubind_operation *send)
{
    const struct segment *segment = &send->domain->segment;
    struct peer *peer = send->peer;
    const struct stream_receives *list;

    if (!atomic_load_explicit(&segment_rtr(segment, peer->local, segment->me)->has_stream_receives,
                              memory_order_acquire))
        return NULL;
    list = segment_stream_receives(segment, peer->local, segment->me);
    if (!atomic_load_explicit(&list->have_slots, memory_order_acquire))
        return NULL;
    for (int i = 0; i < STREAM_SLOTS && !peer->slots_seen; i++)
        if (list->slots[i])
            peer->slots_free |= UINT64_C(1) << i;
    peer->slots_seen = true;
    return list;
}

/* The number of an unused one of that size, from 1; 0: there is none. */
static uint32_t find_free(const struct peer *peer, uint64_t nbytes)
{
    int size = 0;
    uint64_t those;

    while (size < SIZES && sizes[size].nbytes < nbytes)
        size++;
    if (size == SIZES)
        return 0;
    those = ((UINT64_C(1) << sizes[size].n) - 1) << sizes[size].first;
    return (uint32_t)__builtin_ffsll((long long)(peer->slots_free & those));
}

/* Unlike memory of the application's, it says nothing of other memory where it cannot be mapped. That may have been
 * for want of room among the mappings, and is tried again. */
static gpu_address map(struct gpubind_operation *send, uint64_t address,
                       const struct memory_export *shared)
{
    struct gpubind_error unheard;

    if (send->peer->no_slots > 0)
        send->peer->no_slots--;
    else if (mapping_possible(send->peer, shared, send->memory.gpu)) {
        send->mapping = mapping_open(send->peer, shared, send->memory.gpu, NULL, &unheard);
        send->peer->no_slots = send->mapping ? 0 : SENDS_WITHOUT;
    }
    return send->mapping ? mapping_address(send->mapping, address) : 0;
}

void stream_slot_take(struct gpubind_operation *send, struct descriptor *descriptor)
{
    const struct stream_receives *list = send->launches && reaches(send) ? list_of(send) : NULL;
    struct memory_export shared;
    uint32_t number = list ? find_free(send->peer, send->nbytes) : 0;

    descriptor->slot = 0;
    if (number == 0)
        return;
    shared = (struct memory_export){list->slots_id, list->slots_start, list->slots_size, {{0}}};
    memcpy(&shared.handle, list->slots_handle, sizeof shared.handle);
    send->slot_at = map(send, list->slots[number - 1], &shared);
    if (!send->slot_at)
        return;
    descriptor->slot = number;
    descriptor->slot_value = ++send->peer->slots_used | GPU_SLOT_LENT;
    send->peer->slots_free &= ~(UINT64_C(1) << (number - 1));
}

gpu_address stream_slot_map_landing(struct gpubind_operation *send)
{
    const struct stream_receive *entry = send->stream_receive;
    struct memory_export shared = {entry->id, entry->start, entry->size, {{0}}};

    memcpy(&shared.handle, entry->handle, sizeof shared.handle);
    return entry->has_slot && reaches(send) ? map(send, entry->address, &shared) : 0;
}

/* Whoever has taken the data: the next ones have another value. */
void stream_slot_give(struct gpubind_operation *send)
{
    const struct descriptor *descriptor = send_descriptor_of(send);

    if (descriptor->slot > 0)
        send->peer->slots_free |= UINT64_C(1) << (descriptor->slot - 1);
}
