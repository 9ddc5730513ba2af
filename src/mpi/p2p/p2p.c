/* Messages, as the core sees them. */
#include "mpi/p2p/p2p.h"

#include "mpi/core/ipc_refs.h"
#include "mpi/core/peer_alive.h"
#include "mpi/core/progress.h"
#include "mpi/core/wait_notice.h"
#include "mpi/datatype/iov_advert.h"
#include "mpi/datatype/pack.h"
#include "mpi/p2p/incoming.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/rndv_put.h"
#include "mpi/p2p/send_deferred.h"
#include "mpi/p2p/send_net.h"
#include "mpi/p2p/send_shm.h"
#include "mpi/p2p/tag_match.h"
#include "mpi/p2p/transports.h"
#include "mpi/transport/bounce_pool.h"
#include "mpi/transport/net_arrival.h"
#include "mpi/transport/rndv_staged_shm.h"

/* ---- a message */

static void nudge(struct gpubind_operation *operation)
{
    if (operation->kind == REQUEST_SEND)
        send_shm_nudge(operation);
    else
        rtr_progress(operation);
}

/* Its peer is gone, which may have sent a message before. */
static void abandon(struct gpubind_operation *operation)
{
    incoming_read_all();
    if (operation->done || operation->packing) /* packing: its buffer is being read */
        return;
    if (operation->kind == REQUEST_RECEIVE)
        receive_abandon(operation);
    else if (operation->peer->local >= 0)
        send_shm_progress(operation->domain);
    else
        send_net_abandon(operation);
}

/* A receive from any rank: each rank that is gone ends one, on each communicator, since nobody
 * knows whether it would have sent. */
static void look_after_any(struct gpubind_operation *receive)
{
    const int lost = receive->comm ? comm_lost_rank(receive->comm) : -1;

    if (lost < 0)
        return;
    incoming_read_all();
    if (receive->done || !match_withdraw(receive))
        return;
    comm_lost_told(receive->comm, lost);
    request_complete(receive, MPI_ERR_OTHER,
                     "rank %d is gone, while a message from any rank was "
                     "waited for",
                     lost);
}

static void look_after(struct gpubind_operation *operation)
{
    if (request_peer_is_gone(operation))
        abandon(operation);
    else if (!operation->peer && operation->kind == REQUEST_RECEIVE)
        look_after_any(operation);
    if (!operation->done)
        wait_notice_check(operation);
}

static void clear(struct gpubind_operation *operation)
{
    pack_free(operation->pack);
}

static const struct request_ops message_ops = {nudge, look_after, clear};

/* ---- all of them */

static void start(void)
{
    request_default_ops(&message_ops);
    ipc_refs_send_by(send_shm);
    transports_have(transports);
}

static void progress(bool mpi)
{
    deferred_sends_progress(mpi);
    for (struct domain *domain = domain_first(); domain; domain = domain->next) {
        incoming_read(domain);
        send_shm_progress(domain);
        if (mpi && (domain->nremote > 0 || net_busy()))
            net_progress(domain);
    }
    if (mpi)
        match_drop_left();
    receives_progress();
    transports_progress(mpi);
    incoming_close_mappings();
}

static void comm_removed(struct comm *comm)
{
    match_clear(comm);
    match_clear(comm->companion);
}

static bool domain_busy(const struct domain *domain)
{
    return incoming_closes_for(domain) || staged_busy(domain) || net_arrivals_pending(domain);
}

static void domain_removed(struct domain *domain)
{
    iov_advert_forget(domain);
    bounce_pool_forget(domain);
}

const struct module p2p_module = {
    .name = "p2p",
    .start = start,
    .progress = progress,
    .look_around = wait_notice_check_sent,
    .has_work = deferred_sends_pending,
    .comm_added = match_adopt,
    .comm_removed = comm_removed,
    .domain_given_up = match_forget,
    .domain_busy = domain_busy,
    .domain_removed = domain_removed,
};
