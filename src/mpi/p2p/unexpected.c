#include "mpi/p2p/unexpected.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/core/context.h"
#include "mpi/core/shm_inbox.h"
#include "mpi/p2p/send_shm.h"

static uint64_t nbytes_kept;

static uint64_t limit(void)
{
    return (uint64_t)library_settings()->unexpected << 20;
}

bool unexpected_has_room(void)
{
    return nbytes_kept < limit();
}

bool unexpected_has_much_room(void)
{
    return nbytes_kept <= limit() / 2;
}

static int number_of(const struct incoming_msg *incoming)
{
    const struct segment *segment = &incoming->domain->segment;

    return (int)(incoming->from - segment_descriptor(segment, incoming->peer->local, 0));
}

/* All receivers of a rank together leave it half of its eager buffers. */
static int left_with_sender(const struct domain *domain)
{
    return domain->segment.neager / (2 * domain->segment.n);
}

bool eager_share_take(const struct domain *domain, struct peer *peer)
{
    if (peer->in_eager_buffers >= left_with_sender(domain))
        return false;
    peer->in_eager_buffers++;
    return true;
}

void eager_share_give(struct peer *peer)
{
    peer->in_eager_buffers--;
}

static void count(struct incoming_msg *incoming)
{
    incoming->copied_nbytes = sizeof *incoming;
    if (incoming->data && incoming->header.flags & MSG_EAGER)
        incoming->copied_nbytes += incoming->header.nbytes;
    nbytes_kept += incoming->copied_nbytes;
}

/* false: there is no memory. */
static bool fetch(struct incoming_msg *incoming)
{
    const struct segment *segment = &incoming->domain->segment;
    struct peer *peer = incoming->peer;
    struct descriptor *from = incoming->from;
    const uint64_t nbytes = incoming->header.nbytes;
    const bool failed = atomic_load_explicit(&from->failed, memory_order_relaxed);
    char *data = malloc((size_t)nbytes + 1);

    if (!data)
        return false;
    if (!failed)
        memcpy(data, segment_eager(segment, peer->local, from->eager_buffer), (size_t)nbytes);
    peer->unexpected[number_of(incoming)] = NULL;
    incoming->data = data;
    incoming->header.flags |= failed ? MSG_FAILED : MSG_EAGER;
    incoming->from = NULL;
    count(incoming);
    inbox_acknowledge(incoming->domain, peer, from, DESCRIPTOR_FIN);
    return true;
}

/* Its data are in an eager buffer, which the sender may need. */
static void look(struct incoming_msg *incoming)
{
    struct peer *peer = incoming->peer;

    if (incoming->in_eager_buffer || incoming->from->in_slot ||
        atomic_load_explicit(&incoming->from->state, memory_order_acquire) !=
            DESCRIPTOR_EAGER_READY)
        return;
    if (peer->in_eager_buffers >= left_with_sender(incoming->domain) && unexpected_has_room() &&
        fetch(incoming))
        return;
    incoming->in_eager_buffer = true;
    peer->in_eager_buffers++;
}

void unexpected_add(struct incoming_msg *incoming)
{
    struct peer *peer = incoming->peer;

    incoming->in_eager_buffer = false;
    incoming->copied_nbytes = 0;
    if (!incoming->from) {
        count(incoming);
        return;
    }
    if (!peer->unexpected)
        peer->unexpected = calloc((size_t)incoming->domain->segment.ndescriptors,
                                  sizeof *peer->unexpected);
    if (!peer->unexpected) /* then they stay where they are */
        return;
    peer->unexpected[number_of(incoming)] = incoming;
    look(incoming);
}

void unexpected_remove(struct incoming_msg *incoming)
{
    nbytes_kept -= incoming->copied_nbytes;
    incoming->copied_nbytes = 0;
    if (!incoming->from)
        return;
    if (incoming->peer->unexpected)
        incoming->peer->unexpected[number_of(incoming)] = NULL;
    incoming->peer->in_eager_buffers -= incoming->in_eager_buffer;
    incoming->in_eager_buffer = false;
}

void unexpected_eager_ready(const struct peer *peer, int descriptor)
{
    struct incoming_msg *incoming = peer->unexpected ? peer->unexpected[descriptor] : NULL;

    if (incoming)
        look(incoming);
}
