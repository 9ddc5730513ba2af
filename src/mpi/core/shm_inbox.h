/* How ranks of a node announce messages: one single-producer, single-consumer ring in shared
 * memory for each ordered pair of ranks. A process that dies leaves no entry half written that
 * another rank would wait for. */
#ifndef GPUBIND_MPI_CORE_SHM_INBOX_H
#define GPUBIND_MPI_CORE_SHM_INBOX_H

#include "mpi/core/domain.h"

enum inbox_event {
    INBOX_MESSAGE,    /* the descriptor has a new message */
    INBOX_EAGER_READY /* the data of the message, announced before, are in an eager buffer now */
};

/* Room for one more entry to that rank. */
bool inbox_has_room(const struct domain *domain, const struct peer *peer);
/* The caller has checked the room. A release: the reader of the entry sees all earlier writes to
 * shared memory. */
void inbox_put(struct domain *domain, struct peer *peer, int descriptor, enum inbox_event word);
/* There are entries to read. */
bool inbox_waits(const struct domain *domain);
/* Calls take for each entry that is there, in order per sender. */
void inbox_read(struct domain *domain, void (*take)(struct domain *, struct peer *, int descriptor,
                                                    enum inbox_event word));
/* Wakes that rank's progress thread, if it sleeps and wants to be woken for that. */
void inbox_ring(const struct domain *domain, const struct peer *peer, enum wake_use use);
/* For receivers: a peer's descriptor gets a new state; the peer looks at its descriptors when
 * it is told, once for all of a pass. */
void inbox_acknowledge(struct domain *domain, struct peer *peer, struct descriptor *descriptor,
                       enum descriptor_state state);
void inbox_notify_peers(struct domain *domain);

#endif
