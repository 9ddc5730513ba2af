/* Communicators that are attached: matching is by communicator. */
#ifndef GPUBIND_MPI_CORE_COMM_H
#define GPUBIND_MPI_CORE_COMM_H

#include "mpi/core/domain.h"

struct gpubind_operation;
struct incoming_msg;

struct comm {
    struct comm *next;
    MPI_Comm user;
    uint64_t context; /* the same on all its ranks, and theirs alone */
    struct domain *domain;
    int rank, size;
    int *domain_ranks; /* of its ranks */
    int tag_most;
    /* Receives without a message and messages without a receive, oldest first. */
    struct gpubind_operation *posted, **posted_end;
    struct incoming_msg *unexpected, **unexpected_end;
    struct rank_map *rank_map; /* see rank_map.h; NULL: not asked yet */
    struct gpubind_window *window; /* it is that one's own, see window_am.h */
    uint32_t ndups; /* copies that MPI_Comm_dup and its like have made of it */
    int operations; /* that are under way on it, or whose end nobody has heard of; */
    bool *told;     /* ranks that are gone, as waits for any rank have told; NULL: none */
    bool freed;     /* the application's communicator is gone, ours goes with the last */
    bool announces;       /* see blocking.h */
    MPI_Request announcement; /* of the latest collective call */
    struct comm *companion; /* for the library's own messages on it, its context is 1 more; */
    struct comm *of;        /* of that one: whose companion it is, else NULL */
};

/* Collective over user; a duplicate of one that is attached, which is attached by MPI's
 * call that made it, needs none. Attaching again does nothing. An MPI error class, with a
 * sentence. */
int comm_attach(MPI_Comm user, const struct settings *settings, struct gpubind_error *err);
/* NULL when it is not attached. */
struct comm *comm_of(MPI_Comm user);
struct comm *comm_with(uint64_t context);
struct comm *comm_first(void);
/* One of its operations is no more. */
void comm_leave(struct comm *comm);
/* Some of them have gates. */
bool comms_announce(void);
void comms_clear(void);

#endif
