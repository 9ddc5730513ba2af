/* Persistent messages: a send and a receive that were set up for each other. */
#ifndef GPUBIND_MPI_PAIRS_H
#define GPUBIND_MPI_PAIRS_H

#include "cuda/exchange.h"
#include "cuda/words.h"
#include "mpi/letters.h"
#include "mpi/operation.h"

enum pair_state {
    PAIR_NOBODY,   /* the other side is MPI_PROC_NULL */
    PAIR_ALONE,    /* the other side is not known yet */
    PAIR_LINKING,  /* known; whether both reach each other is not */
    PAIR_LINKED,   /* the sender's GPU writes into the receiver's memory */
    PAIR_MESSAGES, /* each start is a message of the engine */
    PAIR_TOO_LONG, /* the send is longer than the receive's room: nothing moves */
    PAIR_OVER      /* the other side was freed, or one has failed; why says so */
};

enum pair_place {
    PAIR_NOWHERE,
    PAIR_DEFERRED, /* started before it was known how */
    PAIR_PATIENT,  /* see tracks.h */
    PAIR_ON_TRACK
};

/* This side of it. The request is its operation, which the engine never moves itself. */
struct pair {
    struct pair *next;    /* of all, in the order in which they were set up */
    struct pair *follows; /* in the one list that it is in by its place */
    struct gpubind_operation *request;
    enum pair_state state;
    enum pair_place place;
    uint32_t number, others; /* names of the two sides in their processes */
    int space;               /* pairs of one space meet: 0 is the application's */
    bool sure;
    bool met;     /* the other side is known, */
    bool parted;  /* and touches nothing of this side any more: it was freed, or is gone */
    bool stuck;   /* its words could not be broken: nobody may have them any more */
    bool freed;   /* by the application, but still needed here */
    bool started; /* once before */
    bool captured;   /* in graphs, which start it uncounted */
    uint64_t starts; /* all others, */
    bool limited;    /* of which these have a counterpart: the other side was freed */
    uint64_t last;
    uint64_t call; /* that started it the last time */
    struct gpubind_error why;
    uint64_t others_nbytes;
    /* as a message */
    MPI_Datatype type;
    bool own_type;
    MPI_Count count;
    struct gpubind_operation *inner; /* this start's */
    int streamed; /* starts on streams whose messages have not ended */
    bool linked; /* or was; then: */
    bool in_stream; /* streams of the application may wait for the other side; */
    bool unsaid;    /* they did in vain, and no call has returned that yet */
    struct words words;
    struct offered mine;
    bool reached; /* what has to be mapped here is */
    struct mapping *memory_mapping, *words_mapping;
    union {
        struct exchange_send send;
        struct exchange_receive receive;
    } exchange;
};

/* A new one for the request, whose other side is told. NULL: out of memory. layout: of
 * the buffer; NULL: irregular. */
struct pair *pair_make(struct gpubind_operation *request, const struct layout *layout, int space,
                       bool sure);
/* The application needs it no more; it is not active. */
void pair_free(struct pair *pair);
/* It cannot be started any more: says so to the other side, ends a start that is under
 * way on either with the sentence. */
void pair_break(struct pair *pair, const char *why);
/* What was started is over on this side: may end what waits for that. */
void pair_settle(struct pair *pair);
/* One is set up with a buffer in that allocation. */
bool pairs_hold(uint64_t id);

/* Takes what the others tell. */
void pairs_listen(void);
/* The same, of all that ranks of this node have said by now; false: something is still on
 * its way. */
bool pairs_hear(void);
/* The communicator is no more. */
void pairs_forget(const struct comm *comm);
/* All ranks have come to the library's end: nothing waits, nothing is mapped. */
void pairs_stop(void);

/* ---- links.c */

/* Fills what the other side has to know. */
void link_offer(struct pair *pair, const struct layout *layout);
/* Both sides may try; they come to the same answer. */
bool link_may_be(const struct pair *pair, const struct offered *other);
/* Maps what this side needs; false: the driver refuses. */
bool link_open(struct pair *pair, const struct offered *other);
void link_close(struct pair *pair);
/* Whoever waits for words of the linked pair goes on, on the other side too; on this side
 * alone. */
void link_break(struct pair *pair);
void link_break_here(struct pair *pair);

static inline bool pair_sends(const struct pair *pair)
{
    return pair->request->kind == OPERATION_SEND;
}

/* So many starts more have no counterpart any more. */
static inline bool pair_is_spent(const struct pair *pair, unsigned more)
{
    return pair->limited && pair->starts + more > pair->last;
}

static inline unsigned pair_parts(const struct pair *pair)
{
    return pair_sends(pair) ? pair->exchange.send.parts : pair->exchange.receive.parts;
}

static inline bool pair_is_known(const struct pair *pair)
{
    return pair->state != PAIR_ALONE && pair->state != PAIR_LINKING;
}

#endif
