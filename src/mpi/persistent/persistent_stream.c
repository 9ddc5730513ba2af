/* Starts of persistent requests in the order of a stream of the application. */
#include "core/base/list.h"
#include "mpi/core/progress.h"
#include "mpi/persistent/exchange_streams.h"
#include "mpi/persistent/persistent.h"
#include "mpi/persistent/persistent_queue.h"
#include "mpi/stream/stream_queue.h"

#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_stream.h"

static int fail(struct gpubind_error *err, const struct channel *channel, const char *why)
{
    return error_set(err, "the message %s rank %d with tag %d %s",
                     channel_sends(channel) ? "to" : "from", channel->request->rank,
                     channel->request->tag, why);
}

static bool is_answered(const void *channel)
{
    return !channel_awaits_peer(channel);
}

/* Waits for the answer, which takes only progress of the peer. 0, or -1 with a sentence. */
static int wait_for_answer(const struct channel *channel, struct gpubind_error *err)
{
    while (channel_awaits_peer(channel) && !progress_wait_for(is_answered, channel, 0.1))
        if (request_peer_is_gone(channel->request))
            return error_set(err, "rank %d is gone", channel->request->rank);
    return 0;
}

/* Finds the stream's context, and whether it is being captured. */
static int look_at_stream(gpu_stream stream, gpu_context *context, int *capturing,
                          struct gpubind_error *err)
{
    int status;

    if (!gpu_driver())
        return error_set(err, "this rank uses no GPU, so that there is no stream");
    if (stream_is_green_default(stream))
        return error_set(err, "the default stream of a green context cannot be used here; "
                              "cuGreenCtxStreamCreate makes one that can");
    status = gpu_stream_is_capturing(stream, capturing);
    if (status == GPU_OK)
        status = stream_home(stream, context);
    return status == GPU_OK ? 0 : gpu_error(status, "the stream", err);
}

static struct channel *find_awaiting(struct gpubind_operation *const *requests, int n)
{
    for (int i = 0; i < n; i++)
        if (channel_awaits_peer(requests[i]->channel))
            return requests[i]->channel;
    return NULL;
}

/* Connects the channels that can be; nothing may be queued yet. A receive that is not connected
 * afterwards does not connect before release_all. 0, or -1 with a sentence. */
static int connect_all(struct gpubind_operation *const *requests, int n, struct gpubind_error *err)
{
    const struct channel *channel;

    for (int i = 0; i < n; i++)
        channel_connect(requests[i]->channel);
    while ((channel = find_awaiting(requests, n)))
        if (wait_for_answer(channel, err) < 0)
            return -1;
    for (int i = 0; i < n; i++)
        requests[i]->channel->starting += !channel_sends(requests[i]->channel);
    return 0;
}

static void release_all(struct gpubind_operation *const *requests, int n)
{
    for (int i = 0; i < n; i++) {
        struct channel *channel = requests[i]->channel;

        channel->starting -= !channel_sends(channel);
        channel_answer(channel);
    }
}

/* An MPI error class. */
static int check(struct channel *channel, gpu_context context, bool capturing,
                 struct gpubind_error *err)
{
    const bool captured = capturing && channel->request->rank != MPI_PROC_NULL;
    int result = MPI_ERR_OTHER;

    if (channel->state == CHANNEL_FAILED)
        error_set(err, "%s", channel->error.text);
    else if (captured && !channel->started)
        fail(err, channel,
             "was not started yet, which the first time has to be outside of a "
             "capture");
    else if (captured && channel->by_message)
        fail(err, channel,
             "cannot be captured: it does not go between GPUs that reach each other, "
             "or its other side is not set up yet");
    else if (!channel->by_message && (captured || !capturing) &&
             channel->request->memory.gpu->context != context)
        fail(err, channel, "has its buffer in another context, or on another GPU, than the stream");
    else
        result = MPI_SUCCESS;
    channel->error_pending &= channel->state != CHANNEL_FAILED;
    return result;
}

/* A graph's launches are not known. */
static void record_starts(struct channel *connected)
{
    for (struct channel *channel = connected; channel; channel = channel->list_next) {
        struct gpubind_operation *request = channel->request;

        request->got_tag = request->tag;
        request->got_bytes = channel->peer_nbytes;
        request_record_start(request);
    }
}

/* The starts are in the application's stream, and the library does not follow them there. */
static void leave_exchange(struct channel *channels)
{
    while (channels) {
        struct channel *channel = channels;

        channels = channel->list_next;
        channel->place = CHANNEL_IDLE;
        channel_settle(channel);
    }
}

/* Queues one exchange. Releases the lock; control messages that come meanwhile leave the
 * channels as they are. */
static int queue(struct channel *connected, gpu_stream stream, bool capturing,
                 struct gpubind_error *err)
{
    int status;

    for (struct channel *channel = connected; channel; channel = channel->list_next)
        channel->place = CHANNEL_IN_EXCHANGE;
    status = exchange_batch_queue_unlocked(connected->request->memory.gpu, stream, capturing,
                                           connected, err);
    if (status < 0 && !capturing) /* a part may be queued; a failed capture runs nothing */
        for (struct channel *channel = connected; channel; channel = channel->list_next) {
            channel_fail(channel, err->text);
            channel->error_pending = false;
        }
    if (status == 0 && !capturing && trace_part_is_on)
        record_starts(connected);
    leave_exchange(connected);
    return status == 0 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* Queues those that are still connected: queueing messages before them released the lock. */
static int queue_connected(struct gpubind_operation *const *requests, int n, gpu_stream stream,
                           bool capturing, struct gpubind_error *err)
{
    QUEUE_OF(struct channel) connected = {0};
    int result = MPI_SUCCESS, queued;

    for (int i = 0; i < n; i++) {
        struct channel *channel = requests[i]->channel;

        const bool over = channel->state != CHANNEL_CONNECTED || channel_is_spent(channel, 0);

        if (channel->by_message)
            continue;
        if (over && result == MPI_SUCCESS) {
            error_set(err, "%s", channel->error.text);
            result = MPI_ERR_OTHER;
        }
        if (over)
            continue;
        channel_enter_stream(channel);
        QUEUE_PUSH(&connected, channel, list_next);
    }
    queued = connected.first ? queue(connected.first, stream, capturing, err) : MPI_SUCCESS;
    return result == MPI_SUCCESS ? queued : result;
}

static int count_messages(struct gpubind_operation *const *requests, int n)
{
    int found = 0;

    for (int i = 0; i < n; i++)
        found += requests[i]->channel->by_message;
    return found;
}

static void note_start(struct channel *channel, bool capturing)
{
    channel->started = true;
    if (channel->by_message)
        return;
    channel->captured |= capturing;
    channel->starts += !capturing;
}

/* The stream starts the messages before the exchange and waits for them after it, so that a
 * rank that waits for either has begun both. What can be queued is, whatever else fails. */
static int queue_all(struct gpubind_operation *const *requests, int n, gpu_stream handle,
                     struct stream_queue *stream, struct persistent_queue *messages, bool capturing,
                     struct gpubind_error *err)
{
    struct gpubind_error why[3];
    int results[3] = {MPI_SUCCESS, MPI_SUCCESS, MPI_SUCCESS};
    bool alone;

    persistent_queue_announce(messages);
    for (int i = 0; i < n; i++)
        note_start(requests[i]->channel, capturing);
    alone = count_messages(requests, n) == n;
    results[0] = persistent_queue_go(messages, stream, alone ? STREAM_WAIT_NOW : STREAM_WAIT_LATER,
                                     &why[0]);
    results[1] = queue_connected(requests, n, handle, capturing, &why[1]);
    if (stream)
        results[2] = stream_queue_await(stream, &why[2]);
    for (int i = 0; i < 3; i++)
        if (results[i] != MPI_SUCCESS) {
            *err = why[i];
            return results[i];
        }
    return MPI_SUCCESS;
}

static bool is_real_message(const struct channel *channel)
{
    return channel->by_message && channel->request->rank != MPI_PROC_NULL;
}

/* Checks all requests before anything is queued. */
static int start(struct gpubind_operation *const *requests, int n, gpu_stream handle,
                 struct stream_queue *stream, gpu_context context, bool capturing,
                 struct gpubind_error *err)
{
    struct persistent_queue messages;
    int result = MPI_SUCCESS;

    if (persistent_queue_make(&messages, count_messages(requests, n), err) < 0)
        return MPI_ERR_OTHER;
    for (int i = 0; i < n && result == MPI_SUCCESS; i++)
        result = check(requests[i]->channel, context, capturing, err);
    for (int i = 0; i < n && result == MPI_SUCCESS; i++)
        if (is_real_message(requests[i]->channel))
            result = persistent_queue_add(&messages, requests[i]->channel, err);
    if (result == MPI_SUCCESS)
        result = queue_all(requests, n, handle, stream, &messages, capturing, err);
    persistent_queue_clear(&messages);
    return result;
}

/* Chooses message or channel for each, and opens the stream queue if one is a message. NULL: none
 * is, or an error with *result. */
static struct stream_queue *open_stream(struct gpubind_operation *const *requests, int n,
                                        gpu_stream handle, bool capturing, int *result,
                                        struct gpubind_error *err)
{
    bool any = false;

    for (int i = 0; i < n; i++) {
        struct channel *channel = requests[i]->channel;

        channel->by_message = !persistent_has_channel(channel);
        any |= is_real_message(channel) && channel->state != CHANNEL_FAILED;
    }
    return any && !capturing ? stream_queue_open(handle, result, err) : NULL;
}

static int start_connected(struct gpubind_operation *const *requests, int n, gpu_stream handle,
                           gpu_context context, bool capturing, struct gpubind_error *err)
{
    int result = MPI_SUCCESS;
    struct stream_queue *stream = open_stream(requests, n, handle, capturing, &result, err);

    if (result == MPI_SUCCESS)
        result = start(requests, n, handle, stream, context, capturing, err);
    if (stream)
        stream_queue_close(stream);
    return result;
}

int persistent_start_on_stream(struct gpubind_operation *const *requests, int n, gpu_stream handle,
                               struct gpubind_error *err)
{
    gpu_context context = NULL;
    int capturing = 0, result;

    result = persistent_claim(requests, n, err);
    if (result != MPI_SUCCESS || n == 0)
        return result;
    channels_poll_ctrl();
    if (look_at_stream(handle, &context, &capturing, err) < 0 ||
        connect_all(requests, n, err) < 0) {
        result = MPI_ERR_OTHER;
    } else {
        stream_queue_release_of(handle);
        result = start_connected(requests, n, handle, context, capturing, err);
        release_all(requests, n);
    }
    persistent_unclaim(requests, n);
    return result;
}
