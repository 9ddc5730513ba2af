#include "mpi/persistent/exchange_streams.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "gpu/core/deferred_free.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_stream.h"

/* With the library's other streams, fewer than the 8 hardware queues of CUDA's default. */
#define EXCHANGE_STREAMS 4
#define READY_STREAM 0 /* the one for channels whose peer is ready: nothing waits in it */

#define BLOCKS_LEAST 8u /* in place of more that are wanted, else the host looks after it */

struct exchange_stream {
    gpu_stream handle;
    gpu_event event;
    struct channel *channels; /* of the exchange in it; NULL: none */
    unsigned blocks;          /* of these that may wait */
};

static struct exchange_streams { /* of one GPU */
    struct exchange_streams *next;
    struct gpu *gpu;
    struct exchange_stream streams[EXCHANGE_STREAMS];
    QUEUE_OF(struct channel) waiting; /* for their peers, outside of the streams */
} * all_streams;

static int make_streams(struct exchange_streams *streams, struct gpubind_error *err)
{
    bool entered = gpu_enter(streams->gpu);
    int status = GPU_OK;

    gpu_agents_leave();
    for (int i = 0; i < EXCHANGE_STREAMS && status == GPU_OK; i++) {
        struct exchange_stream *stream = &streams->streams[i];

        status = gpu_stream_make(false, &stream->handle);
        if (status == GPU_OK)
            status = gpu_event_create(&stream->event, GPU_EVENT_NO_TIMING);
    }
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "a CUDA stream cannot be made", err);
}

static void clear(struct exchange_streams *streams)
{
    const bool dead = gpu_is_dead(streams->gpu);
    bool entered = !dead && gpu_enter(streams->gpu);

    for (int i = 0; i < EXCHANGE_STREAMS && !dead; i++) {
        struct exchange_stream *stream = &streams->streams[i];

        if (stream->event)
            gpu_event_destroy(stream->event);
        if (stream->handle)
            gpu_stream_destroy(stream->handle);
    }
    gpu_leave(entered);
    free(streams);
}

static struct exchange_streams *streams_of(struct gpu *gpu, struct gpubind_error *err)
{
    struct exchange_streams *streams = all_streams;

    while (streams && streams->gpu != gpu)
        streams = streams->next;
    if (streams)
        return streams;
    streams = calloc(1, sizeof *streams);
    if (!streams) {
        error_set(err, "out of memory");
        return NULL;
    }
    streams->gpu = gpu;
    if (make_streams(streams, err) < 0) {
        clear(streams);
        return NULL;
    }
    streams->next = all_streams;
    all_streams = streams;
    return streams;
}

static bool skips_handshake(const struct channel *channel)
{
    return channel_sends(channel) ? channel->exchange.send.no_handshake
                                  : channel->exchange.receive.no_handshake;
}

static int queue(const struct exchange_streams *streams, const struct exchange_stream *stream,
                 struct channel *channels, unsigned blocks, struct gpubind_error *err)
{
    bool entered;
    int status;

    if (exchange_batch_queue(streams->gpu, stream->handle, channels, blocks, err) < 0)
        return -1;
    entered = gpu_enter(streams->gpu);
    status = gpu_event_record(stream->event, stream->handle);
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "an exchange cannot be started", err);
}

/* The channels' exchange is over: completes their requests. */
static void end(struct channel *channels)
{
    while (channels) {
        struct channel *channel = channels;

        channels = channel->list_next;
        if (!channel->request->done)
            request_succeed(channel->request);
        channel->place = CHANNEL_IDLE;
        channel_settle(channel); /* may destroy it */
    }
}

/* The channels' exchange has failed. What of it is in the stream (NULL: in none) runs to its
 * end before anything of the channels is used again. */
static void fail(struct gpu *gpu, gpu_stream handle, struct channel *channels,
                 const struct gpubind_error *failure)
{
    bool entered, broken = true;

    for (struct channel *channel = channels; channel; channel = channel->list_next) {
        channel_fail(channel, failure->text);
        broken &= !channel->flags_stuck;
    }
    entered = gpu_enter(gpu);
    if (handle && broken)
        gpu_stream_synchronize(handle);
    gpu_leave(entered);
    end(channels);
}

static unsigned blocks_of(const struct gpu *gpu, const struct channel *channels)
{
    unsigned parts = 0, nreceives = 0;

    for (; channels; channels = channels->list_next)
        if (channel_sends(channels))
            parts += channel_parts(channels);
        else
            nreceives++;
    return exchange_blocks(gpu, parts, nreceives);
}

static void count_blocks(const struct exchange_streams *streams, struct exchange_stream *stream,
                         unsigned blocks)
{
    streams->gpu->exchange_blocks += blocks - stream->blocks;
    stream->blocks = blocks;
}

/* blocks: as of exchange_batch_queue. */
static void launch(struct exchange_streams *streams, struct exchange_stream *stream,
                   struct channel *channels, unsigned blocks)
{
    struct gpubind_error err;

    for (struct channel *channel = channels; channel; channel = channel->list_next)
        channel->place = CHANNEL_IN_EXCHANGE;
    count_blocks(streams, stream, blocks);
    if (queue(streams, stream, channels, blocks, &err) < 0) {
        count_blocks(streams, stream, 0);
        fail(streams->gpu, stream->handle, channels, &err);
        return;
    }
    stream->channels = channels;
    gpu_guard(1);
}

static void check_stream(const struct exchange_streams *streams, struct exchange_stream *stream)
{
    struct channel *channels = stream->channels;
    struct gpubind_error err;
    bool entered;
    int status;

    if (!channels)
        return;
    entered = gpu_enter(streams->gpu);
    status = gpu_event_query(stream->event);
    gpu_leave(entered);
    if (status == GPU_NOT_READY)
        return;
    /* A peer that breaks an exchange sends DISCONNECT first: reads that before the requests
     * count as good. */
    if (status == GPU_OK && !channels_poll_ctrl())
        return;
    stream->channels = NULL;
    count_blocks(streams, stream, 0);
    gpu_guard(-1);
    if (status == GPU_OK) {
        end(channels);
        return;
    }
    gpu_error(status, "an exchange failed", &err);
    fail(streams->gpu, stream->handle, channels, &err);
}

/* A free exchange stream, if these channels may wait in it, by so many blocks. NULL: none. */
static struct exchange_stream *find_free(struct exchange_streams *streams,
                                         const struct channel *channels, unsigned *blocks)
{
    const unsigned wanted = blocks_of(streams->gpu, channels);
    struct exchange_stream *found = NULL;

    for (int i = READY_STREAM + 1; i < EXCHANGE_STREAMS; i++) {
        struct exchange_stream *stream = &streams->streams[i];

        check_stream(streams, stream);
        if (!stream->channels)
            found = stream;
    }
    *blocks = found ? exchange_blocks_left(streams->gpu, found->handle, wanted) : 0;
    return *blocks >= wanted || *blocks >= BLOCKS_LEAST ? found : NULL;
}

static void defer_until_ready(struct exchange_streams *streams, struct channel *channels)
{
    while (channels) {
        struct channel *channel = channels;
        const struct exchange_receive *receive = &channel->exchange.receive;
        struct gpubind_error err;

        channels = channel->list_next;
        channel->list_next = NULL;
        if (!channel_sends(channel) && !receive->no_handshake &&
            gpu_flags_set(streams->gpu, receive->ready, receive->parts, &err) < 0) {
            fail(streams->gpu, NULL, channel, &err);
            continue;
        }
        channel->place = CHANNEL_WAITING;
        QUEUE_PUSH(&streams->waiting, channel, list_next);
    }
}

void exchange_streams_start(struct gpu *gpu, struct channel *channels)
{
    struct gpubind_error err;
    struct exchange_streams *streams = streams_of(gpu, &err);
    struct exchange_stream *stream;
    unsigned blocks;

    if (!streams) {
        fail(gpu, NULL, channels, &err);
        return;
    }
    stream = find_free(streams, channels, &blocks);
    if (stream)
        launch(streams, stream, channels, blocks);
    else
        defer_until_ready(streams, channels);
}

static bool is_ready(const struct channel *channel)
{
    struct gpu_flags flags = channel->flags;

    flags.n = channel_parts(channel);
    return (channel_sends(channel) && skips_handshake(channel)) || gpu_flags_are_set(&flags);
}

/* Takes the waiting channels whose peer has done its part off the list. */
static struct channel *take_ready(struct exchange_streams *streams)
{
    struct channel **link = &streams->waiting.first, *channel;
    QUEUE_OF(struct channel) ready = {0};

    while ((channel = *link)) {
        if (!is_ready(channel)) {
            link = &channel->list_next;
            continue;
        }
        QUEUE_UNLINK(&streams->waiting, link, list_next);
        QUEUE_PUSH(&ready, channel, list_next);
    }
    return ready.first;
}

static void start_ready_channels(struct exchange_streams *streams)
{
    struct gpubind_error err;
    struct channel *channels;

    if (gpu_flags_read(streams->gpu, &err) < 0) {
        channels = streams->waiting.first;
        streams->waiting.first = NULL;
        for (struct channel *channel = channels; channel; channel = channel->list_next)
            channel->place = CHANNEL_IN_EXCHANGE; /* not in the list any more */
        fail(streams->gpu, NULL, channels, &err);
        return;
    }
    channels = take_ready(streams);
    if (channels)
        launch(streams, &streams->streams[READY_STREAM], channels, 0);
}

void exchange_streams_progress(void)
{
    for (struct exchange_streams *streams = all_streams; streams; streams = streams->next) {
        for (int i = 0; i < EXCHANGE_STREAMS; i++)
            check_stream(streams, &streams->streams[i]);
        if (!QUEUE_EMPTY(&streams->waiting) && !streams->streams[READY_STREAM].channels)
            start_ready_channels(streams);
    }
}

bool exchange_streams_busy(void)
{
    for (const struct exchange_streams *streams = all_streams; streams; streams = streams->next) {
        if (!QUEUE_EMPTY(&streams->waiting))
            return true;
        for (int i = 0; i < EXCHANGE_STREAMS; i++)
            if (streams->streams[i].channels)
                return true;
    }
    return false;
}

void exchange_streams_drop(struct channel *channel)
{
    if (channel->place != CHANNEL_WAITING)
        return;
    for (struct exchange_streams *streams = all_streams; streams; streams = streams->next)
        QUEUE_REMOVE(&streams->waiting, channel, list_next);
    channel->list_next = NULL;
    channel->place = CHANNEL_IDLE;
}

void exchange_streams_stop(void)
{
    exchange_batch_stop();
    free_guards_stop();
    while (all_streams) {
        struct exchange_streams *streams = all_streams;
        const bool dead = gpu_is_dead(streams->gpu);
        bool entered = !dead && gpu_enter(streams->gpu);

        for (int i = 0; i < EXCHANGE_STREAMS && !dead; i++)
            gpu_stream_synchronize(streams->streams[i].handle);
        gpu_leave(entered);
        for (int i = 0; i < EXCHANGE_STREAMS; i++)
            gpu_guard(streams->streams[i].channels ? -1 : 0);
        all_streams = streams->next;
        clear(streams);
    }
}
