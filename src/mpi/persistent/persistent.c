#include "mpi/persistent/persistent.h"

#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/datatype/pack.h"
#include "mpi/p2p/message.h"
#include "mpi/persistent/exchange_streams.h"

static struct pair *deferred, **deferred_end = &deferred;
static struct pair *leaving; /* freed while active */

/* ---- a start as a message */

/* A message of dense data differs from the request by what is its own. */
static struct gpubind_operation *copy(const struct pair *pair, enum call_kind call,
                                      struct gpubind_error *err)
{
    const struct gpubind_operation *request = pair->request;
    struct gpubind_operation *message = operation_make(request->kind);

    if (!message) {
        error_set(err, "out of memory");
        return NULL;
    }
    operation_join(message, pair->internal ? request->comm->companion : request->comm);
    message->rank = request->rank;
    message->tag = request->tag;
    message->peer = request->peer;
    message->memory = request->memory;
    message->buffer = request->buffer;
    message->nbytes = request->nbytes;
    message->type = request->type;
    message->on_stream = call == CALL_ON_STREAM;
    message->order = call == CALL_ON_STREAM ? ORDER_DEFERRED : ORDER_DONE;
    return message;
}

/* Halos have one tag for a direction of all their arrays, whose starts are not ordered: the
 * number of the receiver's side tells them apart. */
struct gpubind_operation *persistent_message(const struct pair *pair, enum call_kind call,
                                             int *result, struct gpubind_error *err)
{
    const struct gpubind_operation *request = pair->request;
    const struct arguments arguments = {request->buffer, pair->count, pair->type, request->rank,
                                        pair->internal ? 0 : request->tag, MPI_COMM_NULL};
    struct comm *comm = pair->internal ? request->comm->companion : request->comm;
    struct gpubind_operation *message;

    *result = MPI_ERR_OTHER;
    message = pair->dense ? copy(pair, call, err)
                          : message_prepare(&arguments, comm, request->kind, call, result, err);
    if (message && pair->internal)
        message->tag = (int)(pair_sends(pair) ? pair->others : pair->number);
    return message;
}

static void end_message(struct pair *pair)
{
    struct gpubind_operation *request = pair->request, *inner = pair->inner;
    struct gpubind_error err;

    request->source = inner->source;
    request->got_tag = pair->internal ? request->tag : inner->got_tag;
    request->got_bytes = inner->got_bytes;
    pair->inner = NULL;
    request->result = request_finish(inner, MPI_STATUS_IGNORE, &err);
    request->error = err;
    request->done = true;
    pair_settle(pair);
}

/* READY is not said between the decision and the announcement. */
static void start_message(struct pair *pair)
{
    struct gpubind_operation *request = pair->request;
    struct gpubind_error err;
    int result;

    pair->starting++;
    pair->inner = persistent_message(pair, CALL_NONBLOCKING, &result, &err);
    if (pair->inner)
        message_start(pair->inner, false);
    else
        operation_end(request, result, "%s", err.text);
    pair->starting--;
    pair_decide(pair);
    if (pair->inner && pair->inner->done && !pair->inner->packing)
        end_message(pair);
}

/* ---- a start on the channel */

static void begin(struct gpubind_operation *request)
{
    operations_count(1);
    request->inactive = false;
    request->done = false;
    request->waited = false;
    request->result = MPI_SUCCESS;
    request->error.text[0] = '\0';
    request->started = 0;
}

static void begin_on_channel(struct pair *pair)
{
    struct gpubind_operation *request = pair->request;

    pair->starts++;
    request->source = request->rank;
    request->got_tag = request->tag;
    request->got_bytes = pair->others_nbytes;
}

/* A message from before the channel goes first. */
bool persistent_has_channel(struct pair *pair)
{
    const struct gpubind_operation *request = pair->request;
    const struct arrival *older;

    if (pair->state != PAIR_LINKED || pair_is_spent(pair, 1))
        return false;
    if (pair_sends(pair) || pair->internal || pair->caught_up)
        return true;
    older = match_look(request->comm, request->rank, request->tag);
    pair->caught_up = !older || older->header.sequence >= pair->since;
    return pair->caught_up;
}

/* true: it goes with the exchange that the caller makes. */
static bool start_pair(struct pair *pair)
{
    pair->started = true;
    if (pair->state == PAIR_OVER) {
        operation_end(pair->request, MPI_ERR_OTHER, "%s", pair->why.text);
        pair->unsaid = false;
        pair_settle(pair);
        return false;
    }
    if (!persistent_has_channel(pair)) {
        start_message(pair);
        return false;
    }
    begin_on_channel(pair);
    return true;
}

/* Pairs on channels by follows: an exchange for each GPU. */
static void start_on_channels(struct pair *linked)
{
    while (linked) {
        struct gpu *gpu = linked->request->memory.gpu;
        struct pair *rest = NULL, **rest_end = &rest, *same = NULL, **same_end = &same;

        while (linked) {
            struct pair *pair = linked, ***end;

            linked = pair->follows;
            pair->follows = NULL;
            end = pair->request->memory.gpu == gpu ? &same_end : &rest_end;
            **end = pair;
            *end = &pair->follows;
        }
        tracks_start(gpu, same);
        linked = rest;
    }
}

/* Not at once: this may be in the middle of what exchanges do. */
void persistent_move(struct pair *pair)
{
    struct gpubind_operation *inner = pair->inner;

    if (inner->offer || !match_withdraw(inner))
        return;
    pair->inner = NULL;
    operation_forget(inner);
    begin_on_channel(pair);
    pair->place = PAIR_DEFERRED;
    pair->follows = NULL;
    *deferred_end = pair;
    deferred_end = &pair->follows;
}

/* Each by itself: calls of their own have started them, which may not wait for each other. */
static void start_deferred(void)
{
    struct pair *all = deferred;

    deferred = NULL;
    deferred_end = &deferred;
    while (all) {
        struct pair *pair = all;

        all = pair->follows;
        pair->follows = NULL;
        pair->place = PAIR_NOWHERE;
        if (pair->request->done) { /* the other side is gone */
            pair_settle(pair);
            continue;
        }
        pair->place = PAIR_ON_TRACK; /* or soon: see tracks.c */
        start_on_channels(pair);
    }
}

/* ---- calls */

static int check_inactive(const struct gpubind_operation *request, int i, int n,
                          struct gpubind_error *err)
{
    if (request && request->pair && request->inactive)
        return MPI_SUCCESS;
    if (!request)
        error_set(err, "request %d of %d is GPUBIND_REQUEST_NULL", i, n);
    else if (!request->pair)
        error_set(err, "request %d of %d is of a call other than gpubind_send_init and "
                  "gpubind_recv_init", i, n);
    else
        error_set(err, "request %d of %d, %s rank %d with tag %d, is active: wait for it first",
                  i, n, request->kind == OPERATION_SEND ? "to" : "from", request->rank,
                  request->tag);
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
        requests[i]->inactive = false; /* also where it stands in the list again */
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
    struct pair *linked = NULL, **linked_end = &linked;
    const int result = persistent_claim(requests, n, err);

    if (result != MPI_SUCCESS)
        return result;
    pairs_hear();
    for (int i = 0; i < n; i++) {
        struct pair *pair = requests[i]->pair;

        begin(requests[i]);
        if (!start_pair(pair))
            continue;
        pair->place = PAIR_ON_TRACK; /* or soon: see tracks.c */
        pair->follows = NULL;
        *linked_end = pair;
        linked_end = &pair->follows;
    }
    start_on_channels(linked);
    return MPI_SUCCESS;
}

static bool is_connected(const void *argument)
{
    const struct pair *pair = argument;

    return pair->state != PAIR_ALONE && pair->state != PAIR_LINKING && !letters_busy();
}

int persistent_await(struct gpubind_operation *const *requests, int n, struct gpubind_error *err)
{
    for (int i = 0; i < n; i++)
        while (!progress_wait_for(is_connected, requests[i]->pair, 0.1))
            if (request_peer_is_gone(requests[i]))
                return error_set(err, "rank %d is gone", requests[i]->rank);
    return 0;
}

int persistent_unsaid(const struct gpubind_operation *request, struct gpubind_error *err)
{
    struct pair *pair = request ? request->pair : NULL;

    if (!pair || !pair->in_stream)
        return MPI_SUCCESS;
    pairs_hear();
    if (!pair->unsaid)
        return MPI_SUCCESS;
    pair->unsaid = false;
    *err = pair->why;
    return MPI_ERR_OTHER;
}

struct gpubind_operation *persistent_nudge(struct gpubind_operation *request)
{
    struct pair *pair = request->pair;

    if (pair->inner && pair->inner->done && !pair->inner->packing)
        end_message(pair);
    return pair->inner;
}

/* ---- freed */

static bool is_over(struct gpubind_operation *request)
{
    persistent_nudge(request);
    return request->done;
}

/* Nobody asks for their ends. */
static void free_leaving(void)
{
    struct pair **link = &leaving;

    while (*link) {
        struct pair *pair = *link;
        struct gpubind_error ignored;

        if (!is_over(pair->request)) {
            link = &pair->next_leaving;
            continue;
        }
        *link = pair->next_leaving;
        request_finish(pair->request, MPI_STATUS_IGNORE, &ignored);
        pair_free(pair);
    }
}

int persistent_free(struct gpubind_operation *request, struct gpubind_error *err)
{
    struct pair *pair = request->pair;
    int result = MPI_SUCCESS;

    if (!request->inactive && !is_over(request)) {
        pair->next_leaving = leaving;
        leaving = pair;
        return MPI_SUCCESS;
    }
    if (request->inactive)
        result = persistent_unsaid(request, err);
    else
        result = request_finish(request, MPI_STATUS_IGNORE, err);
    pair_free(pair);
    return result;
}

/* ---- as the core sees them */

static bool busy(void)
{
    return letters_busy() || deferred || leaving || tracks_busy() || pairs_watched();
}

static void progress(bool mpi)
{
    (void)mpi;
    if (!busy())
        return;
    pairs_listen();
    if (deferred)
        start_deferred();
    tracks_progress();
    if (leaving)
        free_leaving();
    if (pairs_watched())
        pairs_watch();
}

static void nudge(struct gpubind_operation *request)
{
    struct gpubind_operation *inner = persistent_nudge(request);

    if (!inner)
        return;
    inner->waited = request->waited;
    inner->started = request->started;
    inner->ops->nudge(inner);
}

static void look_after(struct gpubind_operation *request)
{
    struct pair *pair = request->pair;
    struct gpubind_error why;

    if (pair->inner) {
        pair->inner->started = request->started;
        pair->inner->ops->look_after(pair->inner);
        return;
    }
    if (request->done || !request_peer_is_gone(request))
        return;
    error_set(&why, "rank %d is gone", request->rank);
    pair->parted = true;
    pair_break(pair, why.text);
}

static void clear(struct gpubind_operation *request)
{
    pack_free(request->pack);
}

const struct operation_ops persistent_ops = {nudge, look_after, clear};

static void start(void)
{
    match_hand_to(LETTER_TAG, letter_arrived);
}

static void comm_removed(struct comm *comm)
{
    pairs_forget(comm);
}

const struct module persistent_module = {
    .name = "persistent",
    .start = start,
    .progress = progress,
    .watches = pairs_watched,
    .holds_memory = pairs_hold,
    .comm_removed = comm_removed,
};
