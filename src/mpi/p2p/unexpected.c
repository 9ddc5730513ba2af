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

static int number_of(const struct arrival *arrival)
{
    const struct segment *segment = &arrival->domain->segment;

    return (int)(arrival->from - segment_descriptor(segment, arrival->peer->local, 0));
}

/* All receivers of a rank together leave it half of its eager buffers. */
static int left_with_sender(const struct domain *domain)
{
    return domain->segment.neager / (2 * domain->segment.n);
}

static void count(struct arrival *arrival)
{
    arrival->kept_nbytes = sizeof *arrival;
    if (arrival->data && arrival->header.flags & WIRE_EAGER)
        arrival->kept_nbytes += arrival->header.nbytes;
    nbytes_kept += arrival->kept_nbytes;
}

/* false: there is no memory. */
static bool fetch(struct arrival *arrival)
{
    const struct segment *segment = &arrival->domain->segment;
    struct peer *peer = arrival->peer;
    struct descriptor *from = arrival->from;
    const uint64_t nbytes = arrival->header.nbytes;
    const bool failed = atomic_load_explicit(&from->failed, memory_order_relaxed);
    char *data = malloc((size_t)nbytes + 1);

    if (!data)
        return false;
    if (!failed)
        memcpy(data, segment_eager(segment, peer->local, from->eager_buffer), (size_t)nbytes);
    peer->unexpected[number_of(arrival)] = NULL;
    arrival->data = data;
    arrival->header.flags |= failed ? WIRE_FAILED : WIRE_EAGER;
    arrival->from = NULL;
    count(arrival);
    inbox_acknowledge(arrival->domain, peer, from, DESCRIPTOR_DONE);
    return true;
}

/* Its data are in an eager buffer, which the sender may need. */
static void look(struct arrival *arrival)
{
    struct peer *peer = arrival->peer;

    if (arrival->in_eager_buffer ||
        atomic_load_explicit(&arrival->from->state, memory_order_acquire) != DESCRIPTOR_STASHED)
        return;
    if (peer->in_eager_buffers >= left_with_sender(arrival->domain) && unexpected_has_room() &&
        fetch(arrival))
        return;
    arrival->in_eager_buffer = true;
    peer->in_eager_buffers++;
}

void unexpected_add(struct arrival *arrival)
{
    struct peer *peer = arrival->peer;

    arrival->in_eager_buffer = false;
    arrival->kept_nbytes = 0;
    if (!arrival->from) {
        count(arrival);
        return;
    }
    if (!peer->unexpected)
        peer->unexpected = calloc((size_t)arrival->domain->segment.ndescriptors,
                                  sizeof *peer->unexpected);
    if (!peer->unexpected) /* then they stay where they are */
        return;
    peer->unexpected[number_of(arrival)] = arrival;
    look(arrival);
}

void unexpected_remove(struct arrival *arrival)
{
    nbytes_kept -= arrival->kept_nbytes;
    arrival->kept_nbytes = 0;
    if (!arrival->from)
        return;
    if (arrival->peer->unexpected)
        arrival->peer->unexpected[number_of(arrival)] = NULL;
    arrival->peer->in_eager_buffers -= arrival->in_eager_buffer;
    arrival->in_eager_buffer = false;
}

void unexpected_stashed(const struct peer *peer, int descriptor)
{
    struct arrival *arrival = peer->unexpected ? peer->unexpected[descriptor] : NULL;

    if (arrival)
        look(arrival);
}
