#include "mpi/message/stream_eager.h"

#include "mpi/core/transport.h"
#include "mpi/message/stream_message.h"
#include "mpi/p2p/send_descriptor.h"
#include "mpi/p2p/stream_receive.h"
#include "mpi/p2p/stream_slots.h"

bool stream_eager_is_usable(const struct domain *domain, int local)
{
    return domain_is_pinned(domain, local, SEGMENT_EAGER);
}

/* ---- a send to an eager buffer of this rank */

static void end_eager(void *what)
{
    struct gpubind_operation *send = what;

    send->order = ORDER_DONE;
    if (!send->done)
        send_is_in_eager_buffer(send);
}

static bool eager_is_over(void *what, int *result, struct gpubind_error *err)
{
    struct gpubind_operation *send = what;

    if (send->mapping)
        mapping_done(send->mapping);
    send->mapping = NULL;
    return stream_message_end(what, result, err);
}

static const struct stream_work_ops eager_ops = {
    .start = end_eager, .fail = stream_message_fail, .is_over = eager_is_over};

/* It is announced, and has an eager buffer, a slot, or both. */
int stream_eager_send(struct gpubind_operation *send, struct stream_queue *stream, bool holds,
                      struct gpubind_error *err)
{
    const struct descriptor *descriptor = send_descriptor_of(send);
    struct stream_steps steps = {.copy = {0, send->memory.address, send->nbytes, COPY_IN_GPU},
                                 .set = {NULL, descriptor->slot_value}};

    if (descriptor->in_slot) {
        steps.copy.to = send->slot_at + SIGNAL_KERNEL_SLOT_DATA;
        steps.set.at = (const _Atomic uint32_t *)(uintptr_t)send->slot_at;
    } else {
        steps.copy.to = (gpu_address)(uintptr_t)send_eager_buffer(send);
        steps.copy.ends = COPY_TO_HOST;
        steps.slot = send->slot_at;
    }
    return holds ? stream_queue_hold(stream, &eager_ops, send, &steps, true)
                 : stream_queue_add_steps(stream, &eager_ops, send, &steps, true, err);
}

/* ---- a receive that waits for its message: the data come to an eager buffer or to a slot first */

/* A shorter message leaves the rest of the buffer as it is. */
static int keep_rest(const struct gpubind_operation *receive, struct gpubind_error *err)
{
    const uint64_t got = receive->result == MPI_SUCCESS ? receive->got_bytes : 0;
    const struct copy copy = {receive->memory.address + got, receive->landed.address + got,
                              receive->nbytes - got,
                              receive->landing >= 0 ? COPY_TO_HOST : COPY_IN_GPU};

    return got == receive->nbytes || !receive->landed.gpu
               ? 0
               : copy_now(receive->landed.gpu, GPU_IN, &copy, err);
}

static bool has_come(void *what, int *result, struct gpubind_error *err)
{
    struct gpubind_operation *receive = what;

    stream_receive_progress(receive);
    if (!receive->done)
        return false;
    *result = receive->result;
    *err = receive->error;
    if (keep_rest(receive, err) < 0)
        *result = MPI_ERR_OTHER;
    receive->has_landed = true;
    receive->result = MPI_SUCCESS; /* the failure is told of by now */
    return true;
}

static void look_after_landing(void *what)
{
    struct gpubind_operation *receive = what;

    if (!receive->done)
        receive->ops->look_after(receive);
}

static void give_up_landing(void *what)
{
    struct gpubind_operation *receive = what;

    stream_message_give_up(receive, receive->tag);
}

const struct stream_work_ops stream_come_ops = {stream_message_start, stream_message_fail, has_come,
                                                look_after_landing, give_up_landing};

static void give_landing(struct gpubind_operation *receive)
{
    if (receive->landing >= 0)
        domain_give_descriptor(receive->domain, receive->landing);
    gpu_slot_give(&receive->slot);
    receive->landing = -1;
}

static bool landing_is_over(void *what, int *result, struct gpubind_error *err)
{
    struct gpubind_operation *receive = what;

    if (!receive->has_landed)
        return false;
    give_landing(receive);
    return stream_message_end(receive, result, err);
}

/* The stream copies nothing. */
static void landing_fails(void *what)
{
    struct gpubind_operation *receive = what;

    receive->landed.gpu = NULL;
    gpu_slot_retire(&receive->slot);
}

const struct stream_work_ops stream_land_ops = {.fail = landing_fails, .is_over = landing_is_over};

/* From now on it is a receive of that memory, which can come at any time. */
static void land(struct gpubind_operation *receive, const struct memory *memory, void *buffer,
                 enum copy_ends ends, struct stream_steps *steps)
{
    request_went(receive, TRACE_BUFFERED);
    receive->landed = receive->memory;
    receive->memory = *memory;
    receive->buffer = buffer;
    receive->order = ORDER_DONE;
    steps->copy = (struct copy){receive->landed.address, memory->address, receive->nbytes, ends};
    if (!receive->slot.arena)
        return;
    steps->slot = receive->slot.at;
    steps->set = (struct signal_flag){NULL, receive->slot.value};
}

static bool take_slot(struct gpubind_operation *receive, const struct stream_queue *stream)
{
    return receive->peer && transport_reaches(TRANSPORT_IPC, receive->domain, receive->peer) &&
           stream_queue_launches(stream, receive->nbytes, true) &&
           gpu_slot_take(receive->memory.gpu, receive->nbytes, &receive->slot);
}

bool stream_eager_land(struct gpubind_operation *receive, const struct stream_queue *stream,
                       struct stream_steps *steps)
{
    struct domain *domain = receive->domain;
    const int local = domain->segment.me;
    char *at;

    receive->landing = stream_eager_is_usable(domain, local) ? eager_buffer_lend(domain) : -1;
    if (receive->landing < 0)
        return false;
    at = segment_eager(&domain->segment, local, receive->landing);
    if (receive->nbytes <= GPU_SLOT_SMALL)
        take_slot(receive, stream);
    land(receive, &(struct memory){.address = (gpu_address)(uintptr_t)at}, at, COPY_FROM_HOST,
         steps);
    return true;
}

bool stream_slot_land(struct gpubind_operation *receive, const struct stream_queue *stream,
                      struct stream_steps *steps)
{
    struct memory memory;

    if (!take_slot(receive, stream))
        return false;
    memory = gpu_slot_memory(&receive->slot);
    land(receive, &memory, (void *)(uintptr_t)memory.address, COPY_IN_GPU, steps);
    return true;
}

void stream_unland(struct gpubind_operation *receive)
{
    give_landing(receive);
    receive->memory = receive->landed;
    receive->landed = (struct memory){0};
    receive->buffer = (void *)(uintptr_t)receive->memory.address;
    receive->order = ORDER_DEFERRED;
    request_went(receive, TRACE_DIRECT);
}
