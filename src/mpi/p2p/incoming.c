/* What ranks of this node announce: messages, and mappings that are to be closed. */
#include "mpi/p2p/incoming.h"

#include <stdlib.h>

#include "mpi/core/shm_inbox.h"
#include "mpi/p2p/rndv_put.h"
#include "mpi/p2p/stream_receive.h"
#include "mpi/p2p/tag_match.h"
#include "mpi/p2p/unexpected.h"

/* Mappings that a peer wants closed, but that are still used, or may be made yet. */
static struct closing {
    struct closing *next;
    struct domain *domain;
    struct peer *peer;
    struct descriptor *descriptor;
} * closings;

/* A control message that came before may tell of the memory, and have it mapped. */
static bool closed(const struct closing *closing)
{
    const uint64_t id = closing->descriptor->header.id;

    if (closing->peer->ctrl_msgs > 0)
        return false;
    mappings_drop(closing->peer, id);
    if (mappings_hold(closing->peer, id))
        return false;
    inbox_acknowledge(closing->domain, closing->peer, closing->descriptor, DESCRIPTOR_FIN);
    return true;
}

static void close_mapping(struct domain *domain, struct peer *peer, struct descriptor *descriptor)
{
    struct closing *closing = malloc(sizeof *closing);

    if (!closing)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *closing = (struct closing){closings, domain, peer, descriptor};
    if (closed(closing)) {
        free(closing);
        return;
    }
    closings = closing;
    requests_count(1);
}

bool incoming_closes_for(const struct domain *domain)
{
    for (const struct closing *closing = closings; closing; closing = closing->next)
        if (closing->domain == domain)
            return true;
    return false;
}

void incoming_close_mappings(void)
{
    struct closing **link = &closings;

    while (*link) {
        struct closing *closing = *link;

        if (!closed(closing)) {
            link = &closing->next;
            continue;
        }
        *link = closing->next;
        free(closing);
        requests_count(-1);
    }
}

static void arrive(struct domain *domain, struct peer *peer, int number, enum inbox_event word)
{
    struct descriptor *descriptor = segment_descriptor(&domain->segment, peer->local, number);
    struct incoming_msg incoming = {.domain = domain, .peer = peer, .from = descriptor};

    progress_made();
    if (word == INBOX_EAGER_READY) {
        unexpected_eager_ready(peer, number);
        return;
    }
    if (msg_kind(&descriptor->header) == MSG_RELEASE) {
        close_mapping(domain, peer, descriptor);
        return;
    }
    incoming.header = descriptor->header;
    rtr_settle_before(peer, incoming.header.sequence);
    peer->received++;
    match_incoming(&incoming);
    stream_receives_note(peer);
}

void incoming_read(struct domain *domain)
{
    inbox_read(domain, arrive);
}

void incoming_read_all(void)
{
    for (struct domain *domain = domain_first(); domain; domain = domain->next)
        incoming_read(domain);
}
