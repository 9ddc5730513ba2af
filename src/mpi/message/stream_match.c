#include "mpi/message/stream_match.h"

#include <string.h>

#include "mpi/base/trace.h"
#include "mpi/message/message.h"
#include "mpi/message/stream_eager.h"
#include "mpi/message/stream_message.h"
#include "mpi/p2p/rndv_put.h"
#include "mpi/p2p/stream_receive.h"
#include "mpi/p2p/stream_slots.h"
#include "mpi/stream/stream_flag.h"

static bool put_is_over(void *what, int *result, struct gpubind_error *err)
{
    struct gpubind_operation *send = what;

    if (send->stream_receive)
        stream_receive_end(send, send->result == MPI_SUCCESS);
    if (send->mapping)
        mapping_done(send->mapping);
    send->mapping = NULL;
    if (!send->done && send->result == MPI_SUCCESS)
        request_succeed(send);
    else if (!send->done)
        request_fail(send);
    return stream_message_end(send, result, err);
}

static void look_after_put(void *what)
{
    struct gpubind_operation *send = what;

    if (send->stream_receive && send->stream_receive->landing < 0 &&
        !send->stream_receive->has_slot)
        stream_message_open_gate(send, &send->stream_receive->gate);
}

const struct stream_work_ops stream_match_ops = {
    .fail = stream_message_break, .is_over = put_is_over, .look_after = look_after_put};

static bool map_receiver(struct gpubind_operation *send, gpu_address *to)
{
    const struct stream_receive *entry = send->stream_receive;
    struct memory_export shared = {entry->id, entry->start, entry->size, {{0}}};

    memcpy(&shared.handle, entry->handle, sizeof shared.handle);
    send->mapping = rndv_map(send, &shared);
    if (send->mapping)
        *to = mapping_address(send->mapping, entry->address);
    return send->mapping;
}

/* Its stream waits for a slot of its GPU, too, which is nearer to both. */
static bool find_slot(struct gpubind_operation *send, const struct stream_queue *stream,
                      struct stream_steps *steps)
{
    const gpu_address slot = stream_queue_launches(stream, send->nbytes, false)
                                 ? stream_slot_map_landing(send)
                                 : 0;

    if (!slot)
        return false;
    steps->copy.to = slot + SIGNAL_KERNEL_SLOT_DATA;
    steps->set = (struct signal_flag){(const _Atomic uint32_t *)(uintptr_t)slot,
                                      send->stream_receive->slot_value};
    return true;
}

/* The receive that the send has matched can be written to. */
static bool find_room(struct gpubind_operation *send, const struct stream_queue *stream,
                      struct stream_steps *steps)
{
    const struct stream_receive *entry = send->stream_receive;
    const int local = send->peer->local;

    steps->copy = (struct copy){0, send->memory.address, send->nbytes, COPY_IN_GPU};
    steps->set.at = stream_flag_of(send->domain, local, entry->gate.go);
    steps->set.value = entry->gate.go_value;
    if (!steps->set.at)
        return false;
    if (entry->landing >= 0 || entry->has_slot) {
        request_went(send, TRACE_BUFFERED);
        if (find_slot(send, stream, steps))
            return true;
        if (entry->landing < 0 || !stream_eager_is_usable(send->domain, local))
            return false;
        steps->copy.to = (gpu_address)(uintptr_t)segment_eager(&send->domain->segment, local,
                                                               entry->landing);
        steps->copy.ends = COPY_TO_HOST;
        return true;
    }
    steps->wait.at = stream_flag_of(send->domain, local, entry->gate.came);
    steps->wait.value = entry->gate.came_value;
    return steps->wait.at && map_receiver(send, &steps->copy.to);
}

bool stream_match(struct gpubind_operation *send, const struct stream_queue *stream,
                  struct stream_steps *steps)
{
    if (!stream_receive_match(send))
        return false;
    if (find_room(send, stream, steps)) {
        trace(TRACE_P2P, "send %u: its stream writes to %sthe receive that rank %d has advertised",
              send->number, send->mapping && send->stream_receive->has_slot ? "the slot of " : "",
              send->rank);
        return true;
    }
    stream_receive_reopen(send);
    return false;
}
