/* Channels from their set-up to their end, and what happens when the peer is gone. */
#include "mpi/persistent/channel.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/core/progress_thread.h"
#include "mpi/message/message.h"
#include "mpi/persistent/captured_launch.h"
#include "mpi/persistent/exchange_streams.h"
#include "mpi/persistent/persistent.h"

#define PEER_CHECK_INTERVAL 0.1 /* seconds between two checks for ranks that are gone */

static QUEUE_OF(struct channel) channels;
static _Atomic int in_streams; /* so many are; read without the lock */

struct channel *channels_first(void)
{
    return channels.first;
}

static void destroy(struct channel *channel)
{
    QUEUE_REMOVE(&channels, channel, next);
    connection_close(channel);
    if (!channel->flags_stuck) {
        gpu_flags_give(&channel->flags);
        connection_free_staging(channel);
    }
    if (channel->owns_type)
        PMPI_Type_free(&channel->type);
    channel->request->channel = NULL;
    requests_count(1);
    request_free(channel->request);
    free(channel);
}

static void close_channel(struct channel *channel, const char *why)
{
    error_set(&channel->error, "%s", why);
    channel->state = CHANNEL_FAILED;
    captured_changed(channel);
    channel_settle(channel);
}

void channel_settle(struct channel *channel)
{
    if (channel->place != CHANNEL_IDLE || channel->message || channel->stream_messages > 0)
        return;
    channel_answer(channel);
    if (channel->state == CHANNEL_CONNECTED && !channel->of_capture && channel_is_spent(channel, 1))
        channel->state = CHANNEL_NONE;
    /* A graph may be launched until the request is freed. */
    if ((channel->state == CHANNEL_FAILED || channel->state == CHANNEL_NONE) &&
        (channel->freed || !channel->captured))
        connection_close(channel);
    /* The peer's GPU may write to the flags until the peer has freed its side, too. */
    if (channel->freed && channel->peer_detached && (!channel->owns_type || library_may_call_mpi()))
        destroy(channel);
}

void channel_fail(struct channel *channel, const char *why)
{
    struct gpubind_error text; /* why may be the channel's own */

    error_set(&text, "%s", why);
    /* DISCONNECT goes first: a rank that finds its flags set or broken reads control messages
     * before it takes the start for complete, and a broken exchange may set the peer's flags. */
    if (channel->peer_known && !channel->peer_detached && channel->state != CHANNEL_FAILED)
        channel_send_ctrl(channel, CTRL_DISCONNECT, true);
    exchange_streams_drop(channel);
    connection_break(channel);
    /* A request that is not done returns the error when it is waited for. */
    channel->error_pending = channel->in_stream && channel->request->done;
    if (!channel->request->done)
        request_complete(channel->request, MPI_ERR_OTHER, "%s", text.text);
    channel_drop_message(channel);
    close_channel(channel, text.text);
}

/* ---- ranks that are gone */

/* Destroys freed channels whose peer has ended without DISCONNECT, or which were kept because
 * the thread that saw DISCONNECT may not call MPI. */
static void destroy_detached(void)
{
    static double looked;
    const double now = clock_seconds();
    struct channel *channel, *next;

    if (now - looked < PEER_CHECK_INTERVAL)
        return;
    looked = now;
    for (channel = channels.first; channel; channel = next) {
        next = channel->next;
        if (!channel->freed || !(channel->peer_detached || request_peer_is_gone(channel->request)))
            continue;
        channel->peer_detached |= channel->peer_known && request_peer_is_gone(channel->request);
        channel_settle(channel);
    }
}

void channel_enter_stream(struct channel *channel)
{
    struct gpubind_error ignored; /* without the thread, calls of the library check the peer */

    if (channel->in_stream)
        return;
    channel->in_stream = true;
    in_streams++;
    if (progress_thread_start(&ignored) == 0)
        progress_thread_wake();
}

static void leave_streams(struct channel *channel)
{
    in_streams -= channel->in_stream;
    channel->in_stream = false;
}

bool channels_in_streams(void)
{
    return in_streams > 0;
}

/* The library does not see launches of graphs: their channels are checked always. */
static void watch_peer(struct channel *channel, bool held)
{
    struct gpubind_error why;

    if (!channel->in_stream || !(channel->was_connected || channel->of_capture) ||
        !(held || channel->captured) || !request_peer_is_gone(channel->request))
        return;
    channel->peer_detached = true;
    error_set(&why, "rank %d is gone", channel->request->rank);
    if (channel->state == CHANNEL_FAILED) /* a wait for 32 bits may need to be broken again */
        connection_break_local(channel);
    else
        channel_fail(channel, why.text);
}

void channels_watch_peers(void)
{
    static double looked;
    const double now = clock_seconds();
    bool held;

    if (now - looked < PEER_CHECK_INTERVAL)
        return;
    looked = now;
    held = gpu_is_guarded();
    for (struct channel *channel = channels.first, *next; channel; channel = next) {
        next = channel->next;
        watch_peer(channel, held);
    }
}

/* ---- set-up and end */

struct channel *channel_make(struct gpubind_operation *request, const struct strided_buffer *layout,
                             enum persistent_use use, bool no_handshake)
{
    struct channel *channel = calloc(1, sizeof *channel);

    if (!channel)
        return NULL;
    destroy_detached();
    channel->request = request;
    channel->internal = use == PERSISTENT_HALO;
    channel->of_capture = channel->captured = use == PERSISTENT_CAPTURE;
    channel->no_handshake = no_handshake;
    request->channel = channel;
    request->ops = &persistent_ops;
    request->inactive = true;
    requests_count(-1);
    request->done = true;
    QUEUE_PUSH(&channels, channel, next);
    if (request->rank >= 0 && request->tag != MPI_ANY_TAG)
        connection_describe(channel, layout);
    message_sweep();
    if (use != PERSISTENT_CALL || channel->local.connectable)
        channel->state = CHANNEL_UNCONNECTED;
    channel_register(channel);
    if (use != PERSISTENT_CALL)
        channel_connect(channel);
    return channel;
}

void channel_free(struct channel *channel)
{
    channel->freed = true;
    leave_streams(channel);
    if (channel->peer_told && channel->request->comm)
        channel_send_ctrl(channel, CTRL_DISCONNECT, false);
    if (!channel->peer_known) /* the peer has mapped nothing, or never writes to it */
        channel->peer_detached = true;
    channel->state = CHANNEL_FAILED;
    channel_settle(channel);
}

bool channels_use_memory(uint64_t id)
{
    for (const struct channel *channel = channels.first; channel; channel = channel->next)
        if (!channel->freed && channel->request->memory.gpu && channel->request->memory.id == id &&
            channel->state != CHANNEL_FAILED)
            return true;
    return false;
}

/* Requests that the application has not freed stay, and may be freed after the end. */
void channels_stop(void)
{
    struct channel *channel, *next;

    captured_stop();
    QUEUE_FOREACH (channel, &channels, next)
        if (channel->place != CHANNEL_IDLE)
            connection_break_local(channel);
    exchange_streams_stop();
    for (channel = channels.first; channel; channel = next) {
        struct gpubind_operation *request = channel->request;

        next = channel->next;
        leave_streams(channel);
        channel->place = CHANNEL_IDLE;
        channel->peer_detached = true;
        channel_drop_message(channel);
        if (!request->done)
            request_complete(request, MPI_ERR_OTHER, "the library has ended");
        if (request->comm)
            comm_leave(request->comm);
        request->comm = NULL;
        gpu_flags_give(&channel->flags);
        connection_free_staging(channel);
        if (channel->owns_type) /* the request may be freed after MPI_Finalize */
            PMPI_Type_free(&channel->type);
        channel->owns_type = false;
        if (channel->captured) /* what a graph uses stays mapped: it may run still */
            channel->memory_mapping = channel->flags_mapping = NULL;
        close_channel(channel, "the library has ended");
    }
}
