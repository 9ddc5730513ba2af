/* Persistent requests: set-up, starts by the host, and freeing. */
#include "mpi/persistent/persistent.h"

#include "core/base/list.h"
#include "gpu/core/sync_memops.h"
#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/datatype/flat_type.h"
#include "mpi/datatype/pack.h"
#include "mpi/datatype/type_contents.h"
#include "mpi/message/message.h"
#include "mpi/persistent/captured_launch.h"
#include "mpi/persistent/exchange_streams.h"

static QUEUE_OF(struct channel) deferred;
static struct channel *freed_active; /* until their starts have completed */

/* ---- set-up */

/* The application may free the datatype at once: keeps a duplicate. */
static int keep_type(struct channel *channel, MPI_Datatype type)
{
    channel->type = type;
    if (type_is_basic(type))
        return MPI_SUCCESS;
    channel->owns_type = PMPI_Type_dup(type, &channel->type) == MPI_SUCCESS;
    return channel->owns_type ? MPI_SUCCESS : MPI_ERR_TYPE;
}

struct gpubind_operation *persistent_make(const struct arguments *arguments, struct comm *comm,
                                          enum request_kind kind, enum persistent_use use,
                                          bool no_handshake, int *result, struct gpubind_error *err)
{
    struct gpubind_operation *request;
    struct type_shape shape;
    struct strided_buffer layout;
    struct channel *channel;
    bool regular;

    request = message_describe(arguments, comm, kind, &shape, result, err);
    if (!request)
        return NULL;
    /* What is captured is ordered by the graph, and the driver may end the capture for it. */
    if (use != PERSISTENT_CAPTURE && sync_memops_enable(&request->memory))
        sync_memops_settle(&request->memory);
    regular = type_layout(&shape, (uint64_t)arguments->count, &layout);
    channel = channel_make(request, regular ? &layout : NULL, use, no_handshake);
    if (channel) {
        channel->dense = shape.dense || request->nbytes == 0;
        channel->count = arguments->count;
        *result = keep_type(channel, arguments->type);
        if (*result == MPI_SUCCESS)
            return request;
        error_set(err, "the datatype cannot be kept");
        channel_free(channel);
        return NULL;
    }
    error_set(err, "out of memory");
    *result = MPI_ERR_OTHER;
    request_free(request);
    return NULL;
}

/* ---- a start on the channel */

static void begin(struct gpubind_operation *request)
{
    requests_count(1);
    request->inactive = false;
    request->done = false;
    request->waited = false;
    request->result = MPI_SUCCESS;
    request->error.text[0] = '\0';
    request->started = 0;
}

static void begin_on_channel(struct channel *channel)
{
    struct gpubind_operation *request = channel->request;

    channel->starts++;
    request->source = request->rank;
    request->got_tag = request->tag;
    request->got_bytes = channel->peer_nbytes;
    request_record(request);
}

/* An unexpected message from before the channel is received first. */
bool persistent_has_channel(struct channel *channel)
{
    const struct gpubind_operation *request = channel->request;
    const struct incoming_msg *older;

    if (channel->state != CHANNEL_CONNECTED || channel_is_spent(channel, 1))
        return false;
    if (channel_sends(channel) || channel->internal || channel->older_matched)
        return true;
    older = match_peek(request->comm, request->rank, request->tag);
    channel->older_matched = !older || older->header.sequence >= channel->ready_sequence;
    return channel->older_matched;
}

/* true: the start goes over the channel, in the exchange that the caller makes. */
static bool start_channel(struct channel *channel)
{
    channel->started = true;
    if (channel->state == CHANNEL_FAILED) {
        request_complete(channel->request, MPI_ERR_OTHER, "%s", channel->error.text);
        channel->error_pending = false;
        channel_settle(channel);
        return false;
    }
    if (!persistent_has_channel(channel)) {
        persistent_start_message(channel);
        return false;
    }
    begin_on_channel(channel);
    return true;
}

/* Starts connected channels, a list by list_next: one exchange for each GPU. */
static void start_on_channels(struct channel *connected)
{
    while (connected) {
        struct gpu *gpu = connected->request->memory.gpu;
        QUEUE_OF(struct channel) same = {0}, rest = {0};

        while (connected) {
            struct channel *channel = connected;

            connected = channel->list_next;
            if (channel->request->memory.gpu == gpu)
                QUEUE_PUSH(&same, channel, list_next);
            else
                QUEUE_PUSH(&rest, channel, list_next);
        }
        exchange_streams_start(gpu, same.first);
        connected = rest.first;
    }
}

/* The next step of progress starts it: the caller may be in the middle of an exchange's end. */
void persistent_move_to_channel(struct channel *channel)
{
    struct gpubind_operation *message = channel->message;

    if (message->rtr || !match_withdraw(message))
        return;
    channel->message = NULL;
    request_free(message);
    begin_on_channel(channel);
    channel->place = CHANNEL_DEFERRED;
    QUEUE_PUSH(&deferred, channel, list_next);
}

/* One exchange each: different calls have started them, which must not wait for each other. */
static void start_deferred(void)
{
    struct channel *all = deferred.first;

    deferred.first = NULL;
    while (all) {
        struct channel *channel = all;

        all = channel->list_next;
        channel->list_next = NULL;
        channel->place = CHANNEL_IDLE;
        if (channel->request->done) { /* the peer is gone */
            channel_settle(channel);
            continue;
        }
        channel->place = CHANNEL_IN_EXCHANGE; /* exchange_streams_start may make it wait */
        start_on_channels(channel);
    }
}

/* ---- calls */

static int check_inactive(const struct gpubind_operation *request, int i, int n,
                          struct gpubind_error *err)
{
    if (request && request->channel && request->inactive)
        return MPI_SUCCESS;
    if (!request)
        error_set(err, "request %d of %d is GPUBIND_REQUEST_NULL", i, n);
    else if (!request->channel)
        error_set(err,
                  "request %d of %d is of a call other than gpubind_send_init and "
                  "gpubind_recv_init",
                  i, n);
    else
        error_set(err, "request %d of %d, %s rank %d with tag %d, is active: wait for it first", i,
                  n, request->kind == REQUEST_SEND ? "to" : "from", request->rank, request->tag);
    return MPI_ERR_REQUEST;
}

int persistent_claim(struct gpubind_operation *const *requests, int n, struct gpubind_error *err)
{
    for (int i = 0; i < n; i++) {
        const int result = check_inactive(requests[i], i, n, err);

        if (result != MPI_SUCCESS) {
            persistent_unclaim(requests, i);
            return result;
        }
        requests[i]->inactive = false; /* so that a second mention of it in the list is an error */
    }
    return MPI_SUCCESS;
}

void persistent_unclaim(struct gpubind_operation *const *requests, int n)
{
    for (int i = 0; i < n; i++)
        requests[i]->inactive = true;
}

int persistent_start(struct gpubind_operation *const *requests, int n, struct gpubind_error *err)
{
    QUEUE_OF(struct channel) connected = {0};
    const int result = persistent_claim(requests, n, err);

    if (result != MPI_SUCCESS)
        return result;
    channels_poll_ctrl();
    for (int i = 0; i < n; i++) {
        struct channel *channel = requests[i]->channel;

        begin(requests[i]);
        if (!start_channel(channel))
            continue;
        channel->place = CHANNEL_IN_EXCHANGE; /* exchange_streams_start may make it wait */
        QUEUE_PUSH(&connected, channel, list_next);
    }
    start_on_channels(connected.first);
    return MPI_SUCCESS;
}

/* Connected, or not, for now or for good. */
static bool is_answered(const void *argument)
{
    const struct channel *channel = argument;

    return channel->state != CHANNEL_CONNECTING &&
           (channel->state != CHANNEL_UNCONNECTED || !channel->connect_sent) &&
           !ctrl_msgs_busy_on(channel->request->comm);
}

int persistent_await(struct gpubind_operation *const *requests, int n, struct gpubind_error *err)
{
    for (int i = 0; i < n; i++)
        while (!progress_wait_for(is_answered, requests[i]->channel, 0.1))
            if (request_peer_is_gone(requests[i]))
                return error_set(err, "rank %d is gone", requests[i]->rank);
    return 0;
}

int persistent_take_error(const struct gpubind_operation *request, struct gpubind_error *err)
{
    struct channel *channel = request ? request->channel : NULL;

    if (!channel || !channel->in_stream)
        return MPI_SUCCESS;
    channels_poll_ctrl();
    if (!channel->error_pending)
        return MPI_SUCCESS;
    channel->error_pending = false;
    *err = channel->error;
    return MPI_ERR_OTHER;
}

/* ---- freed */

static bool is_over(struct gpubind_operation *request)
{
    persistent_nudge(request);
    return request->done;
}

/* Requests that were freed while active complete without a call that waits for them. */
static void free_freed_active(void)
{
    struct channel **link = &freed_active;

    while (*link) {
        struct channel *channel = *link;
        struct gpubind_error ignored;

        if (!is_over(channel->request)) {
            link = &channel->next_freed_active;
            continue;
        }
        *link = channel->next_freed_active;
        request_finish(channel->request, MPI_STATUS_IGNORE, &ignored);
        channel_free(channel);
    }
}

int persistent_free(struct gpubind_operation *request, struct gpubind_error *err)
{
    struct channel *channel = request->channel;
    int result = MPI_SUCCESS;

    if (!request->inactive && !is_over(request)) {
        channel->next_freed_active = freed_active;
        freed_active = channel;
        return MPI_SUCCESS;
    }
    if (request->inactive)
        result = persistent_take_error(request, err);
    else
        result = request_finish(request, MPI_STATUS_IGNORE, err);
    channel_free(channel);
    return result;
}

/* ---- the module and its requests, for the core */

static bool busy(void)
{
    return captured_busy() || ctrl_msgs_busy() || !QUEUE_EMPTY(&deferred) || freed_active ||
           exchange_streams_busy() || channels_in_streams();
}

static void progress(bool mpi)
{
    (void)mpi;
    if (!busy())
        return;
    channels_read_ctrl();
    if (!QUEUE_EMPTY(&deferred))
        start_deferred();
    exchange_streams_progress();
    if (freed_active)
        free_freed_active();
    captured_progress();
    if (channels_in_streams())
        channels_watch_peers();
}

static void nudge(struct gpubind_operation *request)
{
    struct gpubind_operation *message = persistent_nudge(request);

    if (!message)
        return;
    message->waited = request->waited;
    message->started = request->started;
    message->ops->nudge(message);
}

static void look_after(struct gpubind_operation *request)
{
    struct channel *channel = request->channel;
    struct gpubind_error why;

    if (channel->message) {
        channel->message->started = request->started;
        channel->message->ops->look_after(channel->message);
        return;
    }
    if (request->done || !request_peer_is_gone(request))
        return;
    error_set(&why, "rank %d is gone", request->rank);
    channel->peer_detached = true;
    channel_fail(channel, why.text);
}

static void clear(struct gpubind_operation *request)
{
    pack_free(request->pack);
}

const struct request_ops persistent_ops = {nudge, look_after, clear};

static void start(void)
{
    match_set_handler(CTRL_TAG, ctrl_msg_arrived);
}

static void comm_removed(struct comm *comm)
{
    channels_forget(comm);
}

const struct module persistent_module = {
    .name = "persistent",
    .start = start,
    .progress = progress,
    .has_work = captured_busy,
    .give_up = captured_give_up,
    .watches = channels_in_streams,
    .holds_memory = channels_use_memory,
    .comm_removed = comm_removed,
};
