#include "mpi/message/stream_direct.h"

#include <string.h>

#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/shm_inbox.h"
#include "mpi/message/message.h"
#include "mpi/message/stream_eager.h"
#include "mpi/message/stream_match.h"
#include "mpi/message/stream_message.h"
#include "mpi/p2p/incoming.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/rndv_put.h"
#include "mpi/p2p/send_descriptor.h"
#include "mpi/p2p/stream_receive.h"
#include "mpi/p2p/stream_slots.h"
#include "mpi/p2p/unexpected.h"
#include "mpi/stream/stream_flag.h"
#include "mpi/transport/receive_end.h"
#include "mpi/transport/rndv_get.h"

/* ---- what may go so */

static bool is_other_on_node(const struct domain *domain, const struct peer *peer)
{
    return peer && peer->local >= 0 && peer->domain_rank != domain->rank;
}

/* Contiguous memory of the stream's GPU. */
static bool is_plain(const struct gpubind_operation *operation, const struct stream_queue *stream)
{
    return operation->rank != MPI_PROC_NULL && operation->nbytes > 0 && !operation->pack &&
           operation->memory.gpu && operation->memory.gpu == stream_queue_gpu(stream) &&
           (!operation->peer || is_other_on_node(operation->domain, operation->peer));
}

static bool is_small(const struct gpubind_operation *operation)
{
    return operation->nbytes <= (uint64_t)library_settings()->eager;
}

/* ---- a receive whose message has been announced */

static void give_share(struct gpubind_operation *receive)
{
    if (receive->has_share)
        eager_share_give(receive->peer);
    receive->has_share = false;
}

static bool get_is_over(void *what, int *result, struct gpubind_error *err)
{
    struct gpubind_operation *receive = what;
    const struct gpubind_error failed = {"the sender's copy failed"};

    give_share(receive);
    if (receive->result != MPI_SUCCESS)
        receive_finish(receive, -1, &receive->error);
    else if (atomic_load(&receive->from->failed))
        receive_finish(receive, -1, &failed);
    else
        receive_finish(receive, 0, NULL);
    return stream_message_end(receive, result, err);
}

static void look_after_get(void *what)
{
    struct gpubind_operation *receive = what;

    stream_message_open_gate(receive, &receive->from->gate);
}

static const struct stream_work_ops get_ops = {
    .fail = stream_message_break, .is_over = get_is_over, .look_after = look_after_get};

/* The sender's stream writes them to a slot of this GPU, before the flag came. */
static void find_in_slot(struct gpubind_operation *receive, const struct stream_queue *stream,
                         struct stream_steps *steps)
{
    const struct incoming_msg *early = receive->early;
    const struct descriptor *from = early->from;
    const gpu_address slot = stream_slot_of(early->peer, from, receive->memory.gpu);
    _Atomic uint32_t *came = stream_flag_of(receive->domain, early->peer->local, from->gate.came);

    if (from->in_slot) {
        steps->copy.from = slot ? slot + SIGNAL_KERNEL_SLOT_DATA : 0;
        steps->copy.ends = COPY_IN_GPU;
    }
    if (!slot || !came || !stream_queue_launches(stream, early->header.nbytes, true))
        return;
    steps->slot = slot;
    steps->wait = (struct signal_flag){came, from->gate.came_value};
    steps->set = (struct signal_flag){NULL, from->slot_value};
}

/* Where the data of the message are, or will be. takes: they may be in the sender's memory, whose stream waits until they
 * are taken. */
static bool find_data(struct gpubind_operation *receive, const struct stream_queue *stream,
                      bool takes, struct stream_steps *steps)
{
    const struct incoming_msg *early = receive->early;
    struct descriptor *from = early->from;
    const bool there = atomic_load(&from->state) == DESCRIPTOR_EAGER_READY;
    const int local = early->peer->local;

    *steps = (struct stream_steps){
        .copy = {receive->memory.address, 0, early->header.nbytes, COPY_IN_GPU}};
    if (!there) {
        steps->wait.at = stream_flag_of(receive->domain, local, from->gate.came);
        steps->wait.value = from->gate.came_value;
        steps->set.at = stream_flag_of(receive->domain, local, from->gate.go);
        steps->set.value = from->gate.go_value;
        if (!steps->wait.at)
            return false;
    }
    if (there || from->eager_by_stream) {
        if (!from->in_slot && !stream_eager_is_usable(receive->domain, local))
            return false;
        steps->set.at = NULL;
        steps->copy.from = (gpu_address)(uintptr_t)segment_eager(&receive->domain->segment, local,
                                                                 from->eager_buffer);
        steps->copy.ends = COPY_FROM_HOST;
        request_went(receive, TRACE_BUFFERED);
        if (from->eager_by_stream)
            find_in_slot(receive, stream, steps);
        return steps->copy.from != 0;
    }
    if (!takes || !receive->memory.shareable)
        return false;
    receive->mapping = rndv_get_map(receive, early->peer, &early->header, from);
    if (receive->mapping)
        steps->copy.from = mapping_address(receive->mapping, early->header.address);
    return receive->mapping;
}

/* takes: as of find_data. Of what the sender keeps in buffers of its own until then, receives that the stream does not
 * wait for have a share each. */
static bool get(struct gpubind_operation *receive, const struct stream_queue *stream, bool waits,
                bool takes, struct stream_steps *steps)
{
    const struct incoming_msg *early = receive->early;

    if (!early || !early->from || early->header.nbytes == 0 ||
        early->header.nbytes > receive->nbytes || !is_other_on_node(receive->domain, early->peer) ||
        !find_data(receive, stream, takes, steps))
        return false;
    receive->has_share = !waits && !receive->mapping;
    if (receive->has_share && !eager_share_take(receive->domain, early->peer)) {
        receive->has_share = false;
        return false;
    }
    if (receive_claim(receive)) {
        trace(TRACE_P2P, "receive %u: its stream takes the data from %s of rank %d",
              receive->number,
              steps->slot        ? "a slot"
              : receive->mapping ? "memory"
                                 : "an eager buffer",
              receive->source);
        return true;
    }
    if (receive->has_share)
        eager_share_give(early->peer);
    receive->has_share = false;
    if (receive->mapping)
        mapping_done(receive->mapping);
    receive->mapping = NULL;
    return false;
}

/* ---- a receive that could not take its data in a launch: its thread does */

static void take_by_thread(void *what)
{
    struct gpubind_operation *receive = what;

    if (receive->mapping)
        mapping_done(receive->mapping);
    receive->mapping = NULL;
    receive_resume(receive);
}

static void take_fails(void *what)
{
    const struct gpubind_error err = {"the stream cannot be used"};

    receive_finish(what, -1, &err);
}

static void look_after_take(void *what)
{
    struct gpubind_operation *receive = what;

    if (!receive->done)
        receive->ops->look_after(receive);
}

static const struct stream_work_ops take_ops = {.start = take_by_thread,
                                                .fail = take_fails,
                                                .is_over = stream_message_is_over,
                                                .look_after = look_after_take};

/* ---- the call */

static int start_send(struct gpubind_operation *send, struct stream_queue *stream,
                      enum stream_wait_mode mode, bool holds, struct gpubind_error *err)
{
    const uint32_t number = send->gate.came_value;
    struct stream_steps steps = {0};

    send->launches = stream_queue_launches(stream, send->nbytes, false);
    if (send->gate.came && stream_match(send, stream, &steps))
        return holds && !steps.wait.at
                   ? stream_queue_hold(stream, &stream_match_ops, send, &steps, false)
                   : stream_queue_add_steps(stream, &stream_match_ops, send, &steps, false, err);
    message_start(send, false);
    if (send->descriptor < 0) /* not announced yet; then the library does it */
        send->gate = (struct stream_gate){0};
    if (send->gate.came && send_descriptor_of(send)->eager_by_stream)
        return stream_eager_send(send, stream, holds, err);
    if (holds && send->gate.go && rndv_may_copy(send))
        return stream_queue_offer(stream, &stream_message_ops, send);
    if (holds)
        stream_queue_hold_not(stream, number);
    /* What cannot be mapped there goes through bounce buffers, which this rank fills. */
    return stream_queue_add_planned(stream, &stream_message_ops, send, mode,
                                    !send->gate.came || !rndv_may_copy(send), err);
}

/* Its data are put elsewhere first. */
static bool land(struct gpubind_operation *receive, const struct stream_queue *stream, bool waits,
                 struct stream_steps *steps)
{
    return is_small(receive) ? stream_eager_land(receive, stream, steps)
                             : !waits && stream_slot_land(receive, stream, steps);
}

/* Waits for its message in an eager buffer, or in its own. A message that was announced meanwhile is the receive's
 * early one now: else only the thread would find it. */
static void post(struct gpubind_operation *receive, const struct stream_queue *stream, bool waits,
                 struct stream_steps *steps)
{
    const bool lands = land(receive, stream, waits, steps);

    if (!lands && (!waits || is_small(receive)))
        return;
    stream_receive_post(receive);
    atomic_thread_fence(memory_order_seq_cst); /* it is posted before the inbox is looked at */
    if (!receive->stream_receive || !inbox_waits(receive->domain) ||
        !stream_receive_cancel(receive))
        return;
    if (lands)
        stream_unland(receive);
    incoming_read(receive->domain);
    if (receive->early || receive->done)
        return;
    if (!lands || land(receive, stream, waits, steps))
        stream_receive_post(receive);
}

/* The stream waits for it now, or (later) at the next quiet. */
static int start_receive(struct gpubind_operation *receive, struct stream_queue *stream, bool waits,
                         bool later, struct gpubind_error *err)
{
    const bool direct = receive->gate.came && (waits || later);
    const bool grouped = later && stream_queue_holds(stream, receive->nbytes);
    struct stream_steps steps = {0};

    if (direct)
        incoming_read(receive->domain);
    message_start(receive, false);
    if (direct && !receive->early && !receive->done && receive->peer)
        post(receive, stream, waits, &steps);
    if (direct && receive->early && get(receive, stream, waits, waits || grouped, &steps))
        return waits ? stream_queue_add_steps(stream, &get_ops, receive, &steps, false, err)
               : receive->mapping ? stream_queue_take(stream, &take_ops, &get_ops, receive, &steps)
                                  : stream_queue_add_later(stream, NULL, &get_ops, receive, &steps);
    if (receive->landed.gpu)
        return waits ? stream_queue_add_both(stream, &stream_come_ops, &stream_land_ops, receive,
                                             &steps, err)
                     : stream_queue_add_later(stream, &stream_come_ops, &stream_land_ops, receive,
                                              &steps);
    if (!waits)
        stream_queue_unplan(stream);
    return stream_queue_add_planned(stream, &stream_message_ops, receive,
                                    waits ? STREAM_WAIT_NOW : STREAM_WAIT_NEVER,
                                    !receive->stream_receive, err);
}

static bool may_land(const struct gpubind_operation *receive, const struct stream_queue *stream)
{
    return is_small(receive) || (receive->nbytes <= GPU_SLOT_LARGEST &&
                                 stream_queue_launches(stream, receive->nbytes, true));
}

int stream_direct_start(struct gpubind_operation *operation, struct stream_queue *stream,
                        bool waits, struct gpubind_error *err)
{
    const bool plain = is_plain(operation, stream), sends = operation->kind == REQUEST_SEND;
    const bool later = !waits && plain &&
                       (sends ? !send_may_be_eager(operation) && stream_flags_are_plenty()
                              : may_land(operation, stream) && stream_queue_has_later(stream));
    const bool holds = sends && !waits && plain && stream_queue_holds(stream, operation->nbytes);
    struct stream_gate gate;

    if (!holds && (sends || waits))
        stream_queue_release(stream);
    if (stream_queue_plan(stream, waits || later, &gate, err) < 0) {
        request_free(operation);
        return MPI_ERR_OTHER;
    }
    if (holds)
        gate.came_value = stream_queue_held_number(stream);
    if (plain)
        operation->gate = gate;
    if (sends)
        return start_send(operation, stream,
                          waits   ? STREAM_WAIT_NOW
                          : later ? STREAM_WAIT_LATER
                                  : STREAM_WAIT_NEVER,
                          holds, err);
    return start_receive(operation, stream, waits, later, err);
}
