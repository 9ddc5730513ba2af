/* Messages to and from ranks that share no memory with this one, announced by MPI messages. */
#ifndef GPUBIND_MPI_P2P_SEND_NET_H
#define GPUBIND_MPI_P2P_SEND_NET_H

#include "mpi/p2p/tag_match.h"

/* Announces the message: small data go with the header, others wait for the receiver's CTS. */
void send_net(struct gpubind_operation *send);
/* The stream has reached a deferred send, or its data are packed: the data of a small message that
 * was announced before follow. good false: packing failed. */
void send_net_ready(struct gpubind_operation *send, bool good);
/* The receiver has died: completes the send with an error, unless MPI has its data. */
void send_net_abandon(struct gpubind_operation *send);
void recv_net(struct gpubind_operation *receive, const struct incoming_msg *incoming);
/* The receive has no room for the message: or needs no data: tells the sender to send none. */
void recv_net_refuse(const struct incoming_msg *incoming);
void net_progress(struct domain *domain);
/* Control messages, or sends without a CTS, are under way. */
bool net_busy(void);

#endif
