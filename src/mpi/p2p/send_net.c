#include "mpi/p2p/send_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/list.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/datatype/pack.h"
#include "mpi/p2p/deferred_payload.h"
#include "mpi/p2p/send_descriptor.h"
#include "mpi/p2p/transports.h"
#include "mpi/p2p/unexpected.h"
#include "mpi/transport/net_arrival.h"
#include "mpi/transport/net_msg.h"
#include "mpi/transport/rndv_staged_mpi.h"

static QUEUE_OF(struct gpubind_operation) unanswered; /* sends that wait for a reply */
static int nqueued;                                   /* peers to which sends are queued */

bool net_busy(void)
{
    return net_msgs_busy() || !QUEUE_EMPTY(&unanswered) || nqueued > 0;
}

/* ---- the sender */

/* Behind the header. The call returns when they are there. */
static int copy_data(struct gpubind_operation *send, char *to)
{
    struct copy copy = {(gpu_address)(uintptr_t)to, send->memory.address, send->nbytes,
                        COPY_TO_HOST};

    if (send->memory.gpu)
        return copy_now(send->memory.gpu, GPU_OUT, &copy, &send->error);
    memcpy(to, send->buffer, send->nbytes);
    return 0;
}

static void announce(struct gpubind_operation *send)
{
    const bool small = send->nbytes <= (uint64_t)library_settings()->eager;
    const bool at_once = !send->synchronous &&
                         (send->nbytes == 0 || (small && !send->peer->stopped));
    const bool payload_deferred = send->order == ORDER_DEFERRED && at_once;
    const bool eager = send->order != ORDER_DEFERRED && at_once;
    size_t nbytes = sizeof(struct msg_header) + (eager ? send->nbytes : 0);
    struct net_msg *msg = net_msg_make(nbytes);
    struct msg_header header = {0};
    const bool failed = send->result != MPI_SUCCESS || /* its packing, or the copy */
                        (eager && send->nbytes > 0 &&
                         copy_data(send, net_msg_bytes(msg) + sizeof header) < 0);

    request_went(send, TRACE_STAGED);
    send_header_fill(send, &header);
    header.flags |= eager && !failed ? MSG_EAGER : 0;
    if (failed) { /* the receiver has to know, too */
        header.flags |= MSG_FAILED;
        nbytes = sizeof header;
    }
    header.flags |= payload_deferred ? MSG_PAYLOAD_DEFERRED : 0;
    trace(TRACE_P2P, "send %u: announced by MPI%s", send->number,
          eager && !failed   ? ", with its data"
          : payload_deferred ? ", its data follow"
                             : "");
    memcpy(net_msg_bytes(msg), &header, sizeof header);
    if (net_msg_send(msg, nbytes, send->domain, send->peer) < 0) {
        request_complete(send, MPI_ERR_OTHER, "MPI could not send to rank %d", send->rank);
        send->held = send->unwanted = send->packing;
    } else if (payload_deferred) {
        send->payload_deferred = true;
        send->held = true;
    } else if (failed) {
        request_fail(send);
    } else if (eager) {
        request_succeed(send);
    } else {
        send->held = true;
        QUEUE_PUSH_FRONT(&unanswered, send, next);
    }
}

void send_net(struct gpubind_operation *send)
{
    struct peer *peer = send->peer;

    if (QUEUE_EMPTY(&peer->queued) && net_msg_has_credit(peer)) {
        announce(send);
        return;
    }
    trace(TRACE_P2P, "send %u: waits until the rank has received earlier messages", send->number);
    send->held = true;
    nqueued += QUEUE_EMPTY(&peer->queued);
    QUEUE_PUSH(&peer->queued, send, next);
}

/* In their order, as far as the receiver has got. */
static void announce_queued(struct peer *peer)
{
    while (!QUEUE_EMPTY(&peer->queued) && net_msg_has_credit(peer)) {
        struct gpubind_operation *send = QUEUE_POP(&peer->queued, next);

        nqueued -= QUEUE_EMPTY(&peer->queued);
        send->held = false;
        announce(send);
        if (!send->held)
            request_release(send);
    }
}

static void end_unwanted(struct gpubind_operation *send)
{
    request_succeed(send);
    request_release(send);
}

void send_net_ready(struct gpubind_operation *send, bool good)
{
    struct msg_header header = {.context = send->comm->context,
                                .nbytes = send->nbytes,
                                .operation = (uint64_t)(uintptr_t)send};
    struct net_msg *msg;
    bool failed;

    if (send->unwanted) {
        end_unwanted(send);
        return;
    }
    if (!send->payload_deferred) /* the transfer has waited for it, or will be asked for */
        return;
    msg = net_msg_make(sizeof header + send->nbytes);
    failed = !good || (send->nbytes > 0 && copy_data(send, net_msg_bytes(msg) + sizeof header) < 0);
    msg_sign(&header, MSG_DATA);
    header.flags = failed ? MSG_FAILED : MSG_EAGER;
    memcpy(net_msg_bytes(msg), &header, sizeof header);
    if (net_msg_send(msg, sizeof header + (failed ? 0 : send->nbytes), send->domain, send->peer) <
        0)
        request_complete(send, MPI_ERR_OTHER, "MPI could not send to rank %d", send->rank);
    else if (failed)
        request_fail(send);
    else
        request_succeed(send);
    request_release(send);
}

void send_net_abandon(struct gpubind_operation *send)
{
    struct peer *peer = send->peer;

    request_complete(send, MPI_ERR_OTHER, "rank %d is gone", send->rank);
    if (QUEUE_REMOVE(&peer->queued, send, next)) {
        nqueued -= QUEUE_EMPTY(&peer->queued);
    } else if (!QUEUE_REMOVE(&unanswered, send, next)) {
        return; /* MPI has its data, or they wait for a stream here */
    }
    request_release(send);
}

static void answered(const struct msg_cts *reply)
{
    struct gpubind_operation **link = &unanswered.first, *send;

    while (*link && (uint64_t)(uintptr_t)*link != reply->operation)
        link = &(*link)->next;
    send = *link;
    if (!send)
        return;
    QUEUE_UNLINK(&unanswered, link, next);
    trace(TRACE_P2P, "send %u: the receiver wants messages of %llu bytes by MPI", send->number,
          (unsigned long long)reply->chunk);
    if (reply->chunk == 0) { /* no data wanted: truncated, empty, or the receive has failed */
        send->unwanted = true;
        if (!send->packing)
            end_unwanted(send);
        return;
    }
    if (reply->direct)
        request_went(send, TRACE_PLAIN);
    rndv_mpi_send(send, reply->tag, reply->chunk, !send->memory.gpu || reply->direct);
}

/* ---- the receiver */

/* Small messages that nobody receives fill the memory for them, or have left it: their senders
 * let those that follow wait for their receives, as large ones do. */
static void send_credit(struct domain *domain, struct peer *peer, bool stop)
{
    struct msg_cts reply = {.chunk = !stop};
    struct net_msg *msg = net_msg_make(sizeof reply);

    msg_sign(&reply, MSG_CREDIT);
    memcpy(net_msg_bytes(msg), &reply, sizeof reply);
    net_msg_send(msg, sizeof reply, domain, peer);
    peer->stopping = stop;
    domain->nstopping += stop ? 1 : -1;
}

static void send_credits(struct domain *domain)
{
    for (int i = 0; i < domain->size && domain->nstopping > 0; i++)
        if (domain->peers[i].stopping)
            send_credit(domain, &domain->peers[i], false);
}

void recv_net_refuse(const struct incoming_msg *incoming)
{
    if (!(incoming->header.flags & (MSG_EAGER | MSG_FAILED | MSG_PAYLOAD_DEFERRED)))
        net_msg_reply(incoming->domain, incoming->peer, incoming->header.operation, 0, 0, false);
    free(incoming->data);
}

static void take_data(struct gpubind_operation *receive, const struct incoming_msg *incoming)
{
    struct copy copy = {receive->memory.address, (gpu_address)(uintptr_t)incoming->data,
                        receive->got_bytes, COPY_FROM_HOST};
    struct gpubind_error err;
    int status = 0;

    if (receive->got_bytes > 0 && receive->pack) {
        status = pack_scatter_host(receive, incoming->data, &err);
    } else if (receive->got_bytes > 0 && !receive->memory.gpu) {
        memcpy(receive->buffer, incoming->data, receive->got_bytes);
    } else if (receive->got_bytes > 0) {
        status = copy_now(receive->memory.gpu, GPU_IN, &copy, &err);
    }
    free(incoming->data);
    request_went(receive, TRACE_STAGED);
    if (status < 0)
        request_complete(receive, MPI_ERR_OTHER, "%s", err.text);
    else
        request_succeed(receive);
}

void recv_net(struct gpubind_operation *receive, const struct incoming_msg *incoming)
{
    if (incoming->header.flags & MSG_EAGER) {
        trace(TRACE_P2P, "receive %u: its data came with the announcement", receive->number);
        take_data(receive, incoming);
        return;
    }
    if (receive->got_bytes == 0 && !(incoming->header.flags & MSG_FAILED)) {
        recv_net_refuse(incoming); /* its sender waits for an answer, and there are no data */
        request_succeed(receive);
        return;
    }
    if (receive->pack && !(incoming->header.flags & MSG_FAILED) &&
        pack_dense(receive, &receive->error) < 0) {
        recv_net_refuse(incoming);
        request_fail(receive);
        return;
    }
    free(incoming->data);
    if (incoming->header.flags & MSG_FAILED) {
        request_complete(receive, MPI_ERR_OTHER, "the sender's copy failed");
        return;
    }
    transports_get(receive, &incoming->header);
}

/* ---- both */

static void read_net_msg(struct domain *domain, struct peer *peer, char *bytes, size_t nbytes)
{
    struct incoming_msg incoming = {.domain = domain, .peer = peer};
    struct gpubind_error err;

    if (!bytes || msg_check(bytes, nbytes, &err) < 0) {
        fprintf(stderr, "gpubind: %s\n", bytes ? err.text : "MPI could not receive");
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_INTERN);
    }
    if (msg_kind(bytes) == MSG_CTS || msg_kind(bytes) == MSG_CREDIT) {
        struct msg_cts reply;

        memcpy(&reply, bytes, sizeof reply);
        if (msg_kind(bytes) == MSG_CREDIT)
            incoming.peer->stopped = reply.chunk == 0;
        else
            answered(&reply);
        free(bytes);
        return;
    }
    memcpy(&incoming.header, bytes, sizeof incoming.header);
    memmove(bytes, bytes + sizeof incoming.header, nbytes - sizeof incoming.header);
    if (msg_kind(&incoming.header) == MSG_DATA) {
        deferred_payload_take(incoming.peer, &incoming.header, bytes);
        return;
    }
    incoming.data = bytes;
    incoming.peer->received++;
    match_incoming(&incoming);
    if (!incoming.peer->stopping && !unexpected_has_room())
        send_credit(domain, incoming.peer, true);
}

void net_progress(struct domain *domain)
{
    net_msgs_progress(announce_queued);
    if (domain->nstopping > 0 && unexpected_has_much_room())
        send_credits(domain);
    if (domain->nremote > 0)
        net_arrivals_progress(domain, read_net_msg);
}
