/* Tag matching: per communicator one list of posted receives and one of unexpected messages, both
 * in order. */
#ifndef GPUBIND_MPI_P2P_TAG_MATCH_H
#define GPUBIND_MPI_P2P_TAG_MATCH_H

#include "mpi/core/request.h"

/* A message whose header has reached this rank. */
struct incoming_msg {
    struct incoming_msg *next;
    struct msg_header header;
    struct domain *domain;
    struct peer *peer;
    struct descriptor *from; /* the sender's, on a node; NULL: the header came by MPI */
    char *data;              /* data that came behind the header, malloc'ed; NULL: none */
    uint64_t copied_nbytes;  /* what unexpected.c has counted for it */
    bool in_eager_buffer;    /* its data lie in the sender's eager buffer */
};

/* Active messages: those with this tag (negative) on the library's own communicators are passed to
 * take when they arrive, without a receive. One handler for each tag. */
void match_set_handler(int tag,
                       void (*take)(struct comm *comm, const struct incoming_msg *incoming));
/* Starts the oldest posted receive that matches, or appends the message to the unexpected queue.
 * The struct is copied; this module owns its data from now on. */
void match_incoming(const struct incoming_msg *incoming);
/* Starts the receive with the oldest unexpected message that matches, or posts it. */
void match_receive(struct gpubind_operation *receive);
/* Probe: the oldest unexpected message that a receive would match; NULL: none. */
const struct incoming_msg *match_peek(const struct comm *comm, int source, int tag);
/* Matched probe: takes that message out of the queue, so that no receive matches it. NULL: none. */
struct incoming_msg *match_extract(const struct comm *comm, int source, int tag);
/* Whether it came from match_extract and has not been received. */
bool match_is_extracted(const struct incoming_msg *incoming);
/* Starts the receive with an extracted message, which is freed. */
void match_receive_extracted(struct gpubind_operation *receive, struct incoming_msg *incoming);
/* The list of extracted messages. */
struct incoming_msg *match_extracted(void);
/* The unexpected messages of the communicator with this context, oldest first; of all unknown
 * contexts when no communicator has it. */
struct incoming_msg *match_unexpected(uint64_t context);
/* At the end: drops all unexpected messages, now and later, so that their senders complete. */
void match_close(void);
/* Removes a posted receive from its list; false: it is not posted. */
bool match_withdraw(struct gpubind_operation *receive);
/* A communicator was attached: matches messages that arrived before with an unknown context. */
void match_adopt(void);
/* The domain ends: drops its messages with unknown contexts. */
void match_forget(const struct domain *domain);
/* The communicator ends: drops its unexpected messages, and those that come later. */
void match_clear(struct comm *comm);
/* By a thread that may call MPI: drops those of them for which another could not. */
void match_drop_left(void);

#endif
