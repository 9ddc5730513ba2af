#include "mpi/transport/net_arrival.h"

#include <stdlib.h>

#include "mpi/base/trace.h"
#include "mpi/core/peer_alive.h"
#include "mpi/core/request.h"
#include "mpi/transport/net_msg.h"

#define LOOK_EACH 0.1 /* seconds between two looks at the sender's process */

struct net_arrival {
    struct net_arrival *next;
    struct peer *peer;
    MPI_Request request;
    char *bytes;
    size_t nbytes;
    double looked;
    bool failed;
};

bool net_arrivals_pending(const struct domain *domain)
{
    return !QUEUE_EMPTY(&domain->arrivals);
}

static void begin(struct domain *domain, const MPI_Status *status)
{
    struct net_arrival *arrival = calloc(1, sizeof *arrival);
    int nbytes = 0;

    PMPI_Get_count(status, MPI_BYTE, &nbytes);
    if (arrival)
        arrival->bytes = malloc((size_t)nbytes + 1);
    if (!arrival || !arrival->bytes)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    arrival->peer = &domain->peers[status->MPI_SOURCE];
    arrival->nbytes = (size_t)nbytes;
    arrival->looked = clock_seconds();
    arrival->failed = PMPI_Irecv(arrival->bytes, nbytes, MPI_BYTE, status->MPI_SOURCE, NET_MSG_TAG,
                                 domain->shadow, &arrival->request) != MPI_SUCCESS;
    QUEUE_PUSH(&domain->arrivals, arrival, next);
}

static bool is_over(struct net_arrival *arrival)
{
    int over = 1;

    if (!arrival->failed)
        arrival->failed = PMPI_Test(&arrival->request, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    return over;
}

/* It will not come, nor does any after it count. */
static bool is_lost(struct domain *domain, struct net_arrival *arrival)
{
    const double now = clock_seconds();

    if (arrival->peer->net_lost)
        return true;
    if (now - arrival->looked < LOOK_EACH)
        return false;
    arrival->looked = now;
    arrival->peer->net_lost = peer_check(domain, arrival->peer);
    return arrival->peer->net_lost;
}

/* MPI may still write to its memory, which therefore is never freed. */
static void drop(struct net_arrival *arrival)
{
    trace(TRACE_P2P, "a message of rank %d is lost: its process has ended",
          arrival->peer->domain_rank);
}

static void deliver_those_here(struct domain *domain, net_arrived *deliver)
{
    struct net_arrival **link = &domain->arrivals.first;
    static uint64_t pass;

    pass++;
    while (*link) {
        struct net_arrival *arrival = *link;
        struct peer *peer = arrival->peer;
        const bool late = peer->net_lost || peer->late_pass == pass || !is_over(arrival);

        if (late && !is_lost(domain, arrival)) {
            peer->late_pass = pass;
            link = &arrival->next;
            continue;
        }
        QUEUE_UNLINK(&domain->arrivals, link, next);
        if (late) {
            drop(arrival);
            continue;
        }
        deliver(domain, peer, arrival->failed ? NULL : arrival->bytes, arrival->nbytes);
        free(arrival);
    }
}

void net_arrivals_progress(struct domain *domain, net_arrived *deliver)
{
    MPI_Status status;
    int there = 1;

    while (there) {
        there = 0;
        PMPI_Iprobe(MPI_ANY_SOURCE, NET_MSG_TAG, domain->shadow, &there, &status);
        if (there)
            begin(domain, &status);
        if (!QUEUE_EMPTY(&domain->arrivals))
            deliver_those_here(domain, deliver);
    }
}
