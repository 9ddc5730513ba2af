#include "aware/direct_receive.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aware/direct_memory.h"
#include "aware/direct_send.h"
#include "aware/gpu_buffer.h"
#include "aware/next.h"
#include "aware/typed.h"
#include "mpi/datatype/type_contents.h"

bool direct_receives(MPI_Count count, MPI_Datatype type)
{
    struct direct_segment *own = is_behind ? NULL : direct_own();
    MPI_Count size = 0;

    if (!own || count <= 0 || type == MPI_DATATYPE_NULL)
        return false;
    if (!atomic_load_explicit(&own->receives, memory_order_relaxed) && gpu_is_in_use() &&
        !atomic_load(&own->ended))
        atomic_store(&own->receives, 1);
    PMPI_Type_size_x(type, &size);
    return count * size >= DIRECT_LENGTH;
}

/* ---- whose descriptor */

/* A message that came as a descriptor. */
struct incoming {
    struct direct_peer *peer;
    struct direct_slot *slot;
    struct typed typed; /* where it is to go */
    void *room;         /* host memory for all that fits there; NULL: there is none */
};

/* The first bytes that MPI has received. */
static void read_head(const struct staged *staged, struct direct_descriptor *head)
{
    const struct staged_part *part = &staged->parts[0];
    const struct typed typed = {staged->host, part->count, part->type, true};

    if (staged->dense || type_is_basic(part->type))
        memcpy(head, staged->host, sizeof *head);
    else
        typed_head(&typed, head, sizeof *head);
}

/* Its slot has a message for this process, of that descriptor, that nobody has taken. */
static bool is_open(const struct direct_slot *slot, uint32_t sequence)
{
    const uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

    return (state == DIRECT_READY || state == DIRECT_BUFFERING || state == DIRECT_BUFFERED) &&
           slot->sequence == sequence && slot->dest == direct_own()->rank;
}

static bool find_incoming(const struct staged *staged, struct incoming *incoming)
{
    const struct staged_part *part = &staged->parts[0];
    struct direct_descriptor head;

    read_head(staged, &head);
    if (head.magic[0] != direct_magic[0] || head.magic[1] != direct_magic[1] ||
        head.slot >= DIRECT_SLOTS)
        return false;
    incoming->peer = direct_peer_at(head.rank, head.nonce);
    if (!incoming->peer)
        return false;
    incoming->slot = &incoming->peer->segment->slots[head.slot];
    incoming->typed = (struct typed){address_at(staged->user, part->displacement), part->count,
                                     part->type, !staged->staged};
    incoming->room = staged->staged ? staged->block.at : NULL;
    return is_open(incoming->slot, head.sequence);
}

bool direct_is_ready(const struct staged *staged, bool *ordinary)
{
    struct incoming incoming;
    char *start;

    *ordinary = !find_incoming(staged, &incoming);
    return !*ordinary && (!staged->staged || !typed_is_contiguous(&incoming.typed, &start) ||
                          !direct_must_wait(start));
}

/* ---- the data */

/* true: it is in host memory; false: it is in GPU memory, and stays there until it is done. */
static bool take(const struct incoming *incoming)
{
    for (;;) {
        uint32_t ready = DIRECT_READY, buffered = DIRECT_BUFFERED;

        if (atomic_compare_exchange_strong(&incoming->slot->state, &ready, DIRECT_TAKEN))
            return false;
        if (atomic_compare_exchange_strong(&incoming->slot->state, &buffered, DIRECT_TAKEN))
            return true;
        if (!direct_peer_lives(incoming->peer))
            return true;
        sched_yield();
    }
}

/* The sender is to buffer it. false: its process has ended. */
static bool want(const struct incoming *incoming)
{
    struct direct_slot *slot = incoming->slot;
    struct direct_segment *segment = incoming->peer->segment;
    uint32_t buffered;

    atomic_store(&slot->slow, 1);
    atomic_store(&slot->state, DIRECT_WANTED);
    atomic_fetch_add(&segment->wanted, 1);
    syscall(SYS_futex, &segment->wanted, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    for (;;) {
        buffered = DIRECT_BUFFERED;
        if (atomic_compare_exchange_strong(&slot->state, &buffered, DIRECT_TAKEN))
            return true;
        if (!direct_peer_lives(incoming->peer))
            return false;
        usleep(20);
    }
}

/* Bytes in host memory go to the application's buffer. An MPI error class. */
static int put(const struct incoming *incoming, const void *bytes, size_t nbytes)
{
    char *start;

    if (!typed_is_contiguous(&incoming->typed, &start))
        return typed_unpack(&incoming->typed, bytes, (MPI_Count)nbytes);
    if (buffer_is_on_gpu(start))
        return buffer_to_gpu(start, bytes, nbytes) < 0 ? MPI_ERR_BUFFER : MPI_SUCCESS;
    memcpy(start, bytes, nbytes);
    return MPI_SUCCESS;
}

static int put_buffered(const struct incoming *incoming, size_t nbytes)
{
    const size_t all = incoming->slot->nbytes;
    void *data = direct_peer_map(incoming->peer, incoming->slot->fd, all, false);
    int result;

    if (!data)
        return MPI_ERR_OTHER;
    result = put(incoming, data, nbytes);
    munmap(data, all);
    return result;
}

/* From GPU memory to GPU memory, or to host memory. false: it cannot be had so. */
static bool pull(const struct incoming *incoming, size_t nbytes, int *result)
{
    const struct typed *typed = &incoming->typed;
    void *room = incoming->room;
    bool pulled;
    char *start;

    *result = MPI_SUCCESS;
    if (typed_is_contiguous(typed, &start))
        return direct_pull(incoming->peer, incoming->slot, start, buffer_is_on_gpu(start),
                           nbytes) == 0;
    if (!room)
        room = malloc(nbytes);
    pulled = room && direct_pull(incoming->peer, incoming->slot, room, false, nbytes) == 0;
    if (pulled)
        *result = typed_unpack(typed, room, (MPI_Count)nbytes);
    if (room != incoming->room)
        free(room);
    return pulled;
}

static int receive(const struct incoming *incoming, size_t nbytes)
{
    bool buffered = take(incoming);
    int result = MPI_ERR_OTHER;

    if (!buffered && !pull(incoming, nbytes, &result))
        buffered = want(incoming);
    if (buffered)
        result = put_buffered(incoming, nbytes);
    atomic_store_explicit(&incoming->slot->state, DIRECT_DONE, memory_order_release);
    if (result == MPI_ERR_OTHER)
        fprintf(stderr,
                "gpubind: a message of %zu bytes from rank %d of MPI_COMM_WORLD is lost: that "
                "process has ended, or neither its GPU memory nor its files can be mapped\n",
                nbytes, incoming->peer->segment->rank);
    return result;
}

bool direct_receive(const struct staged *staged, MPI_Status *status, int *result)
{
    struct incoming incoming;
    MPI_Count room, nbytes;

    if (!staged->direct || !find_incoming(staged, &incoming))
        return false;
    nbytes = (MPI_Count)incoming.slot->nbytes;
    room = typed_bytes(&incoming.typed);
    *result = receive(&incoming, (size_t)(nbytes < room ? nbytes : room));
    if (*result == MPI_SUCCESS && nbytes > room)
        *result = MPI_ERR_TRUNCATE;
    PMPI_Status_set_elements_x(status, MPI_BYTE, nbytes < room ? nbytes : room);
    return true;
}

/* ---- probes */

void direct_probed(MPI_Comm comm, MPI_Status *status)
{
    MPI_Count nbytes = 0;
    struct direct_peer *peer;
    struct direct_slot *slot;
    int i;

    if (is_behind || status == MPI_STATUS_IGNORE || !direct_own() ||
        PMPI_Get_elements_x(status, MPI_BYTE, &nbytes) != MPI_SUCCESS)
        return;
    i = direct_slot_of_length(nbytes);
    peer = i >= 0 ? direct_peer(comm, status->MPI_SOURCE) : NULL;
    slot = peer ? &peer->segment->slots[i] : NULL;
    if (slot && is_open(slot, slot->sequence) && slot->tag == status->MPI_TAG)
        PMPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)slot->nbytes);
}
