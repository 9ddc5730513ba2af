/* The control messages of channels: connecting and disconnecting; see channel.h for the
 * protocol. */
#include "mpi/base/trace.h"
#include "mpi/p2p/incoming.h"
#include "mpi/persistent/captured_launch.h"
#include "mpi/persistent/channel.h"
#include "mpi/persistent/exchange_streams.h"
#include "mpi/persistent/persistent.h"

/* ---- sending */

void channel_send_ctrl(struct channel *channel, enum ctrl_kind kind, bool bad)
{
    static const char *const names[] = {"CONNECT", "WAIT", "READY", "DISCONNECT"};
    struct ctrl_msg msg = {.kind = kind, .from = channel->id, .to = channel->peer_id, .bad = bad};

    msg.counted = !channel->captured;
    msg.staged = channel_sends(channel) && channel->staged;
    msg.again = bad && channel->in_way;
    msg.starts = channel->starts;
    if (kind == CTRL_CONNECT) {
        msg.send = channel_sends(channel);
        msg.of_capture = channel->of_capture;
        msg.tag = channel->request->tag;
        msg.index = channel->index;
        msg.endpoint = channel->local;
        channel->connect_sent = channel->peer_told = true;
        connection_told(channel);
    }
    trace_debug(TRACE_PERSISTENT, "request %u, %s rank %d, tag %d: %s%s", channel->request->number,
                channel_sends(channel) ? "to" : "from", channel->request->rank,
                channel->request->tag, names[kind], bad ? ", bad" : "");
    ctrl_msg_send(channel->request->comm, channel->request->rank, &msg);
}

static void answer(struct comm *comm, int rank, uint32_t to, enum ctrl_kind kind)
{
    const struct ctrl_msg msg = {.kind = kind, .to = to, .counted = 1};

    ctrl_msg_send(comm, rank, &msg);
}

void channel_connect(struct channel *channel)
{
    if (channel->state == CHANNEL_UNCONNECTED && !channel->connect_sent &&
        clock_seconds() >= channel->connect_at)
        channel_send_ctrl(channel, CTRL_CONNECT, false);
}

/* A start of the receive would take an unexpected message, whatever the sender answers. */
static bool has_message(const struct channel *channel)
{
    const struct gpubind_operation *request = channel->request;

    return !channel_sends(channel) && match_peek(request->comm, request->rank, request->tag);
}

bool channel_awaits_peer(const struct channel *channel)
{
    if (channel->state == CHANNEL_UNCONNECTED)
        return channel->connect_sent && !channel->wait_received && !has_message(channel);
    return channel->state == CHANNEL_CONNECTING &&
           (channel_sends(channel) ? !channel->wait_received
                                   : channel->ready_sent && !has_message(channel));
}

/* ---- connecting */

/* Seconds until a start on a stream tries to connect again, which takes progress of the peer. */
#define CONNECT_PAUSE 0.02

static const char unreachable[] = "the GPUs do not reach each other's memory";

static void give_up_connecting(struct channel *channel, const char *why)
{
    connection_close(channel);
    error_set(&channel->error, "%s", why);
    channel->state = CHANNEL_NONE;
    channel->peer_detached = true;
    captured_changed(channel);
}

/* As if nothing had been sent. */
static void connect_later(struct channel *channel)
{
    connection_close(channel);
    channel->state = CHANNEL_UNCONNECTED;
    channel->connect_sent = channel->wait_received = channel->ready_sent = false;
    channel->connect_at = clock_seconds() + CONNECT_PAUSE;
}

static void finish(struct channel *channel)
{
    channel->state = CHANNEL_CONNECTED;
    trace_debug(TRACE_PERSISTENT, "request %u: connected", channel->request->number);
    channel->was_connected = true;
    captured_changed(channel);
}

/* A send: READY of the receiver has come. */
static void finish_send(struct channel *channel, bool peer_good)
{
    const bool again = (channel->peer_mapped || channel->in_way) &&
                       (peer_good || channel->peer_again);
    const bool good = channel->peer_mapped && peer_good;

    channel->in_way = again && !channel->of_capture; /* on either side: READY says so */
    channel_send_ctrl(channel, CTRL_READY, !good);
    if (good)
        finish(channel);
    else if (channel->in_way)
        connect_later(channel);
    else
        give_up_connecting(channel, unreachable);
}

/* A receive: READY of the sender has come. What the host has posted goes over the channel. */
static void finish_receive(struct channel *channel, bool good)
{
    if (!good && channel->peer_again) {
        connect_later(channel);
        return;
    }
    if (!good) {
        give_up_connecting(channel, unreachable);
        return;
    }
    channel->ready_sequence = channel->peer_ready_sequence;
    connection_stage(channel, channel->peer_staged);
    finish(channel);
    if (channel->message)
        persistent_move_to_channel(channel);
}

void channel_answer(struct channel *channel)
{
    const int ready = channel->peer_ready;

    if (channel->starting > 0 || channel->state != CHANNEL_CONNECTING)
        return;
    if (!channel_sends(channel) && !channel->ready_sent && channel->stream_messages == 0) {
        channel->ready_sent = true;
        channel_send_ctrl(channel, CTRL_READY, !channel->peer_mapped);
    }
    channel->peer_ready = 0;
    if (ready && channel_sends(channel))
        finish_send(channel, ready > 0);
    else if (ready)
        finish_receive(channel, ready > 0);
}

/* CONNECT of the counterpart has come: answers it, and maps the peer's memory. */
static void connect_to(struct channel *channel, const struct ctrl_msg *msg)
{
    const struct channel_endpoint *other = &msg->endpoint;
    const uint64_t sent = channel_sends(channel) ? channel->local.nbytes : other->nbytes;
    const uint64_t room = channel_sends(channel) ? other->nbytes : channel->local.nbytes;

    channel->peer_known = true;
    channel->peer_id = msg->from;
    channel->peer_nbytes = other->nbytes;
    if (!channel->connect_sent)
        channel_send_ctrl(channel, CTRL_CONNECT, false);
    if (sent > room || !connection_possible(channel, other)) { /* the peer computes the same */
        give_up_connecting(channel, sent > room ? "it is longer than the receive"
                                                : "the data of the other side cannot go this way");
        return;
    }
    channel->state = CHANNEL_CONNECTING;
    channel->peer_mapped = connection_open(channel, other);
    channel_answer(channel);
    if (!channel_sends(channel) && !channel->ready_sent)
        channel_send_ctrl(channel, CTRL_WAIT, false);
}

void channel_connect_came(struct channel *channel, const struct ctrl_msg *msg)
{
    if (channel->state == CHANNEL_CONNECTING && channel->peer_ready < 0 && channel->peer_again) {
        channel->peer_ready = 0; /* a start has delayed it */
        connect_later(channel);
    }
    if (channel->state == CHANNEL_UNCONNECTED)
        connect_to(channel, msg);
    else
        answer(channel->request->comm, channel->request->rank, msg->from, CTRL_DISCONNECT);
}

static void take_connect(struct comm *comm, int rank, const struct ctrl_msg *msg)
{
    bool early;
    struct channel *channel = channel_match(comm, rank, msg, &early);

    if (channel)
        channel_connect_came(channel, msg);
    else
        answer(comm, rank, msg->from, early ? CTRL_WAIT : CTRL_DISCONNECT);
}

static void take_ready(struct channel *channel, const struct ctrl_msg *msg)
{
    if (channel->state != CHANNEL_CONNECTING)
        return;
    channel->peer_ready = msg->bad ? -1 : 1;
    channel->peer_ready_sequence = msg->sequence;
    channel->peer_staged = msg->staged;
    channel->peer_again = msg->again;
    channel_answer(channel);
}

/* ---- disconnecting */

void channel_drop_message(struct channel *channel)
{
    struct gpubind_operation *message = channel->message;

    channel->message = NULL;
    if (!message)
        return;
    if (!message->done && message->kind == REQUEST_RECEIVE)
        match_withdraw(message);
    request_free(message);
}

void channel_release_waits(struct channel *channel)
{
    struct gpubind_operation *request = channel->request;

    exchange_streams_drop(channel);
    connection_break_local(channel);
    channel->error_pending = channel->in_stream && request->done; /* else a wait returns it */
    if (!request->done && !channel->message)
        request_complete(request, MPI_ERR_OTHER, "%s", channel->error.text);
}

static void take_failure(struct channel *channel)
{
    const struct gpubind_operation *request = channel->request;

    error_set(&channel->error, "the persistent message with rank %d and tag %d has failed there",
              request->rank, request->tag);
    channel_release_waits(channel);
    channel->state = CHANNEL_FAILED;
    captured_changed(channel);
}

/* All starts of the peer are complete, or under way as messages. Further starts of this side
 * on the channel have no counterpart and are broken; later starts are messages. Where graphs
 * made starts that are not counted, all starts until now are assumed to match. */
static void take_peer_freed(struct channel *channel, const struct ctrl_msg *msg)
{
    const struct gpubind_operation *request = channel->request;

    if (channel->state != CHANNEL_CONNECTED) {
        channel->peer_left = true;
        give_up_connecting(channel, "the other side is gone");
        return;
    }
    error_set(&channel->error, "rank %d has freed its side of the persistent message with tag %d",
              request->rank, request->tag);
    channel->peer_freed = true;
    channel->last_start = msg->counted && !channel->captured ? msg->starts : channel->starts;
    if (channel_is_spent(channel, 0))
        channel_release_waits(channel);
}

static void take_disconnect(struct channel *channel, const struct ctrl_msg *msg)
{
    channel->peer_detached |= !msg->bad;
    if (channel->state != CHANNEL_FAILED) { /* else the first failure counts */
        if (msg->bad)
            take_failure(channel);
        else
            take_peer_freed(channel, msg);
    }
    channel_settle(channel);
}

/* DISCONNECT without our id comes from a request that was freed before it knew it. */
static struct channel *find_by_peer_id(struct comm *comm, int rank, uint32_t from)
{
    struct channel *channel = channels_first();

    if (channel_drop_early_connect(comm, rank, from))
        return NULL;
    while (channel && (!channel->peer_known || channel->peer_id != from ||
                       channel->request->comm != comm || channel->request->rank != rank))
        channel = channel->next;
    return channel;
}

/* ---- reading */

static void take(struct comm *comm, int rank, const struct ctrl_msg *msg)
{
    struct channel *channel = channels_first();

    if (msg->kind == CTRL_CONNECT) {
        take_connect(comm, rank, msg);
        return;
    }
    if (msg->to == 0)
        channel = find_by_peer_id(comm, rank, msg->from);
    while (channel && msg->to != 0 && channel->id != msg->to)
        channel = channel->next;
    if (!channel) /* it was freed meanwhile */
        return;
    if (msg->kind == CTRL_WAIT)
        channel->wait_received = true;
    else if (msg->kind == CTRL_READY)
        take_ready(channel, msg);
    else
        take_disconnect(channel, msg);
}

void channels_read_ctrl(void)
{
    ctrl_msgs_read(take);
}

bool channels_poll_ctrl(void)
{
    incoming_read_all();
    channels_read_ctrl();
    return !ctrl_msgs_coming();
}
