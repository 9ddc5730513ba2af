/* How the ranks of a node announce messages to each other: a ring in shared memory for each pair,
 * written by its sender alone and read by its receiver alone. A process that dies leaves nothing
 * half done that another one waits for. */
#ifndef GPUBIND_MPI_CORE_SHM_INBOX_H
#define GPUBIND_MPI_CORE_SHM_INBOX_H

#include "mpi/core/domain.h"

enum inbox_event {
    INBOX_MESSAGE, /* the descriptor has a new message */
    INBOX_EAGER_READY  /* the data of the message, announced before, are in an eager buffer now */
};

/* Room for one more entry to that rank. */
bool inbox_has_room(const struct domain *domain, const struct peer *peer);
/* There is room. What was written to shared memory before is seen by whoever reads the entry. */
void inbox_put(struct domain *domain, struct peer *peer, int descriptor, enum inbox_event word);
/* Others have put something in. */
bool inbox_waits(const struct domain *domain);
/* Hands over what others have put in so far, in the order of each. */
void inbox_read(struct domain *domain, void (*take)(struct domain *, struct peer *,
                                                    int descriptor, enum inbox_event word));
/* Wakes that rank's progress thread, if it sleeps and wants to be woken for that. */
void inbox_ring(const struct domain *domain, const struct peer *peer, enum wake_use use);
/* For receivers: a peer's descriptor gets a new state; the peer looks at its descriptors when
 * it is told, once for all of a pass. */
void inbox_acknowledge(struct domain *domain, struct peer *peer, struct descriptor *descriptor,
                       enum descriptor_state state);
void inbox_notify_peers(struct domain *domain);

#endif
