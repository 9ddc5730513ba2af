#include "aware/message/direct_send.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "aware/base/counts.h"
#include "aware/base/next.h"
#include "aware/memory/gpu_buffer.h"
#include "aware/message/direct_data.h"
#include "aware/message/direct_token.h"
#include "aware/message/outgoing_slots.h"

const uint64_t direct_magic[2] = {UINT64_C(0x8e2f6d0bb5a94c17), UINT64_C(0x53c1f7e42a9d860b)};

static atomic_int npending;

int direct_slot_of_length(MPI_Count nbytes)
{
    const MPI_Count above = nbytes - DIRECT_LENGTH;

    return above < 0 || above % DIRECT_LENGTH_STEP || nbytes > DIRECT_LENGTH_MOST
               ? -1
               : (int)(above / DIRECT_LENGTH_STEP);
}

/* Its descriptor is as long as it is itself, which no other descriptor is. */
static bool is_small(uint64_t nbytes)
{
    return nbytes < DIRECT_SMALL_ROOM && direct_slot_of_length((MPI_Count)nbytes) < 0;
}

static void describe(struct outgoing *out, const struct direct_segment *own, int i)
{
    struct direct_slot *slot = out->slot;

    if (is_small(slot->nbytes)) {
        slot->token = out->bytes.token = token_make(own, (uint32_t)i, slot->sequence);
        out->send.length = (int)slot->nbytes;
        return;
    }
    slot->token = 0;
    out->send.length = DIRECT_LENGTH + i * DIRECT_LENGTH_STEP;
    out->bytes.head = (struct direct_descriptor){.magic = {direct_magic[0], direct_magic[1]},
                                                 .nonce = own->nonce,
                                                 .rank = own->rank,
                                                 .slot = (uint32_t)i,
                                                 .sequence = slot->sequence};
}

/* The memory is read from now on. */
static void publish(struct outgoing *out, struct direct_peer *peer, int tag,
                    const struct direct_data *data, const struct traced *call)
{
    const int i = (int)(out - outgoing);
    struct direct_segment *own = direct_own();
    struct direct_slot *slot = &own->slots[i];

    out->slot = slot;
    out->peer = peer;
    out->packed = data->packed;
    out->send.descriptor = &out->bytes;
    out->since = outgoing_now();
    slot->sequence++;
    slot->dest = peer->segment->rank;
    slot->tag = tag;
    slot->nbytes = (uint64_t)data->nbytes;
    slot->address = (uintptr_t)data->gpu;
    slot->memory = data->memory;
    slot->fd = -1;
    if (traced_has_begun(call))
        out->call.event = (struct trace_event){.start = call->event.start,
                                               .bytes = (uint64_t)data->nbytes,
                                               .peer = slot->dest,
                                               .tag = tag,
                                               .kind = TRACE_SEND,
                                               .path = data->packed ? TRACE_PACKED : TRACE_DIRECT};
    atomic_store(&slot->slow, 0);
    describe(out, own, i);
    atomic_store_explicit(&slot->state, DIRECT_READY, memory_order_release);
}

/* ---- sends */

/* A small one costs more than its copies through host memory where the receiver is late. */
static bool may_be_small(struct direct_peer *peer, MPI_Count nbytes)
{
    const unsigned late = atomic_load_explicit(&peer->late, memory_order_relaxed);

    if (!direct_peer_receives_small(peer) || !is_small((uint64_t)nbytes) ||
        direct_own()->rank >= TOKEN_RANKS)
        return false;
    if (late > 0)
        atomic_store_explicit(&peer->late, late - 1, memory_order_relaxed);
    return late == 0;
}

static bool goes_directly(struct direct_peer *peer, MPI_Count nbytes)
{
    return nbytes < DIRECT_LARGE ? may_be_small(peer, nbytes) : direct_peer_receives(peer);
}

/* A message as long as the descriptors of a slot that is in use: a probe could take the one for the other. So
 * this one goes by a descriptor, too, that is shorter, and is in host memory. NULL: there is no such need, or
 * host memory. */
static struct direct_send *begin_unlike(struct direct_data *data, int dest, int tag, MPI_Comm comm,
                                        const struct traced *call)
{
    const int i = is_behind ? -1 : direct_slot_of_length(data->nbytes);
    struct direct_peer *peer = i >= 0 ? direct_peer(comm, dest) : NULL;
    const char *low = peer ? typed_low(&data->typed) : NULL;
    const enum buffer_place place = low ? buffer_place(low) : BUFFER_HOST;
    struct outgoing *out;

    if (!peer || !direct_peer_receives(peer) || place == BUFFER_LOST ||
        typed_needs_whole_elements(&data->typed))
        return NULL;
    out = outgoing_take_below(i);
    if (!out)
        return NULL;
    publish(out, peer, tag, data, call);
    data->typed.host = low && place != BUFFER_GPU;
    out->data = direct_make_file("gpubind-aware-data", out->slot->nbytes, &out->slot->fd);
    if (out->data && typed_pack(&data->typed, out->data) == MPI_SUCCESS) {
        atomic_store(&out->slot->state, DIRECT_BUFFERED);
        return &out->send;
    }
    outgoing_free_data(out);
    direct_send_abandon(&out->send);
    return NULL;
}

struct direct_send *direct_send_begin(const struct traced *call, bool directly, const void *buf,
                                      MPI_Count count, MPI_Datatype type, int dest, int tag,
                                      MPI_Comm comm)
{
    struct direct_data data;
    struct direct_peer *peer;
    struct outgoing *out;

    if (tag < 0)
        return NULL;
    if (!direct_data_find(&data, buf, count, type) || !directly ||
        direct_slot_of_length(data.nbytes) >= 0)
        return begin_unlike(&data, dest, tag, comm, call);
    peer = direct_peer(comm, dest);
    if (!peer || !goes_directly(peer, data.nbytes) || !direct_data_prepare(&data))
        return NULL;
    out = outgoing_take(data.nbytes < DIRECT_LARGE);
    if (!out) {
        gpu_pool_give(data.packed);
        return NULL;
    }
    publish(out, peer, tag, &data, call);
    count_one(COUNT_DIRECT);
    return &out->send;
}

void direct_send_abandon(struct direct_send *send)
{
    struct outgoing *out = (struct outgoing *)send;

    outgoing_release(out);
}

#define EAGER 8192   /* programs may expect that sends of fewer bytes wait for nobody */
#define LATE_COUNT 4 /* small messages to a receiver that was late, until it is tried again */

/* The receiver takes nothing of this process's for as long as it would cost to go on without it. */
static bool is_late(const struct outgoing *out)
{
    const double nbytes = (double)out->slot->nbytes, time = outgoing_now();
    const double patience = nbytes < EAGER ? 20e-6 : 1e-3 + nbytes / 2e9;

    return time - out->since > patience && time - out->peer->active > patience;
}

/* The buffer may be used again. */
static bool is_over(struct outgoing *out)
{
    const uint32_t state = outgoing_state(out);

    if (state == DIRECT_TAKEN || state == DIRECT_DONE)
        out->peer->active = outgoing_now();
    if (state == DIRECT_READY && is_late(out)) {
        atomic_store_explicit(&out->peer->late, LATE_COUNT, memory_order_relaxed);
        outgoing_buffer(out, state);
    }
    if (state == DIRECT_WANTED)
        outgoing_buffer(out, state);
    return outgoing_state(out) == DIRECT_DONE || outgoing_state(out) == DIRECT_BUFFERED ||
           outgoing_state(out) == DIRECT_LOST ||
           (outgoing_state(out) == DIRECT_TAKEN && out->data) ||
           (++out->asked % 4096 == 0 && outgoing_is_lost(out));
}

/* The application's send is complete. The receiver may still look at the slot. */
static void complete(struct outgoing *out)
{
    if (traced_has_begun(&out->call)) {
        if (out->data)
            out->call.event.path = TRACE_BUFFERED;
        traced_end(&out->call);
    }
    outgoing_complete(out);
}

bool direct_send_end(struct direct_send *send)
{
    struct outgoing *out = (struct outgoing *)send;

    if (!is_over(out))
        return false;
    complete(out);
    return true;
}

static int query(void *unused, MPI_Status *status)
{
    (void)unused;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int free_request(void *unused)
{
    (void)unused;
    return MPI_SUCCESS;
}

/* Too late: the receiver may have it. */
static int cancel(void *unused, int complete)
{
    (void)unused, (void)complete;
    return MPI_SUCCESS;
}

int direct_send_later(struct direct_send *send, MPI_Request descriptor, MPI_Request *request)
{
    struct outgoing *out = (struct outgoing *)send;
    const int result = CALL_MPI(PMPI_Grequest_start(query, free_request, cancel, NULL, request));

    if (result != MPI_SUCCESS) { /* its receiver has been told of it */
        outgoing_buffer(out, DIRECT_READY);
        return result;
    }
    out->descriptor = descriptor;
    out->request = *request;
    atomic_fetch_add(&npending, 1);
    atomic_thread_fence(memory_order_release);
    out->generalized = true;
    return result;
}

int direct_sends_pending(void)
{
    return atomic_load_explicit(&npending, memory_order_relaxed);
}

static bool is_descriptor_gone(struct outgoing *out)
{
    int gone = out->descriptor == MPI_REQUEST_NULL;
    const bool was_behind = is_behind;

    is_behind = true;
    if (!gone)
        PMPI_Test(&out->descriptor, &gone, MPI_STATUS_IGNORE);
    is_behind = was_behind;
    return gone;
}

/* Of the requests of direct_send_later. Not while MPI makes progress, in which functions of the application may wait for
 * another of its threads, and that one for this lock. */
static pthread_mutex_t generalized_lock = PTHREAD_MUTEX_INITIALIZER;

void direct_send_freed(MPI_Request request)
{
    if (direct_sends_pending() == 0)
        return;
    pthread_mutex_lock(&generalized_lock);
    for (int i = 0; i < DIRECT_SLOTS; i++)
        if (outgoing[i].generalized && outgoing[i].request == request &&
            outgoing[i].slot->nbytes < EAGER)
            outgoing_buffer(&outgoing[i], DIRECT_READY);
    pthread_mutex_unlock(&generalized_lock);
}

static MPI_Request complete_generalized(struct outgoing *out)
{
    MPI_Request request;

    pthread_mutex_lock(&generalized_lock);
    request = out->request;
    out->generalized = false;
    complete(out);
    pthread_mutex_unlock(&generalized_lock);
    return request;
}

void direct_sends_poll(void)
{
    static atomic_flag polled = ATOMIC_FLAG_INIT; /* by one thread at a time */

    if (direct_sends_pending() == 0 || atomic_flag_test_and_set(&polled))
        return;
    for (int i = 0; i < DIRECT_SLOTS; i++) {
        struct outgoing *out = &outgoing[i];

        if (!out->generalized || !is_over(out) || !is_descriptor_gone(out))
            continue;
        PMPI_Grequest_complete(complete_generalized(out));
        atomic_fetch_sub(&npending, 1);
    }
    atomic_flag_clear(&polled);
}

void direct_send_plain(MPI_Count count, MPI_Datatype type)
{
    MPI_Count size = 0;
    int slot;

    if (is_behind || count <= 0 || type == MPI_DATATYPE_NULL || !direct_own())
        return;
    PMPI_Type_size_x(type, &size);
    slot = direct_slot_of_length(count * size);
    if (slot >= 0)
        outgoing[slot].retired = true;
}

void direct_sends_end(void)
{
    bool waits = true;

    while (direct_sends_pending() > 0) {
        direct_sends_poll();
        progress_of_mpi();
        sched_yield();
    }
    while (waits) {
        waits = false;
        for (int i = 0; i < DIRECT_SLOTS; i++)
            waits |= outgoing[i].used && !outgoing_is_left(&outgoing[i]);
        progress_of_mpi(); /* it may still hold a descriptor back */
        if (waits)
            usleep(50);
    }
    outgoing_serve_no_more();
    for (int i = 0; i < DIRECT_SLOTS; i++)
        outgoing_free_data(&outgoing[i]);
}
