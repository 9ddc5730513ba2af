#include "aware/message/direct_receive.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aware/base/next.h"
#include "aware/memory/gpu_buffer.h"
#include "aware/memory/typed.h"
#include "aware/message/direct_data.h"
#include "aware/message/direct_send.h"
#include "aware/message/direct_token.h"
#include "mpi/datatype/type_cache.h"
#include "mpi/datatype/type_contents.h"

static pthread_mutex_t small_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool overlooked; /* a small receive that is complete after its call */

/* Small receives cost the look that they get, and a process without GPU memory is spared it. Those that
 * were overlooked then may still be there later: this process gets no small direct message any more. */
static bool looks_at_small(struct direct_segment *own, bool later)
{
    bool looks;

    if (atomic_load_explicit(&own->receives_small, memory_order_acquire))
        return true;
    if (atomic_load_explicit(&overlooked, memory_order_relaxed))
        return false;
    if (!later && !gpu_is_in_use())
        return true;
    pthread_mutex_lock(&small_lock);
    if (gpu_is_in_use() && !overlooked && !atomic_load(&own->ended))
        atomic_store(&own->receives_small, 1);
    looks = atomic_load(&own->receives_small);
    if (!looks && later)
        atomic_store(&overlooked, true);
    pthread_mutex_unlock(&small_lock);
    return looks || !later;
}

MPI_Count direct_receives(MPI_Count count, MPI_Datatype type, bool later)
{
    struct direct_segment *own = is_behind ? NULL : direct_own();
    MPI_Count size = 0, nbytes;
    bool small;

    if (!own || count <= 0 || type == MPI_DATATYPE_NULL)
        return 0;
    if (!atomic_load_explicit(&own->receives, memory_order_relaxed) && gpu_is_in_use() &&
        !atomic_load(&own->ended))
        atomic_store(&own->receives, 1);
    PMPI_Type_size_x(type, &size);
    nbytes = count * size;
    if (nbytes < DIRECT_LEAST)
        return 0;
    small = looks_at_small(own, later && nbytes < DIRECT_LENGTH);
    return small || nbytes >= DIRECT_LENGTH ? nbytes : 0;
}

/* ---- whose descriptor */

/* Elements of a pair of a value and an int have gaps. */
static bool is_pair(MPI_Datatype type)
{
    size_t value, second;

    return type_is_pair(type_number(type), &value, &second);
}

/* The first nbytes of the buffer that MPI has received in. */
static void read_head(const struct staged *staged, void *head, size_t nbytes)
{
    const struct staged_part *part = &staged->parts[0];
    const struct typed typed = {staged->host, part->count, part->type, true, false};

    memset(head, 0, nbytes);
    if (staged->dense || (type_is_basic(part->type) && !is_pair(part->type)))
        memcpy(head, staged->host, nbytes);
    else
        typed_head(&typed, head, nbytes);
}

/* Its slot has a message for this process that nobody has taken. */
static bool is_open(const struct direct_slot *slot)
{
    const uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

    return (state == DIRECT_READY || state == DIRECT_BUFFERING || state == DIRECT_BUFFERED) &&
           slot->dest == direct_own()->rank;
}

/* How a sender is looked for: now, or until it is found. */
typedef struct direct_peer *find_peer(int rank);

static bool find_small(uint64_t token, struct direct_message *message, find_peer *find)
{
    message->peer = find(token_rank(token));
    if (!message->peer || token_slot(token) >= DIRECT_SMALL_SLOTS)
        return false;
    message->slot = &message->peer->segment->slots[token_slot(token)];
    return is_open(message->slot) && message->slot->token == token;
}

static bool is_head(const struct direct_descriptor *head)
{
    return head->magic[0] == direct_magic[0] && head->magic[1] == direct_magic[1] &&
           head->slot < DIRECT_SLOTS;
}

static bool find_large(const struct direct_descriptor *head, struct direct_message *message,
                       find_peer *find)
{
    if (!is_head(head))
        return false;
    message->peer = find(head->rank);
    if (!message->peer || message->peer->segment->nonce != head->nonce)
        return false;
    message->slot = &message->peer->segment->slots[head->slot];
    return is_open(message->slot) && message->slot->sequence == head->sequence &&
           !message->slot->token;
}

static bool find_message(const struct staged *staged, struct direct_message *message,
                         find_peer *find)
{
    const struct staged_part *part = &staged->parts[0];
    struct direct_descriptor head;
    uint64_t token;

    read_head(staged, &token, sizeof token);
    if (token == direct_magic[0] && staged->direct >= DIRECT_LENGTH) {
        read_head(staged, &head, sizeof head);
        if (!find_large(&head, message, find))
            return false;
    } else if (!token_is_of(token, direct_own()->job) || !find_small(token, message, find)) {
        return false;
    }
    message->typed = typed_at(staged->user, part->displacement, part->count, part->type);
    message->typed.host = !staged->staged;
    message->room = staged->staged ? staged->block.at : NULL;
    return true;
}

bool direct_has_come(const struct staged *staged)
{
    struct direct_message message;

    return staged->direct && find_message(staged, &message, direct_peer_now);
}

bool direct_is_ready(const struct staged *staged)
{
    struct direct_message message;

    return find_message(staged, &message, direct_peer_now) &&
           (!staged->staged || !direct_must_wait(typed_first(&message.typed)));
}

/* ---- the data */

enum taken { TAKEN_ON_GPU, TAKEN_BUFFERED, TAKEN_NOT };

/* TAKEN_ON_GPU: it stays in GPU memory until it is done. TAKEN_NOT: the sender's process has ended. */
static enum taken take(const struct direct_message *message)
{
    for (;;) {
        uint32_t ready = DIRECT_READY, buffered = DIRECT_BUFFERED;

        if (atomic_compare_exchange_strong(&message->slot->state, &ready, DIRECT_TAKEN))
            return TAKEN_ON_GPU;
        if (atomic_compare_exchange_strong(&message->slot->state, &buffered, DIRECT_TAKEN))
            return TAKEN_BUFFERED;
        if (!direct_peer_lives(message->peer))
            return TAKEN_NOT;
        sched_yield();
    }
}

/* The sender is to buffer it. false: its process has ended. */
static bool want(const struct direct_message *message)
{
    struct direct_slot *slot = message->slot;
    struct direct_segment *segment = message->peer->segment;
    uint32_t buffered;

    atomic_store(&slot->slow, !direct_memory_in_way(message->peer));
    atomic_store(&slot->state, DIRECT_WANTED);
    direct_wake(segment);
    for (;;) {
        buffered = DIRECT_BUFFERED;
        if (atomic_compare_exchange_strong(&slot->state, &buffered, DIRECT_TAKEN))
            return true;
        if (buffered == DIRECT_LOST || !direct_peer_lives(message->peer))
            return false;
        usleep(20);
    }
}

/* Contiguous data, which lies where the buffer does unless that is MPI_BOTTOM. */
static bool is_on_gpu(const struct direct_message *message, const void *start)
{
    return message->typed.absolute ? buffer_is_on_gpu(start) : !message->typed.host;
}

/* Bytes in host memory go to the application's buffer. An MPI error class. */
static int put(const struct direct_message *message, const void *bytes, size_t nbytes)
{
    char *start;

    if (!typed_is_contiguous(&message->typed, &start))
        return typed_unpack(&message->typed, bytes, (MPI_Count)nbytes);
    if (is_on_gpu(message, start))
        return buffer_to_gpu(start, bytes, nbytes) < 0 ? MPI_ERR_BUFFER : MPI_SUCCESS;
    memcpy(start, bytes, nbytes);
    return MPI_SUCCESS;
}

static const struct direct_slot *slots_of(const struct direct_message *message)
{
    return message->peer->segment->slots;
}

static int put_buffered(const struct direct_message *message, size_t nbytes)
{
    const size_t all = message->slot->nbytes;
    void *data;
    int result;

    if (message->slot->token)
        return put(message, message->peer->segment->small[message->slot - slots_of(message)],
                   nbytes);
    data = direct_peer_map(message->peer, message->slot->fd, all, false);
    if (!data)
        return MPI_ERR_OTHER;
    result = put(message, data, nbytes);
    munmap(data, all);
    return result;
}

/* By way of host memory, where the buffer has gaps. false: the GPU memory cannot be mapped. */
static bool pull_in_parts(struct direct_message *message)
{
    const size_t nbytes = (size_t)message->nbytes;
    void *room = message->room ? message->room : malloc(nbytes);
    bool pulled = room &&
                  direct_copy_start(&message->copy, message->peer, message->slot, room, false,
                                    nbytes) &&
                  direct_copy_wait(&message->copy) == 0;

    if (pulled) {
        message->result = typed_unpack(&message->typed, room, message->nbytes);
        message->path = message->typed.host ? TRACE_PACKED : TRACE_BUFFERED;
    }
    if (room != message->room)
        free(room);
    return pulled;
}

/* Into GPU memory with gaps. false: it goes another way. */
static bool pull_apart(struct direct_message *message)
{
    const struct direct_slot *slot = message->slot;
    struct direct_map map;
    const void *there = direct_map(&map, message->peer, &slot->memory, slot->address,
                                   typed_low(&message->typed));

    if (!there)
        return false;
    message->result = typed_unpack_gpu(&message->typed, there, message->nbytes);
    message->path = TRACE_PACKED;
    direct_unmap(&map);
    return message->result == MPI_SUCCESS;
}

/* false: the GPU memory cannot be mapped. */
static bool pull(struct direct_message *message)
{
    char *start;

    if (!typed_is_contiguous(&message->typed, &start))
        return (!message->typed.host && typed_low(&message->typed) && pull_apart(message)) ||
               pull_in_parts(message);
    message->copying = direct_copy_start(&message->copy, message->peer, message->slot, start,
                                         is_on_gpu(message, start), (size_t)message->nbytes);
    return message->copying;
}

/* The sender's host memory is taken where its GPU memory cannot be. */
static void receive_from_host(struct direct_message *message, enum taken taken)
{
    message->path = TRACE_BUFFERED;
    if (taken == TAKEN_BUFFERED || (taken == TAKEN_ON_GPU && want(message)))
        message->result = put_buffered(message, (size_t)message->nbytes);
    if (message->result == MPI_ERR_OTHER)
        fprintf(stderr,
                "gpubind: a message of %lld bytes from rank %d of MPI_COMM_WORLD is lost: that "
                "process has ended, or neither its GPU memory nor its files can be mapped\n",
                (long long)message->nbytes, message->peer->segment->rank);
}

bool direct_message_start(struct direct_message *message, const struct staged *staged)
{
    MPI_Count room;
    enum taken taken;

    if (!staged->direct || !find_message(staged, message, direct_peer_of_sender))
        return false;
    room = typed_bytes(&message->typed);
    message->nbytes = (MPI_Count)message->slot->nbytes;
    if (message->nbytes > room)
        message->nbytes = room;
    message->path = TRACE_DIRECT;
    message->copying = false;
    message->result = MPI_ERR_OTHER;
    taken = take(message);
    if (taken != TAKEN_ON_GPU || !pull(message))
        receive_from_host(message, taken);
    return true;
}

int direct_message_end(struct direct_message *message)
{
    const bool truncated = message->nbytes < (MPI_Count)message->slot->nbytes;

    if (message->copying && direct_copy_wait(&message->copy) == 0)
        message->result = MPI_SUCCESS;
    else if (message->copying)
        receive_from_host(message, TAKEN_ON_GPU);
    atomic_store_explicit(&message->slot->state, DIRECT_DONE, memory_order_release);
    return message->result == MPI_SUCCESS && truncated ? MPI_ERR_TRUNCATE : message->result;
}

/* The sender of a descriptor of that length, which is not found; -1: it is none, or its sender is found. */
static int sender_of_large(const struct staged *staged, MPI_Count length)
{
    struct direct_descriptor head;
    struct direct_peer *peer;

    if (staged->direct < length || direct_slot_of_length(length) < 0)
        return -1;
    read_head(staged, &head, sizeof head);
    if (!is_head(&head) || (int)head.slot != direct_slot_of_length(length))
        return -1;
    peer = direct_peer_now(head.rank);
    return peer && peer->segment->nonce == head.nonce ? -1 : head.rank;
}

/* The same of a small one. Its token tells less than a magic: it is one if there is such a process. */
static int sender_of_small(uint64_t token, MPI_Count length)
{
    return length >= DIRECT_LEAST && length < DIRECT_SMALL_ROOM &&
                   direct_slot_of_length(length) < 0 && token_slot(token) < DIRECT_SMALL_SLOTS &&
                   direct_peer_is_hidden(token_rank(token))
               ? token_rank(token)
               : -1;
}

/* The message that MPI has received is a descriptor, and nobody has its data. */
static bool is_lost(const struct staged *staged, MPI_Status *status)
{
    MPI_Count length = 0;
    uint64_t token;
    int rank = -1;

    read_head(staged, &token, sizeof token);
    if ((token != direct_magic[0] && !token_is_of(token, direct_own()->job)) ||
        PMPI_Get_elements_x(status, MPI_BYTE, &length) != MPI_SUCCESS)
        return false;
    rank = token == direct_magic[0] ? sender_of_large(staged, length)
                                    : sender_of_small(token, length);
    if (rank < 0)
        return false;
    fprintf(stderr,
            "gpubind: a message from rank %d of MPI_COMM_WORLD is lost: that process has ended, or "
            "its files cannot be opened\n",
            rank);
    direct_peer_lost(rank);
    PMPI_Status_set_elements_x(status, MPI_BYTE, 0);
    return true;
}

bool direct_receive(const struct staged *staged, MPI_Status *status, enum trace_path *path,
                    int *result)
{
    struct direct_message message;

    if (!direct_message_start(&message, staged)) {
        if (!staged->direct || !is_lost(staged, status))
            return false;
        *result = MPI_ERR_OTHER;
        *path = TRACE_DIRECT;
        return true;
    }
    *result = direct_message_end(&message);
    *path = message.path;
    PMPI_Status_set_elements_x(status, MPI_BYTE, message.nbytes);
    return true;
}

/* ---- probes */

/* The slot whose descriptors are as long as the message that a probe has found. NULL: none is. */
static const struct direct_slot *slot_of_probe(MPI_Comm comm, const MPI_Status *status)
{
    MPI_Count nbytes = 0;
    struct direct_peer *peer;
    int i;

    if (is_behind || status == MPI_STATUS_IGNORE || !direct_own() ||
        PMPI_Get_elements_x(status, MPI_BYTE, &nbytes) != MPI_SUCCESS)
        return NULL;
    i = direct_slot_of_length(nbytes);
    peer = i >= 0 ? direct_peer_of_sender(direct_world_rank(comm, status->MPI_SOURCE)) : NULL;
    return peer ? &peer->segment->slots[i] : NULL;
}

/* The length of the message of that tag that the slot has for this process, as nobody has taken it. -1: it has none. */
static MPI_Count length_in_slot(const struct direct_slot *slot, int tag)
{
    const uint32_t sequence = slot->sequence;
    const bool has_it = is_open(slot) && !slot->token && slot->tag == tag;
    const MPI_Count nbytes = (MPI_Count)slot->nbytes;

    atomic_thread_fence(memory_order_acquire);
    return has_it && slot->sequence == sequence ? nbytes : -1;
}

bool direct_probed(MPI_Comm comm, MPI_Status *status)
{
    const struct direct_slot *slot = slot_of_probe(comm, status);
    const MPI_Count nbytes = slot ? length_in_slot(slot, status->MPI_TAG) : -1;

    if (nbytes < 0)
        return false;
    PMPI_Status_set_elements_x(status, MPI_BYTE, nbytes);
    return true;
}

/* Messages of one source and tag do not overtake each other: one that is gone is not found any more. */
static bool is_found_again(MPI_Comm comm, const MPI_Status *status)
{
    const bool was_behind = is_behind;
    MPI_Count nbytes = -1, now = -2;
    MPI_Status found = {0};
    int flag = 0, result;

    is_behind = true;
    result = PMPI_Iprobe(status->MPI_SOURCE, status->MPI_TAG, comm, &flag, &found);
    is_behind = was_behind;
    return result == MPI_SUCCESS && flag &&
           PMPI_Get_elements_x(status, MPI_BYTE, &nbytes) == MPI_SUCCESS &&
           PMPI_Get_elements_x(&found, MPI_BYTE, &now) == MPI_SUCCESS && now == nbytes;
}

bool direct_probed_is_gone(MPI_Comm comm, const MPI_Status *status)
{
    const struct direct_slot *slot = slot_of_probe(comm, status);
    const uint32_t sequence = slot ? slot->sequence : 0;

    if (!slot)
        return false;
    return length_in_slot(slot, status->MPI_TAG) >= 0 || !is_found_again(comm, status) ||
           slot->sequence != sequence;
}
