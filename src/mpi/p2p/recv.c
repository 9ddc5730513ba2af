#include "mpi/p2p/recv.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/list.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/gate.h"
#include "mpi/core/peer_alive.h"
#include "mpi/core/shm_inbox.h"
#include "mpi/datatype/pack.h"
#include "mpi/p2p/deferred_payload.h"
#include "mpi/p2p/rndv_put.h"
#include "mpi/p2p/send_net.h"
#include "mpi/p2p/send_shm.h"
#include "mpi/p2p/stream_receive.h"
#include "mpi/p2p/stream_slots.h"
#include "mpi/p2p/transports.h"
#include "mpi/transport/receive_end.h"
#include "mpi/transport/rndv_staged_shm.h"

/* Receives whose sender is not ready yet. */
static QUEUE_OF(struct gpubind_operation) waiting;
/* Receives with a message that come after work of the GPU which is under way. */
static QUEUE_OF(struct gpubind_operation) late;

static void copy_from(struct gpubind_operation *receive, const char *eager_buffer)
{
    const struct copy copy = {receive->memory.address, (gpu_address)(uintptr_t)eager_buffer,
                              receive->got_bytes, COPY_FROM_HOST};
    struct gpubind_error err;

    receive_finish(receive, copy_now(receive->memory.gpu, GPU_IN, &copy, &err), &err);
}

/* The data are in the sender's eager buffer. */
static void take_eager_buffer(struct gpubind_operation *receive)
{
    const struct segment *segment = &receive->domain->segment;
    const char *eager_buffer = segment_eager(segment, receive->peer->local,
                                             receive->from->eager_buffer);
    struct gpubind_error err;

    trace(TRACE_P2P, "receive %u: from eager buffer %d", receive->number,
          receive->from->eager_buffer);
    request_went(receive, TRACE_BUFFERED);
    if (receive->got_bytes == 0) {
        receive_finish(receive, 0, NULL);
    } else if (receive->pack) {
        domain_pin(receive->domain, receive->peer->local, SEGMENT_EAGER);
        receive_finish(receive, pack_scatter_host(receive, eager_buffer, &err), &err);
    } else if (receive->memory.gpu) {
        domain_pin(receive->domain, receive->peer->local, SEGMENT_EAGER);
        copy_from(receive, eager_buffer);
    } else {
        memcpy(receive->buffer, eager_buffer, receive->got_bytes);
        receive_finish(receive, 0, NULL);
    }
}

static void take(struct gpubind_operation *receive)
{
    if (receive->got_bytes == 0)
        receive_finish(receive, 0, NULL);
    else
        transports_get(receive, &receive->from->header);
}

/* Its stream may have put the data there, which its process has not seen yet. */
static bool sender_is_ready(const struct gpubind_operation *receive)
{
    const struct descriptor *from = receive->from;

    return atomic_load_explicit(&from->ready, memory_order_acquire) ||
           gate_has_come(receive->domain, receive->peer->local, &from->gate);
}

/* true: it no longer waits. */
static bool advance(struct gpubind_operation *receive)
{
    struct descriptor *from = receive->from;
    const struct gpubind_error failed = {"the sender's copy failed"};
    uint32_t state = atomic_load_explicit(&from->state, memory_order_acquire);

    if (state == DESCRIPTOR_RTS)
        atomic_compare_exchange_strong(&from->state, &state, DESCRIPTOR_MATCHED);
    state = atomic_load_explicit(&from->state, memory_order_acquire);
    if (state == DESCRIPTOR_EAGER_COPY ||
        (state == DESCRIPTOR_MATCHED && !sender_is_ready(receive)))
        return false;
    if (atomic_load_explicit(&from->failed, memory_order_relaxed))
        receive_finish(receive, -1, &failed);
    else if (from->in_slot)
        stream_slot_receive(receive);
    else if (state == DESCRIPTOR_EAGER_READY || from->eager_by_stream)
        take_eager_buffer(receive);
    else
        take(receive);
    return true;
}

static void local_receive(struct gpubind_operation *receive)
{
    receive->held = true;
    if (receive->on_stream)
        request_serve(receive);
    if (advance(receive))
        return;
    QUEUE_PUSH_FRONT(&waiting, receive, next);
}

void receive_drop(const struct incoming_msg *incoming)
{
    uint32_t state = DESCRIPTOR_RTS;

    if (incoming->from) {
        /* A sender that copies it to an eager buffer at this moment sets its state after ours. */
        if (!atomic_compare_exchange_strong(&incoming->from->state, &state, DESCRIPTOR_MATCHED))
            while (atomic_load(&incoming->from->state) == DESCRIPTOR_EAGER_COPY &&
                   !peer_check(incoming->domain, incoming->peer))
                sched_yield();
        gate_let_go(incoming->domain, incoming->peer->local, &incoming->from->gate);
        inbox_acknowledge(incoming->domain, incoming->peer, incoming->from, DESCRIPTOR_FIN);
    } else {
        recv_net_refuse(incoming);
    }
}

/* The buffer is too small: the message is consumed, the sender none the wiser. */
static void truncate_receive(struct gpubind_operation *receive, const struct incoming_msg *incoming)
{
    receive_drop(incoming);
    request_complete(receive, MPI_ERR_TRUNCATE,
                     "%llu bytes from rank %d with tag %d do not fit the buffer of %llu bytes",
                     (unsigned long long)incoming->header.nbytes, incoming->header.source,
                     incoming->header.tag, (unsigned long long)receive->nbytes);
}

static void keep_early(struct gpubind_operation *receive, const struct incoming_msg *incoming)
{
    if (!receive->early)
        receive->early = malloc(sizeof *receive->early);
    if (!receive->early)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *receive->early = *incoming;
    if (incoming->header.flags & MSG_PAYLOAD_DEFERRED)
        deferred_payload_expect(receive);
}

void receive_again(struct gpubind_operation *receive)
{
    struct incoming_msg *early = receive->early;

    if (!early || receive->order == ORDER_DEFERRED || early->header.flags & MSG_PAYLOAD_DEFERRED)
        return;
    receive->early = NULL;
    receive_start(receive, early);
    free(early);
}

static void keep_late(struct gpubind_operation *receive, const struct incoming_msg *incoming)
{
    keep_early(receive, incoming);
    receive->held = true;
    QUEUE_PUSH(&late, receive, next);
}

static void drop_early(struct gpubind_operation *receive)
{
    receive_drop(receive->early);
    free(receive->early);
    receive->early = NULL;
    request_release(receive);
}

static void start_late(void)
{
    struct gpubind_operation *all = late.first;

    late.first = NULL;
    while (all) {
        struct gpubind_operation *receive = all;

        all = receive->next;
        if (!receive->done && request_check_order(receive) == 0) {
            QUEUE_PUSH(&late, receive, next);
        } else if (receive->done) { /* its peer is gone, or that work has failed */
            drop_early(receive);
        } else {
            receive->held = false;
            receive_again(receive);
        }
    }
}

static void note_message(struct gpubind_operation *receive, const struct incoming_msg *incoming)
{
    const struct msg_header *header = &incoming->header;

    trace(TRACE_P2P, "receive %u: matches message %llu of rank %d, tag %d, %llu bytes",
          receive->number, (unsigned long long)header->sequence, header->source, header->tag,
          (unsigned long long)header->nbytes);
    receive->source = header->source;
    receive->got_tag = header->tag;
    receive->got_bytes = header->nbytes;
    receive->got_type = header->type;
    receive->got_on_gpu = header->flags & MSG_ON_GPU;
    receive->peer = incoming->peer;
    receive->from = incoming->from;
}

bool receive_claim(struct gpubind_operation *receive)
{
    struct incoming_msg *early = receive->early;
    uint32_t state = DESCRIPTOR_RTS;

    if (!atomic_compare_exchange_strong(&early->from->state, &state, DESCRIPTOR_MATCHED) &&
        state != DESCRIPTOR_EAGER_READY)
        return false;
    note_message(receive, early);
    receive->early = NULL;
    receive->held = true;
    receive->order = ORDER_DONE;
    free(early);
    return true;
}

void receive_resume(struct gpubind_operation *receive)
{
    local_receive(receive);
}

void receive_start(struct gpubind_operation *receive, const struct incoming_msg *incoming)
{
    const struct msg_header *header = &incoming->header;

    if (receive->order == ORDER_DEFERRED ||
        (header->flags & MSG_PAYLOAD_DEFERRED && header->nbytes <= receive->nbytes)) {
        keep_early(receive, incoming);
        return;
    }
    rtr_withdraw(receive);
    note_message(receive, incoming);
    if (header->nbytes > receive->nbytes)
        truncate_receive(receive, incoming);
    else if (receive->order == ORDER_OPEN)
        keep_late(receive, incoming);
    else if (incoming->from)
        local_receive(receive);
    else
        recv_net(receive, incoming);
}

/* A copy from memory that is mapped here needs no sender. */
void receive_abandon(struct gpubind_operation *receive)
{
    struct gpubind_error gone;

    stream_receive_progress(receive);
    if (receive->done)
        return;
    stream_receive_forget(receive);
    error_set(&gone, "rank %d is gone", receive->rank < 0 ? receive->source : receive->rank);
    if (match_withdraw(receive)) {
        rtr_withdraw(receive);
        request_complete(receive, MPI_ERR_OTHER, "%s", gone.text);
    } else if (receive->from && QUEUE_REMOVE(&waiting, receive, next)) {
        /* none of its data were under way */
        receive_finish(receive, -1, &gone);
    } else if (
        receive
            ->early) { /* without MSG_PAYLOAD_DEFERRED it has come, and waits for a stream here */
        if (!(receive->early->header.flags & MSG_PAYLOAD_DEFERRED))
            return;
        deferred_payload_withdraw(receive);
        request_complete(receive, MPI_ERR_OTHER, "%s", gone.text);
    } else if (!receive->from) {
        request_complete(receive, MPI_ERR_OTHER, "%s", gone.text);
    } else {
        staged_receive_abandon(receive);
    }
}

void receives_progress(void)
{
    struct gpubind_operation *all;

    start_late();
    all = waiting.first;
    waiting.first = NULL;
    while (all) {
        struct gpubind_operation *receive = all;

        all = all->next;
        if (!advance(receive))
            QUEUE_PUSH_FRONT(&waiting, receive, next);
    }
}
