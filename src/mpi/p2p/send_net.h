/* Messages to ranks that share no memory with this one: announced by MPI. */
#ifndef GPUBIND_MPI_P2P_SEND_NET_H
#define GPUBIND_MPI_P2P_SEND_NET_H

#include "mpi/p2p/tag_match.h"

/* Small messages go with their announcement; others wait for the receiver's reply. */
void send_net(struct gpubind_operation *send);
/* It is gated no more: a small message that was announced gets its data. not good: they
 * cannot be had. */
void send_net_ready(struct gpubind_operation *send, bool good);
/* Its receiver is gone, as far as MPI has let this rank know. */
void send_net_abandon(struct gpubind_operation *send);
void recv_net(struct gpubind_operation *receive, const struct incoming_msg *incoming);
/* The receiver has no room for it. */
void recv_net_refuse(const struct incoming_msg *incoming);
void net_progress(struct domain *domain);
/* Announcements that MPI has not taken yet. */
bool net_busy(void);

#endif
