/* Streams that wait occupy channels of the GPU's (gpu->channels): where none is left, no other stream goes on. */
#include "mpi/base/log.h"
#include "mpi/core/context.h"
#include "mpi/core/request.h"
#include "mpi/stream/stream_queue_internal.h"

static double full_since; /* seconds; 0: no GPU's channels are all occupied */

static bool is_behind(const struct stream_queue *stream)
{
    return !stream_flag_has(stream->reached, stream->reached->value);
}

static int others_behind(const struct stream_queue *me)
{
    int n = 0;

    for (const struct stream_queue *stream = stream_queues; stream; stream = stream->next)
        n += stream->gpu == me->gpu && stream != me && is_behind(stream);
    return n;
}

bool stream_leaves_no_channel(const struct stream_queue *stream)
{
    return (stream->spins && stream->key == GPU_LEGACY_STREAM) ||
           others_behind(stream) + 2 >= stream->gpu->channels;
}

/* One of a GPU whose channels all are occupied. */
static const struct stream_queue *find_full(void)
{
    const struct stream_queue *stream = stream_queues;

    while (stream && (!stream->gpu || !is_behind(stream) ||
                      others_behind(stream) + 1 < stream->gpu->channels))
        stream = stream->next;
    return stream;
}

void stream_channels_look(void)
{
    const double limit = (double)library_settings()->wait_notice;
    const struct stream_queue *stream = find_full();

    if (!stream)
        full_since = 0;
    else if (full_since == 0)
        full_since = clock_seconds();
    else if (limit > 0 && clock_seconds() - full_since > limit)
        warn_once(
            WARN_CHANNELS,
            "%d streams have waited for messages for %.0f s, and this process has %d hardware "
            "queues on the GPU: no other stream may be able to run; "
            "CUDA_DEVICE_MAX_CONNECTIONS, up to 32, says how many queues there are",
            others_behind(stream) + 1, limit, stream->gpu->channels);
}
