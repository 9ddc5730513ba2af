/* Which receive takes which message: MPI's rules, by communicator. */
#ifndef GPUBIND_MPI_P2P_TAG_MATCH_H
#define GPUBIND_MPI_P2P_TAG_MATCH_H

#include "mpi/core/request.h"

/* A message that was announced to this rank. */
struct incoming_msg {
    struct incoming_msg *next;
    struct wire_header header;
    struct domain *domain;
    struct peer *peer;
    struct descriptor *from; /* it came through shared memory; else */
    char *data;              /* what came with it by MPI, malloc'ed; NULL: nothing */
    uint64_t copied_nbytes;    /* see unexpected.h: counted for it, */
    bool in_eager_buffer;            /* or its data lie in the sender's eager buffer */
};

/* Messages with this tag, which is negative, on communicators of the library's own go to take
 * when they arrive. One for each tag. */
void match_set_handler(int tag,
                       void (*take)(struct comm *comm, const struct incoming_msg *incoming));
/* Gives a new message to the oldest receive that fits, or keeps it. The incoming_msg is
 * copied; its data change hands. */
void match_incoming(const struct incoming_msg *incoming);
/* Gives the oldest kept message that fits to the receive, or posts the receive. */
void match_receive(struct gpubind_operation *receive);
/* The oldest kept message that a receive would take; NULL: none. */
const struct incoming_msg *match_peek(const struct comm *comm, int source, int tag);
/* Takes that message out of the kept ones: no other receive gets it. NULL: there is none. */
struct incoming_msg *match_extract(const struct comm *comm, int source, int tag);
/* It is one that was taken, and not received since. */
bool match_is_extracted(const struct incoming_msg *incoming);
/* Gives a taken message to the receive; it is freed. */
void match_receive_extracted(struct gpubind_operation *receive, struct incoming_msg *incoming);
struct incoming_msg *match_extracted(void); /* all of these */
/* The kept messages of that communicator, oldest first. */
struct incoming_msg *match_unexpected(uint64_t context);
/* From now on nobody receives any more: messages that nobody took are dropped, so that
 * their senders' ends come. */
void match_close(void);
/* Takes a posted receive off its list; false: it is in none. */
bool match_withdraw(struct gpubind_operation *receive);
/* Messages that came before their communicator was attached here: now it may be. */
void match_adopt(void);
/* The domain ends, and all its communicators are gone. */
void match_forget(const struct domain *domain);
void match_clear(struct comm *comm);

#endif
