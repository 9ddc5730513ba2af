/* Both sides of a meeting. Internal to meet. */
#ifndef GPUBIND_HOST_LAUNCH_NODE_RENDEZVOUS_LEADER_H
#define GPUBIND_HOST_LAUNCH_NODE_RENDEZVOUS_LEADER_H

#include "host/launch/node_rendezvous.h"

/* First byte of what the leader sends. */
enum meet_tag { MEET_ANSWER = 'A', MEET_REFUSAL = 'R' };

/* Seconds on a clock that only goes forward. */
double meet_now(void);
bool meet_same_user(int fd);
/* The process at the other end, 0 when it is not in this one's /proc. */
pid_t meet_peer(int fd);

/* Leads the meeting at a listening socket; closes nothing. */
enum meet_outcome meet_lead(const struct meet_call *call, int listener,
                            struct meet_message *answer, struct gpubind_error *err);

#endif
