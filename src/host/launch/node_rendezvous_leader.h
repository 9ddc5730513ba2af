/* What both sides of the rendezvous share. Internal to node_rendezvous.c. */
#ifndef GPUBIND_HOST_LAUNCH_NODE_RENDEZVOUS_LEADER_H
#define GPUBIND_HOST_LAUNCH_NODE_RENDEZVOUS_LEADER_H

#include "host/launch/node_rendezvous.h"

/* First byte of each packet that the leader sends. A longer answer goes in several, each with a part
 * of it; all but the last are RENDEZVOUS_MORE. */
enum rendezvous_tag { RENDEZVOUS_MORE = 'M', RENDEZVOUS_ANSWER = 'A', RENDEZVOUS_REFUSAL = 'R' };
/* Bytes of an answer in one packet: several of them fit a socket's buffer. */
#define RENDEZVOUS_PART 32768

#define CANNOT_MEET "the node's launcher processes cannot meet"

/* Seconds on a clock that only goes forward. */
double rendezvous_clock(void);
/* Whether the other end is of this user. */
int rendezvous_user(int fd, bool *same, struct gpubind_error *err);
/* The process at the other end, 0 when it is not in this one's /proc. */
pid_t rendezvous_peer(int fd);

/* Leads the rendezvous at a listening socket, which stays open. */
enum rendezvous_outcome rendezvous_lead(const struct rendezvous_call *call, int listener,
                                        struct rendezvous_message *answer,
                                        struct gpubind_error *err);

#endif
