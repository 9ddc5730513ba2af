/* Queues channels in a stream as one exchange. */
#include <stdlib.h>

#include "gpu/core/deferred_free.h"
#include "gpu/core/gpu_stream.h"
#include "gpu/core/waiting_blocks.h"
#include "mpi/core/context.h"
#include "mpi/core/gpu_users.h"
#include "mpi/persistent/exchange_large.h"
#include "mpi/persistent/exchange_streams.h"
#include "mpi/stream/stream_queue.h"

/* The arguments of one exchange. */
struct batch {
    struct exchange_send *sends;
    struct exchange_receive *receives;
    int nsends, nreceives, room;
};

static struct batch cached; /* kept for the next exchange */

static void clear(struct batch *batch)
{
    free(batch->sends);
    free(batch->receives);
    *batch = (struct batch){0};
}

/* The caller owns it until give_back, and may release the lock meanwhile. */
static struct batch take_cached(void)
{
    struct batch batch = cached;

    cached = (struct batch){0};
    batch.nsends = batch.nreceives = 0;
    return batch;
}

static void give_back(struct batch *batch)
{
    if (batch->room > cached.room) {
        const struct batch smaller = cached;

        cached = *batch;
        *batch = smaller;
    }
    clear(batch);
}

static int make_room(struct batch *batch, const struct channel *channels, struct gpubind_error *err)
{
    int n = 0;

    for (; channels; channels = channels->list_next)
        n++;
    if (n > batch->room) {
        clear(batch);
        batch->sends = calloc((size_t)n, sizeof *batch->sends);
        batch->receives = calloc((size_t)n, sizeof *batch->receives);
        batch->room = batch->sends && batch->receives ? n : 0;
    }
    return n <= batch->room ? 0 : error_set(err, "out of memory");
}

static void fill(struct batch *batch, const struct channel *channels, bool peers_ready)
{
    for (; channels; channels = channels->list_next)
        if (channel_sends(channels)) {
            batch->sends[batch->nsends++] = channels->exchange.send;
        } else {
            batch->receives[batch->nreceives] = channels->exchange.receive;
            batch->receives[batch->nreceives++].no_handshake |= peers_ready;
        }
}

/* The first start of a channel does the handshake in any case: the callers' guarantee does
 * not cover what they did to the buffer before. */
static void end_first_start(struct channel *channels)
{
    for (struct channel *channel = channels; channel; channel = channel->list_next)
        if (channel_sends(channel))
            channel->exchange.send.no_handshake = channel->no_handshake;
        else
            channel->exchange.receive.no_handshake = channel->no_handshake;
}

static int start(struct gpu *gpu, gpu_stream stream, const struct batch *batch, unsigned blocks,
                 struct gpubind_error *err)
{
    return exchange_start(gpu, stream, batch->sends, batch->nsends, batch->receives,
                          batch->nreceives, blocks, err);
}

static struct exchange_large *make_large(struct gpu *gpu, gpu_stream stream,
                                         const struct batch *batch, unsigned blocks)
{
    return exchange_large_make(gpu, stream, batch->sends, batch->nsends, batch->receives,
                               batch->nreceives, blocks);
}

static unsigned blocks_of(const struct gpu *gpu, const struct batch *batch)
{
    unsigned parts = 0;

    for (int i = 0; i < batch->nsends; i++)
        parts += batch->sends[i].parts;
    return exchange_blocks(gpu, parts, (unsigned)batch->nreceives);
}

unsigned exchange_blocks_left(struct gpu *gpu, gpu_stream stream, unsigned wanted)
{
    const void *key = stream_key(stream);
    unsigned all, others;

    gpu_users_add(gpu);
    all = waiting_blocks_part(gpu, waiting_blocks_of_all(gpu));
    others = stream_queues_blocks(gpu, key) + gpu->exchange_blocks;
    others += free_guards_blocks(gpu, key, all > others + wanted ? all - others - wanted : 0);
    return all > others + wanted ? wanted : all > others ? all - others : 0;
}

unsigned exchange_blocks_in_graph(struct gpu *gpu)
{
    gpu_users_add(gpu);
    return waiting_blocks_part(gpu, waiting_blocks_of_graph(gpu));
}

/* Waits in a stream of the application with what is left of the GPU; one in any case. */
static unsigned take_blocks(struct gpu *gpu, gpu_stream stream, bool capturing,
                            const struct batch *batch)
{
    const unsigned wanted = blocks_of(gpu, batch);
    unsigned left;

    if (capturing)
        return exchange_blocks_in_graph(gpu);
    left = exchange_blocks_left(gpu, stream, wanted);
    return left > 0 ? left : 1;
}

/* Releases the lock meanwhile. */
static int start_unlocked(struct gpu *gpu, gpu_stream stream, bool capturing,
                          const struct batch *batch, struct gpubind_error *err)
{
    const unsigned blocks = take_blocks(gpu, stream, capturing, batch);
    struct free_guard *hold = capturing ? NULL : free_guard_begin(gpu, stream, blocks);
    struct exchange_large *large = capturing ? NULL : make_large(gpu, stream, batch, blocks);
    int status;

    library_unlock();
    status = large ? exchange_large_queue(large, stream, err)
                   : start(gpu, stream, batch, blocks, err);
    if (hold)
        free_guard_record(hold);
    library_lock();
    if (large)
        exchange_large_end(large);
    if (hold)
        free_guard_end(hold);
    return status;
}

/* blocks: as of exchange_batch_queue. */
static int start_locked(struct gpu *gpu, gpu_stream stream, const struct batch *batch,
                        unsigned blocks, struct gpubind_error *err)
{
    struct exchange_large *large = blocks > 0 ? make_large(gpu, stream, batch, blocks) : NULL;
    int status;

    if (!large)
        return start(gpu, stream, batch, blocks > 0 ? blocks : blocks_of(gpu, batch), err);
    status = exchange_large_queue(large, stream, err);
    exchange_large_end(large);
    return status;
}

int exchange_batch_queue(struct gpu *gpu, gpu_stream stream, struct channel *channels,
                         unsigned blocks, struct gpubind_error *err)
{
    struct batch batch = take_cached();
    int status = make_room(&batch, channels, err);

    if (status == 0) {
        fill(&batch, channels, blocks == 0);
        status = start_locked(gpu, stream, &batch, blocks, err);
    }
    if (status == 0)
        end_first_start(channels);
    give_back(&batch);
    return status;
}

int exchange_batch_queue_unlocked(struct gpu *gpu, gpu_stream stream, bool capturing,
                                  struct channel *channels, struct gpubind_error *err)
{
    struct batch batch = take_cached();
    int status = make_room(&batch, channels, err);

    if (status == 0) {
        fill(&batch, channels, false);
        status = start_unlocked(gpu, stream, capturing, &batch, err);
    }
    if (status == 0)
        end_first_start(channels);
    give_back(&batch);
    return status;
}

void exchange_batch_stop(void)
{
    exchange_large_stop();
    clear(&cached);
}
