#include "mpi/p2p/send_descriptor.h"

#include <string.h>

#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/shm_inbox.h"
#include "mpi/p2p/stream_slots.h"

struct descriptor *send_descriptor_of(const struct gpubind_operation *send)
{
    const struct segment *segment = &send->domain->segment;

    return segment_descriptor(segment, segment->me, send->descriptor);
}

char *send_eager_buffer(const struct gpubind_operation *send)
{
    const struct segment *segment = &send->domain->segment;

    return segment_eager(segment, segment->me, send->eager_buffer);
}

void send_header_fill(const struct gpubind_operation *send, struct msg_header *header)
{
    msg_sign(header, MSG_RTS);
    header->flags = send->memory.gpu ? MSG_ON_GPU : 0;
    header->context = send->comm->context;
    header->source = send->comm->rank;
    header->tag = send->tag;
    header->type = send->type;
    header->nbytes = send->nbytes;
    header->sequence = send->peer->sent++;
    header->operation = (uint64_t)(uintptr_t)send;
}

static void fill_header(const struct gpubind_operation *send, struct msg_header *header)
{
    struct memory_export shared;
    const bool self = send->peer->domain_rank == send->domain->rank;

    send_header_fill(send, header);
    header->flags |= (uint8_t)((self ? MSG_SELF : 0) | (send->on_stream ? MSG_ON_STREAM : 0));
    header->address = send->memory.address;
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

bool send_take_eager_buffer(struct gpubind_operation *send)
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

/* Receivers leave messages in half of the buffers (unexpected.c), and a send whose turn has come needs one more: the
 * others may be held by what comes after it, sends that wait for their streams, say. */
static bool may_lend(const struct domain *domain)
{
    return domain->nfree_eager > domain->segment.neager / 2 + 1;
}

int eager_buffer_lend(struct domain *domain)
{
    return have_eager_buffers(domain) && may_lend(domain) ? domain_take_descriptor(domain, true)
                                                          : -1;
}

bool send_may_be_eager(const struct gpubind_operation *send)
{
    return !send->release && !send->synchronous &&
           send->nbytes <= (send->memory.gpu ? (uint64_t)library_settings()->eager : EAGER_BYTES);
}

/* The data of the message go with its announcement: host data that fit an eager buffer. */
static bool goes_with_data(struct gpubind_operation *send)
{
    return !send->release && !send->synchronous && send->order != ORDER_DEFERRED &&
           (send->nbytes == 0 ||
            (!send->memory.gpu && send->nbytes <= EAGER_BYTES && send_take_eager_buffer(send)));
}

bool send_descriptor_take(struct gpubind_operation *send)
{
    struct domain *domain = send->domain;
    struct peer *peer = send->peer;
    const int left = domain->segment.ndescriptors - domain->used, share = domain_share(domain);
    const bool buffered = send_may_be_eager(send) &&
                          (send->order == ORDER_DONE || may_lend(domain));

    send->descriptor = -1;
    if (peer->used < share || left > domain->owed)
        send->descriptor = domain_take_descriptor(domain, buffered);
    if (send->descriptor < 0)
        return false;
    domain->owed -= peer->used++ < share;
    domain->used++;
    return true;
}

void send_descriptor_give(struct gpubind_operation *send)
{
    struct domain *domain = send->domain;

    stream_slot_give(send);
    if (send->eager_buffer >= 0 && send->eager_buffer != send->descriptor)
        domain_give_descriptor(domain, send->eager_buffer);
    domain_give_descriptor(domain, send->descriptor);
    domain->owed += --send->peer->used < domain_share(domain);
    domain->used--;
}

static void fill_state(const struct gpubind_operation *send, bool with_data)
{
    struct descriptor *descriptor = send_descriptor_of(send);
    const bool failed = send->result != MPI_SUCCESS; /* its packing */

    atomic_store_explicit(&descriptor->ready, send->order == ORDER_DONE || failed,
                          memory_order_relaxed);
    atomic_store_explicit(&descriptor->filled, 0, memory_order_relaxed);
    atomic_store_explicit(&descriptor->drained, 0, memory_order_relaxed);
    atomic_store_explicit(&descriptor->bounce_refused, 0, memory_order_relaxed);
    atomic_store_explicit(&descriptor->failed, failed, memory_order_relaxed);
    descriptor->mapped = 0;
    descriptor->eager_buffer = send->eager_buffer < 0 ? 0 : send->eager_buffer;
    atomic_store_explicit(&descriptor->state, with_data ? DESCRIPTOR_EAGER_READY : DESCRIPTOR_RTS,
                          memory_order_release);
}

/* A stream can copy to the eager buffers in its order, or by a kernel: to page-locked memory alone. */
static bool take_eager_buffer_for_stream(struct gpubind_operation *send)
{
    const struct domain *domain = send->domain;

    return domain_is_pinned(domain, domain->segment.me, SEGMENT_EAGER) &&
           (send->descriptor < domain->segment.neager || may_lend(domain)) &&
           send_take_eager_buffer(send);
}

/* What a stream will do for the message by itself. A small send does not wait for its receive, so its data need
 * an eager buffer now; without one, the library does it. A larger nonblocking one need not wait where there is a slot
 * for it. */
static void fill_gate(struct gpubind_operation *send)
{
    struct descriptor *descriptor = send_descriptor_of(send);
    const bool small = send->gate.came && send_may_be_eager(send);

    if (small && !take_eager_buffer_for_stream(send))
        send->gate = (struct stream_gate){0};
    descriptor->slot = 0;
    if (send->gate.came && !send->release && !send->synchronous &&
        (small ? send->nbytes <= GPU_SLOT_SMALL : !send->waited))
        stream_slot_take(send, descriptor);
    descriptor->in_slot = !small && descriptor->slot > 0;
    descriptor->eager_by_stream = (small && send->gate.came) || descriptor->in_slot;
    descriptor->gate = send->gate;
    /* Its stream does not wait then, and the flag becomes another call's. */
    if (descriptor->eager_by_stream)
        descriptor->gate.go = 0;
}

bool send_descriptor_fill(struct gpubind_operation *send)
{
    const bool with_data = goes_with_data(send);
    struct msg_header header = {0};

    fill_gate(send);

    if (send->release)
        release_fill(send->release, &header);
    else
        fill_header(send, &header);
    if (with_data)
        header.flags |= MSG_EAGER;
    /* Streams may pass the message, and the application free its memory, before this process sees its end. */
    if (send->gate.came && header.flags & MSG_SHAREABLE &&
        !send_descriptor_of(send)->eager_by_stream)
        ipc_refs_note(send->domain, header.id, header.start, header.size, send->peer->local);
    send_descriptor_of(send)->header = header;
    if (with_data && send->nbytes > 0)
        memcpy(send_eager_buffer(send), send->buffer, send->nbytes);
    fill_state(send, with_data);
    return with_data;
}

void send_copy_to_eager(struct gpubind_operation *send)
{
    struct descriptor *descriptor = send_descriptor_of(send);
    const struct copy copy = {.to = (gpu_address)(uintptr_t)send_eager_buffer(send),
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
        memcpy(send_eager_buffer(send), send->buffer, send->nbytes);
    } else if (send->nbytes > 0 && copy_now(send->memory.gpu, GPU_OUT, &copy, &err) < 0) {
        /* The receiver still can take it, or fails itself. */
        request_complete(send, MPI_ERR_OTHER, "%s", err.text);
        atomic_store(&descriptor->failed, 1);
    }
    atomic_store_explicit(&descriptor->state, DESCRIPTOR_EAGER_READY, memory_order_release);
    inbox_put(send->domain, send->peer, send->descriptor, INBOX_EAGER_READY);
    request_went(send, TRACE_BUFFERED);
    trace(TRACE_P2P, "send %u: not taken yet, its data are in eager buffer %d", send->number,
          send->eager_buffer);
    request_succeed(send);
}

void send_is_in_eager_buffer(struct gpubind_operation *send)
{
    struct descriptor *descriptor = send_descriptor_of(send);
    uint32_t sent = DESCRIPTOR_RTS;

    atomic_store_explicit(&descriptor->ready, 1, memory_order_release);
    if (inbox_has_room(send->domain, send->peer) &&
        atomic_compare_exchange_strong(&descriptor->state, &sent, DESCRIPTOR_EAGER_READY))
        inbox_put(send->domain, send->peer, send->descriptor, INBOX_EAGER_READY);
    request_went(send, TRACE_BUFFERED);
    request_succeed(send);
}
