#include "mpi/message/stream_eager.h"

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

/* It is announced, and has an eager buffer. */
int stream_eager_send(struct gpubind_operation *send, struct stream_queue *stream,
                      struct gpubind_error *err)
{
    const struct stream_steps steps = {.copy = {(gpu_address)(uintptr_t)send_eager_buffer(send),
                                                send->memory.address, send->nbytes, COPY_TO_HOST},
                                       .set = {NULL, send_descriptor_of(send)->slot_value},
                                       .slot = stream_slot_map(send)};

    return stream_queue_add_steps(stream, &eager_ops, send, &steps, true, err);
}

/* ---- a small receive that waits for its message: the data come to an eager buffer first */

/* A shorter message leaves the rest of the buffer as it is. */
static int keep_rest(const struct gpubind_operation *receive, struct gpubind_error *err)
{
    const uint64_t got = receive->result == MPI_SUCCESS ? receive->got_bytes : 0;
    const struct copy copy = {receive->memory.address + got, receive->landed.address + got,
                              receive->nbytes - got, COPY_TO_HOST};

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

static bool landing_is_over(void *what, int *result, struct gpubind_error *err)
{
    struct gpubind_operation *receive = what;

    if (!receive->has_landed)
        return false;
    domain_give_descriptor(receive->domain, receive->landing);
    gpu_slot_give(&receive->slot);
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

/* From now on it is a receive of host memory, which can come at any time. */
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
    request_went(receive, TRACE_BUFFERED);
    receive->landed = receive->memory;
    receive->memory = (struct memory){.address = (gpu_address)(uintptr_t)at};
    receive->buffer = at;
    receive->order = ORDER_DONE;
    steps->copy = (struct copy){receive->landed.address, receive->memory.address, receive->nbytes,
                                COPY_FROM_HOST};
    if (receive->nbytes <= GPU_SLOT_DATA && stream_queue_launches(stream, receive->nbytes, true) &&
        gpu_slot_take(receive->landed.gpu, &receive->slot)) {
        steps->slot = receive->slot.at;
        steps->set = (struct signal_flag){NULL, receive->slot.value};
    }
    return true;
}

void stream_eager_unland(struct gpubind_operation *receive)
{
    domain_give_descriptor(receive->domain, receive->landing);
    gpu_slot_give(&receive->slot);
    receive->landing = -1;
    receive->memory = receive->landed;
    receive->buffer = (void *)(uintptr_t)receive->landed.address;
    receive->order = ORDER_DEFERRED;
    request_went(receive, TRACE_DIRECT);
}
