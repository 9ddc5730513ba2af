/* Control messages between the two sides of a channel: messages of the library on the
 * communicator's companion, which match no receive of the application. */
#ifndef GPUBIND_MPI_PERSISTENT_CTRL_MSG_H
#define GPUBIND_MPI_PERSISTENT_CTRL_MSG_H

#include "gpu/exchange/exchange.h"
#include "mpi/p2p/tag_match.h"

#define CTRL_TAG INT32_MIN

/* One side of a channel, as CONNECT describes it to the peer. */
struct channel_endpoint {
    uint64_t nbytes;      /* to send; room to receive */
    uint32_t connectable; /* GPU memory with a regular layout; the fields below are set */
    uint32_t kernel;      /* the GPU has the exchange kernel */
    uint32_t no_handshake, nflags;
    uint32_t buffer;              /* bytes behind the flags, for small messages of captured calls */
    uint64_t gpu;                 /* identifies the GPU within the owner's process */
    struct strided_buffer layout; /* at the owner's address */
    gpu_address flags;            /* the same */
    gpu_address staging;          /* nbytes where a send that cannot map `memory` may go; 0: none */
    struct memory_export memory, flags_memory, staging_memory;
};

enum ctrl_kind { /* see channel.h */
                 CTRL_CONNECT,
                 CTRL_WAIT,
                 CTRL_READY,     /* bad: the peer's memory cannot be mapped */
                 CTRL_DISCONNECT /* bad: the request has failed; else freed, or no channel */
};

struct ctrl_msg {
    enum ctrl_kind kind;
    uint32_t from, to; /* channel ids; 0: not known */
    int32_t bad;
    int32_t again;     /* READY, bad: for now */
    int32_t staged;    /* READY of a send: its data go to the receiver's staging buffer */
    int32_t send, tag; /* CONNECT: of the request, */
    int32_t of_capture;
    uint32_t index;  /* and its number among those with that peer and tag, from 1 */
    int32_t counted; /* DISCONNECT, not bad: `starts` has all starts, none was captured */
    uint64_t starts;
    uint64_t sequence;                /* among the sender's messages; set on incoming_msg */
    struct channel_endpoint endpoint; /* CONNECT */
};

/* Sends a copy of msg; where this thread may not call MPI, as soon as one does. */
void ctrl_msg_send(struct comm *comm, int rank, const struct ctrl_msg *msg);
/* A control message was announced on the companion: receives it. */
void ctrl_msg_arrived(struct comm *companion, const struct incoming_msg *incoming);
/* Passes the messages that were received to take, in the order of each sender. */
void ctrl_msgs_read(void (*take)(struct comm *, int rank, const struct ctrl_msg *));
/* Some are being sent or received. */
bool ctrl_msgs_busy(void);
/* The same, of this communicator. */
bool ctrl_msgs_busy_on(const struct comm *comm);
/* One was announced a moment ago, and is not received yet. */
bool ctrl_msgs_coming(void);

#endif
