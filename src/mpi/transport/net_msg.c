#include "mpi/transport/net_msg.h"

#include <stdlib.h>
#include <string.h>

#include "core/msg/msg_header.h"

/* Every so many messages to a rank, MPI is asked to say that one was received; with more than
 * AWAITED_MOST of those under way there is no credit, so that what a rank has not received takes
 * no memory without limit. */
#define SYNCHRONOUS_EACH 64
#define AWAITED_MOST 8

struct net_msg {
    struct net_msg *next;
    MPI_Request request;
    struct peer *awaited; /* NULL: it is done when MPI has taken it */
    char bytes[];
};

static struct net_msg *outbox;

bool net_msgs_busy(void)
{
    return outbox;
}

struct net_msg *net_msg_make(size_t nbytes)
{
    struct net_msg *msg = calloc(1, sizeof *msg + nbytes);

    if (!msg)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    return msg;
}

char *net_msg_bytes(struct net_msg *msg)
{
    return msg->bytes;
}

int net_msg_send(struct net_msg *msg, size_t nbytes, struct domain *domain, struct peer *peer)
{
    const bool awaited = ++peer->net_msgs == SYNCHRONOUS_EACH;
    int status;

    if (awaited)
        status = PMPI_Issend(msg->bytes, (int)nbytes, MPI_BYTE, peer->domain_rank, NET_MSG_TAG,
                             domain->shadow, &msg->request);
    else
        status = PMPI_Isend(msg->bytes, (int)nbytes, MPI_BYTE, peer->domain_rank, NET_MSG_TAG,
                            domain->shadow, &msg->request);
    if (status != MPI_SUCCESS) {
        free(msg);
        return -1;
    }
    if (awaited) {
        peer->net_msgs = 0;
        peer->awaited++;
        msg->awaited = peer;
    }
    msg->next = outbox;
    outbox = msg;
    return 0;
}

bool net_msg_has_credit(const struct peer *peer)
{
    return peer->awaited <= AWAITED_MOST;
}

void net_msg_reply(struct domain *domain, struct peer *peer, uint64_t operation, uint64_t chunk,
                   int tag, bool direct)
{
    struct msg_cts reply = {.operation = operation, .chunk = chunk, .tag = tag, .direct = direct};
    struct net_msg *msg = net_msg_make(sizeof reply);

    msg_sign(&reply, MSG_CTS);
    memcpy(msg->bytes, &reply, sizeof reply);
    net_msg_send(msg, sizeof reply, domain, peer);
}

void net_msgs_progress(void (*has_credit)(struct peer *peer))
{
    struct net_msg **link = &outbox;

    while (*link) {
        struct net_msg *msg = *link;
        int over = 1;

        if (PMPI_Test(&msg->request, &over, MPI_STATUS_IGNORE) == MPI_SUCCESS && !over) {
            link = &msg->next;
            continue;
        }
        *link = msg->next;
        if (msg->awaited) {
            msg->awaited->awaited--;
            has_credit(msg->awaited); /* may send others, in front of all */
        }
        free(msg);
    }
}
