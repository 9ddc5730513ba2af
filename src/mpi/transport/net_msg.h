/* Network messages: MPI messages on the domain's communicator between ranks that share no memory.
 * They announce messages (small data follow the header) and answer announcements. */
#ifndef GPUBIND_MPI_TRANSPORT_NET_MSG_H
#define GPUBIND_MPI_TRANSPORT_NET_MSG_H

#include "mpi/core/domain.h"

#define NET_MSG_TAG 1

struct net_msg;

/* One of nbytes, which net_msg_bytes points to; net_msg_send takes it over. */
struct net_msg *net_msg_make(size_t nbytes);
char *net_msg_bytes(struct net_msg *msg);
/* Sends the first nbytes of it. 0, or -1: MPI has refused it. */
int net_msg_send(struct net_msg *msg, size_t nbytes, struct domain *domain, struct peer *peer);
/* false: too many are under way to the peer, which receives none; others wait. */
bool net_msg_has_credit(const struct peer *peer);
/* Tells the sender of an announced message how to send it (clear to send); chunk 0: not at all. */
void net_msg_reply(struct domain *domain, struct peer *peer, uint64_t operation, uint64_t chunk,
                   int tag, bool direct);
/* Frees those that MPI has sent; has_credit is called for a peer that has received some. */
void net_msgs_progress(void (*has_credit)(struct peer *peer));
/* Some are under way. */
bool net_msgs_busy(void);

#endif
