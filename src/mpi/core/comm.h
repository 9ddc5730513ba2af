/* Attached communicators, each with its matching queues. */
#ifndef GPUBIND_MPI_CORE_COMM_H
#define GPUBIND_MPI_CORE_COMM_H

#include "core/base/list.h"
#include "mpi/core/domain.h"

struct gpubind_operation;
struct incoming_msg;

struct incoming_queue {
    struct incoming_msg *first, **end;
};

struct comm {
    struct comm *next;
    MPI_Comm user;
    uint64_t context; /* identifies the communicator: the same on all its ranks, unique */
    struct domain *domain;
    int rank, size;
    int *domain_ranks; /* of its ranks */
    int tag_most;
    /* Receives without a message and messages without a receive, oldest first. */
    QUEUE_OF(struct gpubind_operation) posted;
    struct incoming_queue unexpected;
    struct rank_map *rank_map;     /* see rank_map.h; NULL: not made yet */
    struct gpubind_window *window; /* whose communicator it is; see window_am.h */
    uint32_t ndups;                /* duplicates that MPI_Comm_dup and its like have made of it */
    int operations;                /* live requests on it */
    bool *told;     /* by rank: its death was reported to a receive from any source; NULL: none */
    bool freed;     /* the application has freed it; this struct goes with the last request */
    bool announces; /* collective calls on it are announced; see blocking.h */
    MPI_Request announcement; /* of the latest collective call */
    struct comm *companion;   /* for the library's own messages on it; its context is 1 more */
    struct comm *of;          /* of a companion: the communicator that it belongs to; else NULL */
};

/* Collective over user. A duplicate of an attached communicator is attached by the call that made
 * it. Attaching again does nothing. An MPI error class, with a sentence. */
int comm_attach(MPI_Comm user, const struct settings *settings, struct gpubind_error *err);
/* NULL when it is not attached. */
struct comm *comm_of(MPI_Comm user);
struct comm *comm_with(uint64_t context);
struct comm *comm_first(void);
/* One of its requests has been freed. */
void comm_leave(struct comm *comm);
/* Some communicators announce their collective calls. */
bool comms_announce(void);
void comms_clear(void);

#endif
