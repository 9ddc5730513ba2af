/* Which receive takes which message: MPI's rules, by communicator. */
#ifndef GPUBIND_MPI_P2P_TAG_MATCH_H
#define GPUBIND_MPI_P2P_TAG_MATCH_H

#include "mpi/core/request.h"

/* A message that was announced to this rank. */
struct arrival {
    struct arrival *next;
    struct wire_header header;
    struct domain *domain;
    struct peer *peer;
    struct descriptor *from; /* it came through shared memory; else */
    char *data;              /* what came with it by MPI, malloc'ed; NULL: nothing */
    uint64_t kept_nbytes;    /* see unexpected.h: counted for it, */
    bool in_eager_buffer;            /* or its data lie in the sender's eager buffer */
};

/* Messages with this tag, which is negative, on communicators of the library's own go to take
 * when they arrive. One for each tag. */
void match_hand_to(int tag, void (*take)(struct comm *comm, const struct arrival *arrival));
/* Gives a new message to the oldest receive that fits, or keeps it. The arrival is
 * copied; its data change hands. */
void match_arrival(const struct arrival *arrival);
/* Gives the oldest kept message that fits to the receive, or posts the receive. */
void match_receive(struct gpubind_operation *receive);
/* The oldest kept message that a receive would take; NULL: none. */
const struct arrival *match_look(const struct comm *comm, int source, int tag);
/* Takes that message out of the kept ones: no other receive gets it. NULL: there is none. */
struct arrival *match_take(const struct comm *comm, int source, int tag);
/* It is one that was taken, and not received since. */
bool match_is_taken(const struct arrival *arrival);
/* Gives a taken message to the receive; it is freed. */
void match_receive_taken(struct gpubind_operation *receive, struct arrival *arrival);
struct arrival *match_taken(void); /* all of these */
/* The kept messages of that communicator, oldest first. */
struct arrival *match_kept(uint64_t context);
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
