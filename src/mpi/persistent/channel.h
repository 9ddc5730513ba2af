/* Persistent requests, and the channels that some of them form.
 *
 * A start of a persistent request is by default a message like any other: it is matched on
 * the host when the start is called (see persistent.h). Two GPUs that exchange data without
 * the host cannot match messages, so that a start on a stream uses a channel: one send and
 * one receive request whose starts match only each other.
 *
 * Connecting. Requests are numbered by communicator, peer, tag and kind, in the order in
 * which they are set up; the nth send and the nth receive are counterparts. A request sends
 * no control message before it is started on a stream (a halo's: when it is set up).
 * Requests that are only started by the host therefore never connect; neither do requests
 * with a wildcard, nor those whose counterpart does not exist.
 *
 *   CONNECT     from the side that is started on a stream. The peer answers by CONNECT, by
 *               WAIT (the counterpart is not set up yet, or has to finish messages first;
 *               CONNECT follows when it can), or by DISCONNECT (it forms no channel).
 *   READY       first from the receiver: it has mapped the sender's flags, or failed to. Then
 *               from the sender, whose answer decides. Where they failed for now, later starts
 *               on streams connect again.
 *   DISCONNECT  the request was freed, or has failed.
 *
 * The first start on the channel. The sender's READY has a place in the sequence of its
 * messages to that process: its starts before READY are messages, its starts after READY
 * use the channel. On the receiving side,
 *
 *   unexpected messages from before READY may be queued. Their sequence numbers are lower
 *     than `ready_sequence`; while one of them matches, a start of the receive takes it, as
 *     it would without a channel;
 *   a receive that the host has posted may be waiting when READY comes. No message from
 *     before READY matches it, or it would have been matched; so its message is the sender's
 *     first start on the channel. The receive is withdrawn and continues on the channel;
 *   no receive that was posted by a start on a stream is waiting: the receiver sends its
 *     READY, which precedes the sender's, only when there is none, and later starts on
 *     streams wait for the sender's READY unless an unexpected message matches.
 *
 * So the kth start of the sender after READY meets the kth start of the receiver that takes
 * no message from before READY, and no message is overtaken by data on the channel. A
 * message that the sender's process sends after READY with the same tag is not ordered
 * with the channel and matches other receives only. `starting` delays READY while a start
 * is between choosing message or channel and announcing its message. When a request is
 * freed, its counterpart's starts become messages again. */
#ifndef GPUBIND_MPI_PERSISTENT_CHANNEL_H
#define GPUBIND_MPI_PERSISTENT_CHANNEL_H

#include "gpu/exchange/exchange.h"
#include "gpu/exchange/gpu_flags.h"
#include "mpi/core/request.h"
#include "mpi/persistent/ctrl_msg.h"

enum channel_state {
    CHANNEL_NONE,        /* every start is a message */
    CHANNEL_UNCONNECTED, /* starts are messages; CONNECT may still come or be sent */
    CHANNEL_CONNECTING,  /* starts are messages; both sides have sent CONNECT */
    CHANNEL_CONNECTED,   /* the sender's GPU writes to the receiver's memory */
    CHANNEL_FAILED       /* `error` says why; also after the library's end */
};

/* Where the current start on the channel is. */
enum channel_place {
    CHANNEL_IDLE,
    CHANNEL_DEFERRED,   /* its posted receive was withdrawn; the next step of progress starts it */
    CHANNEL_WAITING,    /* it waits for the peer outside of a stream, see exchange_streams.h */
    CHANNEL_IN_EXCHANGE /* its exchange is in a stream */
};

enum persistent_use {
    PERSISTENT_CALL, /* of the application's send_init or recv_init */
    PERSISTENT_HALO, /* on a communicator of the library's own; connects at set-up */
    PERSISTENT_CAPTURE
};

/* This rank's side of a channel, one for each persistent request. */
struct channel {
    struct channel *next;      /* in the list of all, in the order of their set-up */
    struct channel *list_next; /* in the list that `place` puts it in */
    struct gpubind_operation *request;
    enum channel_state state;
    enum channel_place place;
    uint32_t id, peer_id; /* of the two sides, each unique in its process, from 1 */
    uint32_t index;       /* among the requests of that peer and tag; 0: cannot connect */
    bool internal;        /* of a halo: connects at set-up, alone on its communicator */
    bool of_capture;      /* of a call in a capture: connects at set-up, with such calls alone */
    bool awaited;         /* of_capture: not connected yet, as captured_busy counts */
    bool buffered;        /* what is sent comes to a buffer, from where the receive takes it: */
    bool staged;          /* the receive's `staging`, in place of that behind its flags */
    bool no_handshake;    /* the callers of both sides guarantee that the buffer is free */
    bool dense;           /* the buffer is contiguous: messages are copies of the request */

    /* connecting */
    bool connect_sent;
    bool peer_told;     /* connect_sent, once */
    bool wait_received; /* instead of an answer to CONNECT */
    bool ready_sent;    /* a receive */
    bool peer_known;    /* peer_id and peer_nbytes are known */
    bool peer_mapped;   /* the peer's memory is mapped here, as far as needed, */
    bool in_way; /* or not for now: mappings of memory that the peer has freed are still open */
    double connect_at; /* not before: then they may be closed */
    int starting;      /* calls between choosing how to start and announcing the message */
    int peer_ready;    /* READY came and is not handled yet: 1 it was good, -1 it was not */
    uint64_t peer_ready_sequence; /* its sequence number, */
    bool peer_staged;             /* that the peer sends to `staging`, */
    bool peer_again;              /* and that it was bad for now */
    uint64_t ready_sequence;      /* the same of the sender's READY, once handled */
    bool older_matched;           /* no unexpected message from before ready_sequence is left */
    uint64_t peer_nbytes;
    struct channel_endpoint local;
    struct pack_buffer *staging; /* of a captured receive whose memory may not be mapped yet */
    struct mapping *memory_mapping, *flags_mapping; /* of the peer's */

    /* starts */
    bool started;                      /* at least once */
    bool captured;                     /* in a graph, whose launches `starts` does not count */
    uint64_t starts;                   /* on the channel, outside of graphs */
    bool by_message;                   /* the start on a stream that is being queued is a message */
    struct gpubind_operation *message; /* of the host's current start; NULL: none */
    int stream_messages;               /* messages of starts on streams that have not completed */
    MPI_Datatype type;                 /* of the buffer, for messages */
    bool owns_type;                    /* it is a duplicate */
    MPI_Count count;
    bool in_stream;         /* application streams may wait for the peer */
    struct gpu_flags flags; /* in this GPU's memory; the peer sets them */
    union {
        struct exchange_send send;
        struct exchange_receive receive;
    } exchange;

    /* ending */
    bool freed;                        /* by the application; the channel is still needed here */
    struct channel *next_freed_active; /* in the list of those freed while active */
    bool peer_left;                    /* the peer freed its request before they were connected */
    bool peer_freed; /* the peer freed its request: starts up to last_start still match */
    uint64_t last_start;
    bool peer_detached; /* the peer has freed its side or is gone, and touches no memory here */
    bool was_connected;
    bool flags_stuck;   /* the flags could not be broken, and are not used again */
    bool error_pending; /* a stream's wait was broken, and no call has returned `error` yet */
    struct gpubind_error error;
};

/* Makes the channel of a new request. layout: of the buffer; NULL: irregular. NULL: out of
 * memory. */
struct channel *channel_make(struct gpubind_operation *request, const struct strided_buffer *layout,
                             enum persistent_use use, bool no_handshake);
/* The application frees the request, which is not active. */
void channel_free(struct channel *channel);
/* Fails the channel: tells the peer, and ends a start that is under way on either side with
 * the sentence. */
void channel_fail(struct channel *channel, const char *why);
/* To be called when a start has ended on this side: does what had to wait for that (answers
 * the peer, unmaps, destroys a freed channel). The channel may be no more afterwards. */
void channel_settle(struct channel *channel);
struct channel *channels_first(void);
/* A channel has its buffer in allocation id. */
bool channels_use_memory(uint64_t id);
/* A start on the channel goes into a stream of the application. */
void channel_enter_stream(struct channel *channel);
/* Some channel is in_stream: a stream may wait for a rank that is gone while no thread is in
 * the library. May be called without the lock. */
bool channels_in_streams(void);
/* Breaks waits of streams for ranks that are gone; looks ten times a second at most. */
void channels_watch_peers(void);
/* At the library's end, which all ranks have reached: ends all waits and mappings. */
void channels_stop(void);

/* ---- channel_match.c */

/* Numbers a new channel; if its counterpart's CONNECT has come already, passes that on. */
void channel_register(struct channel *channel);
/* Finds the channel that CONNECT of rank is for. NULL: none; with *early the request is not
 * set up yet, and channel_register will find CONNECT, which is kept. */
struct channel *channel_match(struct comm *comm, int rank, const struct ctrl_msg *msg, bool *early);
/* Drops a kept CONNECT of that sender's id. false: there is none. */
bool channel_drop_early_connect(const struct comm *comm, int rank, uint32_t id);
/* The communicator is freed. */
void channels_forget(const struct comm *comm);

/* ---- channel_handshake.c */

/* Sends CONNECT, unless it was sent. */
void channel_connect(struct channel *channel);
/* CONNECT of the channel's counterpart has come. */
void channel_connect_came(struct channel *channel, const struct ctrl_msg *msg);
void channel_send_ctrl(struct channel *channel, enum ctrl_kind kind, bool bad);
/* Sends and handles READY, if nothing of this side delays it any more. */
void channel_answer(struct channel *channel);
/* A start on a stream has to wait for the peer's answer first, which takes only progress of
 * the peer: it has a message to send to, or to receive from, this side. */
bool channel_awaits_peer(const struct channel *channel);
/* Handles the control messages that have come. */
void channels_read_ctrl(void);
/* The same after reading all that ranks of this node have announced by now. false: a control
 * message is still on its way. */
bool channels_poll_ctrl(void);
/* Ends what waits for the peer on this side: the application's streams, and an exchange. */
void channel_release_waits(struct channel *channel);
/* Forgets the message of the host's current start, if it is one. */
void channel_drop_message(struct channel *channel);

/* ---- channel_connect.c */

/* Fills channel->local, which CONNECT carries. */
void connection_describe(struct channel *channel, const struct strided_buffer *layout);
/* CONNECT is sent: the peer may map what it tells of, and is asked to unmap it before it is freed. */
void connection_told(const struct channel *channel);
/* Both sides could connect by what they have told; both compute the same answer. */
bool connection_possible(const struct channel *channel, const struct channel_endpoint *other);
/* Of a buffered receive: where its message comes to. */
struct strided_buffer connection_buffer(const struct channel *channel);
/* Of a receive, when READY of the send has come: data come to its staging buffer, or never will. */
void connection_stage(struct channel *channel, bool staged);
void connection_free_staging(struct channel *channel);
/* Maps the peer's memory. false: the driver refuses. */
bool connection_open(struct channel *channel, const struct channel_endpoint *other);
void connection_close(struct channel *channel);
/* Writes EXCHANGE_FLAG_BROKEN to the flags, so that streams that wait for them go on: on both
 * sides, or on this one alone. */
void connection_break(struct channel *channel);
void connection_break_local(struct channel *channel);

static inline bool channel_sends(const struct channel *channel)
{
    return channel->request->kind == REQUEST_SEND;
}

/* The peer has freed its request: `more` further starts here exceed those that it matches. */
static inline bool channel_is_spent(const struct channel *channel, unsigned more)
{
    return channel->peer_freed && channel->starts + more > channel->last_start;
}

static inline unsigned channel_parts(const struct channel *channel)
{
    return channel_sends(channel) ? channel->exchange.send.parts : channel->exchange.receive.parts;
}

#endif
