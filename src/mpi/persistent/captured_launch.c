#include "mpi/persistent/captured_launch.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "gpu/core/gpu_stream.h"
#include "gpu/core/waiting_blocks.h"
#include "gpu/exchange/exchange_deferred.h"
#include "mpi/base/log.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/persistent/exchange_streams.h"
#include "mpi/persistent/persistent.h"

/* Both sides may capture a message, and destroy the graph without a launch; one of them is the first. */
#define UNUSED_AFTER 0.5 /* seconds in which the other destroys its own */

/* A launch in a graph, and in those that were made of it. */
struct captured_launch {
    struct captured_launch *next;
    struct exchange_deferred exchange;
    struct captured_messages messages;
    const void *key;            /* of the stream, */
    unsigned long long capture; /* and of the capture, or of this launch alone */
    bool counted;               /* its blocks may wait for the other side's capture */
    bool settled;               /* its gate is open, or broken for good */
    bool over;                  /* the library has ended, and nothing is launched any more */
    bool left;                  /* by the other side: broken, if it is not unused soon */
    double left_at;
    struct gpubind_error why;
    _Atomic bool unused; /* the graphs are gone: set by a thread of the driver's */
};

static QUEUE_OF(struct captured_launch) launches;
static _Atomic int unconnected;  /* channels: somebody may wait for them */
static _Atomic bool any_changed; /* channels since launches were looked at */
static _Atomic int any_unused;   /* launches */
static _Atomic int any_left;     /* launches */

bool captured_busy(void)
{
    return unconnected > 0 || any_changed || any_unused > 0 || any_left > 0;
}

void captured_changed(struct channel *channel)
{
    if (!channel->of_capture)
        return;
    unconnected -= channel->awaited;
    channel->awaited = false;
    any_changed = true;
}

void captured_await(struct channel *channel)
{
    channel->awaited = channel->state == CHANNEL_UNCONNECTED ||
                       channel->state == CHANNEL_CONNECTING;
    unconnected += channel->awaited;
}

static void release(struct gpubind_operation *const *requests, int n)
{
    struct gpubind_error unheard;

    for (int i = 0; i < n; i++) {
        captured_changed(requests[i]->channel);
        persistent_free(requests[i], &unheard);
    }
}

void captured_release(struct captured_messages *messages)
{
    release(messages->sends, messages->nsends);
    release(messages->receives, messages->nreceives);
    messages->nsends = messages->nreceives = 0;
}

/* ---- launches, once their messages are known */

/* Launches of a stream's capture are done one after the other (unless the application has changed what they depend on):
 * as many blocks wait at a time as the largest has. */
static unsigned counted_blocks(const struct gpu *gpu, const void *key, unsigned long long capture)
{
    unsigned most = 0;

    for (const struct captured_launch *at = launches.first; at; at = at->next)
        if (at->counted && at->exchange.gpu == gpu && at->key == key && at->capture == capture &&
            at->exchange.blocks > most)
            most = at->exchange.blocks;
    return most;
}

static void count(struct captured_launch *launch, bool counted)
{
    struct gpu *gpu = launch->exchange.gpu;
    const unsigned before = counted_blocks(gpu, launch->key, launch->capture);

    launch->counted = counted;
    gpu->exchange_blocks += counted_blocks(gpu, launch->key, launch->capture) - before;
    gpu_guard(counted ? 1 : -1);
}

static void settle(struct captured_launch *launch)
{
    launch->settled = true;
    count(launch, false);
}

static bool add_send(struct captured_launch *launch, int i)
{
    const struct channel *channel = launch->messages.sends[i]->channel;

    return exchange_deferred_send(&launch->exchange, i, &channel->exchange.send, channel->buffered);
}

static bool add_receive(struct captured_launch *launch, int i)
{
    const struct channel *channel = launch->messages.receives[i]->channel;
    const struct strided_buffer buffer = connection_buffer(channel);

    return exchange_deferred_receive(&launch->exchange, i, &channel->exchange.receive,
                                     channel->buffered ? &buffer : NULL, &channel->local.layout,
                                     channel->peer_nbytes);
}

static int fill(struct captured_launch *launch, struct gpubind_error *err)
{
    bool good = true;

    for (int i = 0; i < launch->exchange.nsends; i++)
        good = good && add_send(launch, i);
    for (int i = 0; i < launch->exchange.nreceives; i++)
        good = good && add_receive(launch, i);
    if (!good)
        return error_set(err, "its data are too irregular for a kernel");
    exchange_deferred_open(&launch->exchange);
    return 0;
}

static void say(struct captured_launch *launch)
{
    warn_once(WARN_CAPTURED, "%s", launch->why.text);
    any_left -= launch->left;
    launch->left = false;
}

static void break_later(struct captured_launch *launch)
{
    if (launch->left)
        return;
    any_left++;
    launch->left = true;
    launch->left_at = clock_seconds();
}

/* It is said first: a launch that ends may end its program. */
static void break_up(struct captured_launch *launch)
{
    say(launch);
    exchange_deferred_break(&launch->exchange, false);
    if (!launch->settled)
        settle(launch);
}

static void break_left(void)
{
    for (struct captured_launch *at = launches.first; at && any_left > 0; at = at->next)
        if (at->left && clock_seconds() - at->left_at > UNUSED_AFTER)
            break_up(at);
}

enum connection { CONNECTED, NOT_YET, NEVER };

static enum connection connection_of(const struct channel *channel, bool *left,
                                     struct gpubind_error *err)
{
    if (channel->state == CHANNEL_CONNECTED)
        return CONNECTED;
    if (channel->state == CHANNEL_UNCONNECTED || channel->state == CHANNEL_CONNECTING)
        return NOT_YET;
    *left = channel->peer_left;
    error_set(err, "the captured message %s rank %d with tag %d cannot be passed: %s",
              channel_sends(channel) ? "to" : "from", channel->request->rank, channel->request->tag,
              channel->error.text);
    return NEVER;
}

static enum connection connections_of(const struct captured_launch *launch, bool *left,
                                      struct gpubind_error *err)
{
    enum connection all = CONNECTED;

    for (int i = 0; i < launch->exchange.nsends + launch->exchange.nreceives && all != NEVER; i++) {
        const int receive = i - launch->exchange.nsends;
        const struct gpubind_operation *request = receive < 0 ? launch->messages.sends[i]
                                                              : launch->messages.receives[receive];
        const enum connection one = connection_of(request->channel, left, err);

        all = one == CONNECTED ? all : one;
    }
    return all;
}

static void look_at(struct captured_launch *launch)
{
    bool left = false;
    enum connection connection = connections_of(launch, &left, &launch->why);

    if (connection == CONNECTED && !launch->settled && fill(launch, &launch->why) < 0)
        connection = NEVER;
    if (connection == NEVER && left)
        break_later(launch);
    else if (connection == NEVER)
        break_up(launch);
    else if (connection == CONNECTED && !launch->settled)
        settle(launch);
}

static void free_launch(struct captured_launch *launch)
{
    if (!launch->settled)
        count(launch, false);
    QUEUE_REMOVE(&launches, launch, next);
    captured_release(&launch->messages);
    exchange_deferred_free(&launch->exchange);
    any_left -= launch->left;
    free(launch);
    any_unused--;
}

void captured_progress(void)
{
    struct captured_launch *next;

    if (any_unused > 0)
        for (struct captured_launch *at = launches.first; at; at = next) {
            next = at->next;
            if (at->unused)
                free_launch(at);
        }
    if (any_left > 0)
        break_left();
    if (!any_changed)
        return;
    any_changed = false;
    for (struct captured_launch *at = launches.first; at; at = at->next)
        if (!at->over)
            look_at(at);
}

void captured_give_up(void)
{
    for (struct captured_launch *at = launches.first; at; at = at->next)
        if (!at->settled) {
            exchange_deferred_break(&at->exchange, true);
            settle(at);
        }
    for (struct channel *channel = channels_first(); channel; channel = channel->next)
        captured_changed(channel);
    any_changed = false;
    any_unused = any_left = 0;
}

void captured_stop(void)
{
    for (struct captured_launch *at = launches.first; at; at = at->next)
        at->over = true;
}

/* ---- into the graph */

static void is_unused(void *launch)
{
    ((struct captured_launch *)launch)->unused = true;
    any_unused++;
}

/* Launches of several graphs, or branches of one, may wait at once. While gates are closed, each leaves as much to
 * others as it takes, and all of them the copy agent's multiprocessors. */
static unsigned blocks_in_graph(struct gpu *gpu, gpu_stream stream, unsigned long long capture)
{
    const unsigned most = exchange_blocks_in_graph(gpu);
    const unsigned own = counted_blocks(gpu, stream_key(stream), capture);
    const unsigned left = exchange_blocks_left(gpu, stream, waiting_blocks_of_all(gpu));
    const unsigned half = (left + own) / 2;

    return half < 1 ? 1 : half < most ? half : most;
}

static struct captured_launch *make_launch(const struct captured_messages *messages,
                                           gpu_stream stream, unsigned long long capture,
                                           struct gpubind_error *err)
{
    struct captured_launch *launch = calloc(1, sizeof *launch);
    struct gpu *gpu = (messages->nsends ? messages->sends : messages->receives)[0]->memory.gpu;
    uint64_t nbytes[DEFERRED_MESSAGES];

    for (int i = 0; i < messages->nsends; i++)
        nbytes[i] = messages->sends[i]->nbytes;
    if (!launch)
        error_set(err, "out of memory");
    else if (exchange_deferred_make(&launch->exchange, gpu, messages->nsends, nbytes,
                                    messages->nreceives, blocks_in_graph(gpu, stream, capture), 0,
                                    err) == 0) {
        launch->key = stream_key(stream);
        launch->capture = capture ? capture : (uintptr_t)launch;
        launch->exchange.traps = true; /* nobody on the host looks after a graph's launches */
        return launch;
    }
    free(launch);
    return NULL;
}

/* From here on the launch may be done. */
static void take_over(struct captured_launch *launch, struct captured_messages *messages)
{
    launch->messages = *messages;
    messages->nsends = messages->nreceives = 0;
    QUEUE_PUSH(&launches, launch, next);
    count(launch, true);
    any_changed = true;
}

int captured_launch_put(struct captured_messages *messages, gpu_stream stream,
                        const struct gpu_capture *capture, struct gpubind_error *err)
{
    struct captured_launch *launch = make_launch(messages, stream, capture->id, err);
    int status;

    if (!launch)
        return -1;
    library_unlock();
    status = exchange_deferred_queue(&launch->exchange, stream, err);
    library_lock();
    if (status < 0) {
        exchange_deferred_free(&launch->exchange);
        free(launch);
        return -1;
    }
    take_over(launch, messages);
    trace_debug(TRACE_PERSISTENT, "stream %p: %d sends and %d receives are in a graph",
                (void *)stream, launch->messages.nsends, launch->messages.nreceives);
    gpu_graph_when_unused(capture->graph, is_unused, launch);
    captured_progress();
    return 0;
}
