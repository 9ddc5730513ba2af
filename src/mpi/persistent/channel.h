/* Persistent requests, and the channels that some of them form.
 *
 * A start is a message like any other: it matches by MPI's rules, on the host when the start
 * is called (see persistent.h). Two GPUs that exchange data without a host cannot match,
 * so that a stream needs a channel: a send and a receive whose starts match only each other.
 *
 * Who connects. Requests are numbered by communicator, peer, tag and kind, in the order in
 * which they are set up; the nth send and the nth receive are counterparts. Nothing is said
 * about a request before it is started on a stream (a halo's: before it is set up), so that a
 * request that hosts alone start never connects, nor does one with a wildcard, nor one
 * whose counterpart does not exist:
 *
 *   CONNECT     from the side that is started on a stream; answered by CONNECT, by LATER
 *               (the counterpart is not set up yet, or has to finish messages first; CONNECT
 *               follows when it can), or by DISCONNECT (it forms no channel)
 *   READY       first from the receiver: it has mapped what it needs, or could not; then from
 *               the sender, whose word is final
 *   DISCONNECT  the request was freed, or has failed
 *
 * From which start on. The sender decides: its READY is in the sequence of its messages to
 * that process. Its starts before READY are messages, those after it go over the
 * channel. The receiver may have
 *
 *   messages of the sender from before READY that no receive has taken: `since` is READY's
 *     sequence number; while such a message fits, a start of the receive takes it, as it
 *     would have without a channel;
 *   a receive posted by a start of its host when READY comes: no message from before READY
 *     fits it, or it would have matched; what matches it is the sender's first start on the
 *     channel. It is withdrawn and goes over the channel.
 *   a receive posted by a start on a stream: excluded, since the receiver's READY, which the
 *     sender's follows, waits until there is none, and its later starts on streams wait for
 *     the sender's answer unless a message is there for them.
 *
 * So the kth start of the sender after READY meets the kth start of the receiver that takes
 * no message from before READY, and no message is overtaken by one on the channel. A
 * message that the sender's process sends after READY with the same tag is not ordered
 * with the channel and matches other receives only. `starting` keeps a side from passing READY while
 * a start is between its decision and its announcement. When a request is freed its counterpart's
 * starts are messages again. */
#ifndef GPUBIND_MPI_PERSISTENT_CHANNEL_H
#define GPUBIND_MPI_PERSISTENT_CHANNEL_H

#include "gpu/exchange/exchange.h"
#include "gpu/exchange/gpu_flags.h"
#include "mpi/core/request.h"
#include "mpi/persistent/ctrl_msg.h"

enum pair_state {
    PAIR_APART,   /* each start is a message */
    PAIR_ALONE,   /* so far: a channel may be formed */
    PAIR_LINKING, /* so far: both sides are known, whether both reach each other is not */
    PAIR_LINKED,  /* the sender's GPU writes into the receiver's memory */
    PAIR_OVER     /* the channel has failed, or the library has ended; why says so */
};

enum pair_place {
    PAIR_NOWHERE,
    PAIR_DEFERRED, /* its posted receive was withdrawn, it is about to be on a track */
    PAIR_PATIENT,  /* see tracks.h */
    PAIR_ON_TRACK
};

/* This side of it. The request is its operation, which the progress engine never moves itself. */
struct pair {
    struct pair *next;    /* of all, in the order in which they were set up */
    struct pair *follows; /* in the one list that it is in by its place */
    struct gpubind_operation *request;
    enum pair_state state;
    enum pair_place place;
    uint32_t number, others; /* names of the two sides in their processes, from 1 */
    uint32_t index; /* see above; 0: it has a wildcard, or is for MPI_PROC_NULL */
    bool internal;  /* a halo's: connected when it is made, and alone on its communicator */
    bool sure;
    bool dense;  /* its messages are copies of the request */
    bool said;   /* CONNECT, */
    bool told;   /* LATER was the answer */
    bool agreed; /* a receive: READY was said */
    bool met;     /* the other side is known, */
    bool parted;  /* and touches nothing of this side any more: it was freed, or is gone */
    bool stuck;   /* its words could not be broken: nobody may have them any more */
    bool freed;   /* by the application, but still needed here */
    bool started; /* once before */
    bool captured;   /* in graphs, which start it uncounted */
    uint64_t starts; /* all others on the channel, */
    bool limited;    /* of which these have a counterpart: the other side was freed */
    uint64_t last;
    uint64_t since;  /* sequence number of the sender's READY; */
    bool caught_up;  /* no message of before it is left */
    int starting;    /* calls that have decided how a start goes, and not announced it */
    int answer;      /* READY that came meanwhile: 1 good, -1 bad */
    uint64_t answered; /* its sequence number */
    bool by_message; /* this start on a stream */
    struct gpubind_error why;
    uint64_t others_nbytes;
    /* as a message */
    MPI_Datatype type;
    bool own_type;
    MPI_Count count;
    struct gpubind_operation *inner; /* this start's */
    int streamed; /* starts on streams whose messages have not ended */
    struct pair *next_leaving; /* freed while active */
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

/* A new one for the request. NULL: out of memory. layout: of the buffer; NULL: irregular. */
struct pair *pair_make(struct gpubind_operation *request, const struct layout *layout,
                       bool internal, bool sure);
/* The application needs it no more; it is not active. */
void pair_free(struct pair *pair);
/* It cannot be started any more: says so to the other side, ends a start that is under
 * way on either with the sentence. */
void pair_break(struct pair *pair, const char *why);
/* What was started is over on this side: may end what waits for that. */
void pair_settle(struct pair *pair);
/* All of them. */
struct pair *pairs_first(void);
/* One is set up with a buffer in that allocation. */
bool pairs_hold(uint64_t id);
/* A start on the channel is put into a stream of the application's. */
void pair_enter_stream(struct pair *pair);
/* There are such pairs: a stream may wait for a rank that is gone while nobody is in the
 * library. Without the lock. */
bool pairs_watched(void);
/* Ends such waits; looks ten times a second at most. */
void pairs_watch(void);
/* All ranks have come to the library's end: nothing waits, nothing is mapped. */
void pairs_stop(void);

/* ---- pairs_connect.c */

/* A new one: its number, and what its counterpart has said already. */
void pair_introduce(struct pair *pair);
/* Says CONNECT, once. */
void pair_connect(struct pair *pair);
void pair_tell(struct pair *pair, enum letter_kind kind, bool bad);
/* Answers what had to wait for a start of this side. */
void pair_decide(struct pair *pair);
/* A start on a stream needs an answer of the other side first, which takes only progress there:
 * it has still to send what this side receives, or to receive what this one sends. */
bool pair_awaits(const struct pair *pair);
/* Takes what the others tell. */
void pairs_listen(void);
/* The same, of all that ranks of this node have said by now; false: something is still on
 * its way. */
bool pairs_hear(void);
/* Streams of the application, or an exchange of the library's, wait in vain. */
void pair_let_go(struct pair *pair);
/* The message of the start that is under way, if it is one, is forgotten. */
void pair_drop_message(struct pair *pair);
/* The communicator is no more. */
void pairs_forget(const struct comm *comm);

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

#endif
